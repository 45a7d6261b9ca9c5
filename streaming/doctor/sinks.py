"""The sinks: whether their hosts take a connection, or with ``--page`` whether they take a test page."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from streaming.config.alerts import Alerts, SinkSection
from streaming.config.sections import Config
from streaming.doctor.checks import Check, fine, unknown, wrong
from streaming.doctor.hosts import Host, ask_all, hosts_of_sinks
from streaming.errors import SetupError
from streaming.notifier.from_config import notifier_settings
from streaming.notifier.send_test_page import test_destinations

AREA = "sinks"
CONNECT_WITHIN_S = 8.0
TRY = "evenkeel doctor --page sends a test page"


def checks(config: Config, alerts: Alerts, sends_pages: bool, file: Path | None) -> Iterator[Check]:
    if not alerts.sinks:
        yield unknown(AREA, "sink", "notify.alerts names no sinks: alerts go to the log", "docs/notifications.md")
    elif sends_pages:
        yield from _paged(config, alerts, file)
    else:
        yield from _reached(alerts)


def _reached(alerts: Alerts) -> Iterator[Check]:
    answers = dict(ask_all(list(hosts_of_sinks(alerts)), CONNECT_WITHIN_S))
    yield from (_of_sink(number, sink, answers) for number, sink in enumerate(alerts.sinks))
    for host, failure in answers.items():
        if host.why.startswith("heartbeat"):
            yield _connection(host, failure, "heartbeat")


def _of_sink(number: int, sink: SinkSection, answers: Mapping[Host, str | None]) -> Check:
    found = [host for host in answers if host.why.startswith(f"sinks[{number}] ")]
    if found:
        return _connection(found[0], answers[found[0]], sink.name)
    if sink.kind == "log":
        return fine(AREA, "sink", "the log of the process", sink.name)
    return unknown(AREA, "sink", "only apprise knows its host", TRY, sink.name)


def _connection(host: Host, failure: str | None, name: str) -> Check:
    if failure is None:
        return fine(AREA, "sink", "takes a connection; no page was sent", f"{name} {host.address}")
    mend = "start it, open the way to it, or mend its url in notify.alerts"
    return wrong(AREA, "sink", f"no connection: {failure}", mend, f"{name} {host.address}")


def _paged(config: Config, alerts: Alerts, file: Path | None) -> Iterator[Check]:
    try:
        settings = notifier_settings(config, alerts, file=file)
    except SetupError as error:
        yield wrong(AREA, "sink", str(error), "mend notify.alerts")
        return
    for one in test_destinations(settings):
        if not one.is_accepted:
            yield wrong(AREA, "sink", f"did not take the test page: {one.answer}", "docs/notifications.md", one.name)
        elif not one.is_routed:
            yield wrong(AREA, "sink", "took the test page, but no route names it", "add it to [[routes]]", one.name)
        else:
            yield fine(AREA, "sink", f"took the test page: {one.answer}", one.name)
