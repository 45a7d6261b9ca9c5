"""evenkeel's notifier and a real Alertmanager that is restarted: who is told, and how often."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import requests

from schemas.facts import Severity
from streaming.loopback.ports import free_port
from streaming.notifier.exposed import NotifierCounts
from streaming.notifier.monitor_health import MonitorLimits
from streaming.notifier.retries import RetryPolicy
from streaming.notifier.sink_view import Route
from streaming.notifier.threads import Destination, NotifierSettings, SettingsInForce, deliver
from streaming.sinks.alertmanager import AlertmanagerSink
from streaming.wall_clock import now_ms
from testing.http_server import Server
from testing.written import commit
from tests.monitoring.programs import ALERTMANAGER, needs, started, until
from tests.notifier.facts import NOW, alert, health
from tests.notifier.receiver import AT_ONCE
from tests.sinks.messages import blind, message

pytestmark = [pytest.mark.slow("promtool plays hours"), pytest.mark.timeout(300), needs(ALERTMANAGER, "alertmanager")]

NEVER_BLIND = MonitorLimits(10**12, 10**12)
QUICK = RetryPolicy(attempts=1, first_s=0.01, longest_s=0.02, pause_s=0.2)
ROUTE = "{receiver: people, group_by: [evenkeel_key], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}"


class Alertmanager:
    """One address, and people behind it, over any number of lives."""

    def __init__(self, folder: Path, people: Server) -> None:
        folder.mkdir()
        self._folder = folder
        self._address = f"127.0.0.1:{free_port()}"
        self._people = people
        self.url = f"http://{self._address}"
        (folder / "am.yml").write_text(
            f"route: {ROUTE}\nreceivers: [{{name: people, webhook_configs: [{{url: '{people.url}/told'}}]}}]\n"
        )

    def life(self, storage: str = "data") -> AbstractContextManager[None]:
        assert ALERTMANAGER is not None
        command = [ALERTMANAGER, f"--config.file={self._folder}/am.yml", f"--storage.path={self._folder}/{storage}",
                   f"--web.listen-address={self._address}", "--cluster.listen-address="]  # fmt: skip
        return started(command, self.url, self._folder / "log")

    def fires(self) -> list[dict[str, Any]]:
        answer = requests.get(f"{self.url}/api/v2/alerts", timeout=10)
        answer.raise_for_status()
        return list(answer.json())

    def told(self) -> list[str]:
        """What people were told, in order: firing or resolved."""
        return [one.json["status"] for one in self._people.taken]


@contextmanager
def notifying(folder: Path, url: str) -> Iterator[NotifierCounts]:
    sink, stop, counts = AlertmanagerSink("am", url, "", 5), Event(), NotifierCounts()
    sink.resend_ms = 500
    settings = NotifierSettings(
        str(folder / "tables"), folder / "state", [Destination(sink, "en")], (Route(("am",)),), limits=NEVER_BLIND,
        page_settings=AT_ONCE, retry=QUICK, poll_s=0.1,
    )  # fmt: skip
    thread = Thread(target=deliver, args=(SettingsInForce(settings), stop, counts))
    thread.start()
    try:
        yield counts
    finally:
        stop.set()
        thread.join(30)


@pytest.fixture
def people() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def manager(tmp_path: Path, people: Server) -> Alertmanager:
    return Alertmanager(tmp_path / "alertmanager", people)


def tell(folder: Path, state: str, seq: int, group: str = "g") -> None:
    """A fact of now, of an alert that began to fire a minute ago."""
    at = round(time.time() - NOW / 1000)
    facts = [alert(group, state=state, at=at, seq=seq, fired=at - 60), health(at=at)]
    commit(folder / "tables" / "facts", facts)


def test_it_takes_repeats_and_ends_an_alert_and_its_own_restart_changes_nothing(
    tmp_path: Path, manager: Alertmanager
) -> None:
    tell(tmp_path, "firing", 1)
    with ExitStack() as life:
        life.enter_context(manager.life())
        with notifying(tmp_path, manager.url):
            until(manager.fires, "it has the alert")
            (first,) = manager.fires()
            assert first["labels"]["consumer_group"] == "g"
            assert first["labels"]["alertname"] == "ORPHANED"
            until(lambda: manager.fires()[0]["endsAt"] > first["endsAt"], "the alert is sent again")
            until(manager.told, "people are told")

            life.close()
            life.enter_context(manager.life())
            until(manager.fires, "it has the alert again after its restart")
            (again,) = manager.fires()
            assert (again["fingerprint"], again["startsAt"]) == (first["fingerprint"], first["startsAt"])

            tell(tmp_path, "resolved", 2)
            until(lambda: not manager.fires(), "the alert has ended")
            until(lambda: "resolved" in manager.told(), "people are told of the end")
            tell(tmp_path, "firing", 3, "later")
            until(lambda: len(manager.told()) > 2, "people are told of what fires later")
    assert manager.told() == ["firing", "resolved", "firing"]


def test_what_ends_while_it_is_away_has_ended_when_it_is_back(tmp_path: Path, manager: Alertmanager) -> None:
    tell(tmp_path, "firing", 1)
    with notifying(tmp_path, manager.url) as counts:
        with manager.life():
            until(manager.told, "people are told")
        tell(tmp_path, "resolved", 2)
        until(lambda: counts.troubles(NEVER_BLIND, now_ms()), "it is told in vain")
        with manager.life():
            until(lambda: manager.told() == ["firing", "resolved"], "people are told of the end")
            assert manager.fires() == []


def test_what_fires_is_there_again_also_if_it_has_lost_all_it_knew(tmp_path: Path, manager: Alertmanager) -> None:
    tell(tmp_path, "firing", 1)
    with notifying(tmp_path, manager.url):
        with manager.life():
            until(manager.fires, "it has the alert")
        with manager.life("empty"):
            until(manager.fires, "it has the alert again")
            tell(tmp_path, "resolved", 2)
            until(lambda: not manager.fires(), "the alert has ended")


def test_what_nobody_sends_again_ends_by_itself_and_not_at_once(tmp_path: Path, manager: Alertmanager) -> None:
    """evenkeel is killed: Alertmanager keeps what fires for minutes, so a restart of evenkeel ends nothing."""
    tell(tmp_path, "firing", 1)
    with manager.life():
        with notifying(tmp_path, manager.url):
            until(manager.fires, "it has the alert")
        (left,) = manager.fires()
        with notifying(tmp_path, manager.url):
            until(lambda: manager.fires()[0]["endsAt"] > left["endsAt"], "the next notifier sends it again")
        assert manager.fires()[0]["fingerprint"] == left["fingerprint"]
        assert manager.told() == ["firing"]


def test_an_alert_of_another_severity_takes_the_place_of_the_first(manager: Alertmanager) -> None:
    """Severity is a label, so for Alertmanager it is another alert: the first must end."""
    sink, now = AlertmanagerSink("am", manager.url, "", 10), now_ms()
    with manager.life():
        sink.send(message(now=now, severity=Severity.WARNING))
        (first,) = manager.fires()
        assert (first["labels"]["severity"], first["annotations"]["summary"]) == ("warning", "A title")
        sink.send(message(now=now))
        until(lambda: [one["labels"]["severity"] for one in manager.fires()] == ["critical"], "the first has ended")
        sink.send(blind()._replace(now=now))
        sink.send(message("resolved", now=now))
        until(lambda: [one["labels"]["alertname"] for one in manager.fires()] == ["monitor_blind"], "the second has")
        sink.send(blind("resolved")._replace(now=now))
        until(lambda: not manager.fires(), "all have ended")
