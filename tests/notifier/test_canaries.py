"""A secret in each sink's address, however the sink fails and whatever it quotes: it leaves the process nowhere."""

import io
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import pytest
from deltalake import DeltaTable

from streaming.config.load import load_alerts, load_config
from streaming.config.sections import Log
from streaming.log_format import JsonLines, TextLines
from streaming.loopback.ports import free_port
from streaming.metrics.endpoints import readyz
from streaming.metrics.exposition import Exposed, Exposition
from streaming.notices.page_text import write
from streaming.notifier.from_config import notifier_settings
from streaming.notifier.notifications_table import NotificationsTable
from streaming.notifier.open_alerts import OpenAlerts
from streaming.notifier.retries import RetryPolicy
from streaming.notifier.send_test_page import test_destinations as send_test_pages
from streaming.notifier.sink_view import CurrentState, Route
from streaming.notifier.sink_worker import SinkWorker, WorkerSettings
from streaming.sinks.sink import Sink
from tests.canary import where_it_leaks
from tests.notifier.facts import NOW, alert
from tests.notifier.receiver import AT_ONCE
from tests.sinks.echo import EchoServer

SECRET = "k7Q2x9mV4tR8wZ1pL6nB3cJ5"
UUID = "k7q2x9mv-4tr8-wz1p-l6nb-3cj5aaaaaaaa"
QUICK = RetryPolicy(attempts=1, first_s=0.001, longest_s=0.002)
READS = "rto=0.5&cto=0.5"


class Kind(NamedTuple):
    """``make``: url and secret, to where the sink is to speak; ``canary``: what must be found nowhere."""

    make: Callable[[str], tuple[str, str]]
    canary: str = SECRET


def _at(scheme: str, url: str) -> str:
    return f"{scheme}{'s' if url.startswith('https') else ''}://{url.partition('://')[2]}"


KINDS = {
    "webhook": Kind(lambda url: (f"{url.replace('://', f'://u:{SECRET}@')}/in/{SECRET}?key={SECRET}", SECRET)),
    "alertmanager": Kind(lambda url: (f"{url.replace('://', f'://u:{SECRET}@')}/am/{SECRET}", "")),
    "alertmanager by token": Kind(lambda url: (url, SECRET)),
    "pagerduty": Kind(lambda url: (f"{url}/{SECRET}", SECRET)),
    "dingtalk": Kind(lambda url: ("", f"dingtalk://{SECRET}?{READS}")),
    "feishu": Kind(lambda url: ("", f"feishu://{UUID}?{READS}"), UUID),
    "wecom": Kind(lambda url: ("", f"wecombot://{UUID}?{READS}"), UUID),
    "slack": Kind(lambda url: ("", f"slack://T1JJ3T3L2/A1BRTD4JD/{SECRET}/#ops?{READS}")),
    "apprise": Kind(lambda url: ("", f"{_at('json', url)}/{SECRET}?+X-Token={SECRET}&{READS}")),
    "apprise form": Kind(lambda url: ("", f"{_at('form', url)}/{SECRET}?:key={SECRET}&{READS}")),
    "mail": Kind(
        lambda url: (
            "",
            f"mailto://u:{SECRET}@{url.partition('://')[2]}/?from=b@example.com&to=a@example.com&mode=insecure",
        )
    ),
}


def failures(echo: EchoServer) -> dict[str, str]:
    """By what fails, where the sink speaks to."""
    found = {
        "nobody there": f"http://127.0.0.1:{free_port()}",
        "no such host": "http://no-such-host.invalid",
        "no TLS": echo.url.replace("http://", "https://"),
    }
    return found | dict.fromkeys(echo.ways, echo.url)


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """All that is logged, at DEBUG, as evenkeel formats it."""
    stream, root = io.StringIO(), logging.getLogger()
    handlers = [logging.StreamHandler(stream), logging.StreamHandler(stream)]
    for handler, formatter in zip(handlers, (TextLines("%(name)s %(message)s"), JsonLines()), strict=True):
        handler.setFormatter(formatter)
        root.addHandler(handler)
    root.setLevel(Log().level)
    yield stream
    for handler in handlers:
        root.removeHandler(handler)


