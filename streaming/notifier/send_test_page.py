"""Sends a test page to every destination, and says what each answered."""

import socket
from collections.abc import Iterator
from typing import NamedTuple
from uuid import uuid4

from msgspec.structs import replace

from schemas.facts import Severity
from streaming.errors import DeliveryError
from streaming.notices import MonitorTrouble, Notice, write
from streaming.notifier.threads import Destination, NotifierSettings
from streaming.sinks import Message

CLUSTER = "evenkeel"  # routes for clusters are not asked: every destination is tried


class TestResult(NamedTuple):
    """``is_routed``: whether any route names the destination; else no page ever goes there."""

    name: str
    is_accepted: bool
    answer: str
    is_routed: bool


def test_destinations(plan: NotifierSettings) -> Iterator[TestResult]:
    """Each destination once, without retries: a page that fires, and its end under the same key."""
    routed = {name for route in plan.routes for name in route.sinks}
    for one in plan.destinations:
        is_accepted, answer = _try(plan, one)
        yield TestResult(one.sink.name, is_accepted, answer, one.sink.name in routed)


def _try(plan: NotifierSettings, one: Destination) -> tuple[bool, str]:
    firing = _notice(plan.now_ms())
    answer = []
    for notice in (firing, replace(firing, status="resolved")):
        now = plan.now_ms()
        text = write(notice, one.language, now, None, one.sink.most_bytes, plan.site)
        try:
            answer.append(one.sink.send(Message(notice, text, None, now)) or "taken")
        except DeliveryError as error:
            return False, f"{'its end: ' if answer else ''}{error}"
        except Exception as error:  # of a library that does not know our errors
            return False, f"{type(error).__name__}: {error}"
    return True, answer[0]


def _notice(now: int) -> Notice:
    trouble = MonitorTrouble("test", CLUSTER, now, f"from {socket.gethostname()}")
    return Notice(
        key=f"evenkeel-test-{uuid4().hex[:12]}",
        status="firing",
        severity=Severity.WARNING,
        cluster=CLUSTER,
        groups=(),
        cause=None,
        alerts=(),
        trouble=trouble,
        since_ts=now,
    )