@pytest.fixture
def vendors(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Leads apprise's plugins elsewhere than to their vendors' hosts."""
    from apprise.plugins.dingtalk import NotifyDingTalk
    from apprise.plugins.email.base import NotifyEmail
    from apprise.plugins.feishu import NotifyFeishu
    from apprise.plugins.slack import NotifySlack
    from apprise.plugins.wecombot import NotifyWeComBot

    def lead(url: str) -> None:
        for plugin in (NotifyDingTalk, NotifyFeishu):
            monkeypatch.setattr(plugin, "notify_url", url + "/{token}")
        monkeypatch.setattr(NotifyWeComBot, "notify_url", url + "/{key}")
        monkeypatch.setattr(NotifySlack, "webhook_url", url)
        for plugin in (NotifyDingTalk, NotifyEmail, NotifyFeishu, NotifySlack, NotifyWeComBot):
            monkeypatch.setattr(plugin, "request_rate_per_sec", 0)

    return lead


@pytest.mark.slow("time-outs pass")
@pytest.mark.parametrize("kind", KINDS)
def test_secret_of_a_sink_leaves_nowhere(
    kind: str, tmp_path: Path, lines: io.StringIO, vendors: Callable[[str], None], capfd: pytest.CaptureFixture[str]
) -> None:
    texts: dict[str, str] = {}
    table = NotificationsTable(str(tmp_path / "tables"), _folder(tmp_path / "state" / "outcomes"))
    with EchoServer(speaks_smtp=kind == "mail") as echo:
        for name, url in failures(echo).items():
            echo.way = name
            vendors(url)
            settings = _settings(kind, url, tmp_path)
            for result in send_test_pages(settings):
                texts[f"{name}: --test"] = result.answer
            worker = _worker(settings.destinations[0].sink, tmp_path / "state" / name.replace(" ", "_"), table)
            worker.send_due(_state())
            texts[f"{name}: status"] = str(worker.status())
            exposition = Exposition(Exposed("notify", [], lambda worker=worker: [str(worker.status().failing)]))
            texts[f"{name}: readyz"] = bytes(readyz(exposition).body).decode()
        assert echo.asked >= len(echo.ways), "each failure was tried"
    table.write()
    texts["the table"] = str(DeltaTable(tmp_path / "tables" / "notifications").to_pyarrow_table().to_pylist())
    assert "answered" in texts["the table"] or kind == "mail"
    texts["log"] = lines.getvalue()
    texts["stdout"], texts["stderr"] = capfd.readouterr()
    for file in (tmp_path / "state").rglob("*.*"):
        texts[f"file {file.name}"] = file.read_text("utf-8") if file.is_file() else ""
    assert where_it_leaks(KINDS[kind].canary, texts) == []


def _settings(kind: str, url: str, folder: Path) -> Any:
    address, secret = KINDS[kind].make(url)
    rules = folder / "alerts.toml"
    given = (f'url = "{address}"\n' if address else "") + ('secret = { env = "THE_SECRET" }\n' if secret else "")
    timeout = "timeout_seconds = 0.5\n"
    rules.write_text(f'[[sinks]]\nname = "s"\nkind = "{kind.split()[0]}"\n{timeout}{given}')
    environ = {"EVENKEEL__NOTIFY__ALERTS": str(rules), "EVENKEEL__TABLES__PATH": str(folder / "tables")}
    config = load_config(None, environ, ())
    return notifier_settings(config, load_alerts(config, {"THE_SECRET": secret}), {"THE_SECRET": secret})


def _worker(sink: Sink, folder: Path, table: NotificationsTable) -> SinkWorker:
    settings = WorkerSettings(
        page_settings=AT_ONCE,
        routes=(Route((sink.name,)),),
        compose=lambda notice, now: (write(notice, "en", now), None),
        record=table.add,
        now_ms=lambda: NOW,
        retry=QUICK,
    )
    return SinkWorker(sink, settings, _folder(folder), Event())


def _state() -> CurrentState:
    open_alerts = OpenAlerts()
    open_alerts.take([alert()])
    return CurrentState(open_alerts, (), ())


def _folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path
