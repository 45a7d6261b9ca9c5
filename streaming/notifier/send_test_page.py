"""A test page to every destination, and the answer of each."""

import socket
from collections.abc import Iterator
from typing import NamedTuple
from uuid import uuid4

from msgspec.structs import replace

from schemas.facts import Severity
from streaming.errors import DeliveryError
from streaming.notices.notice import MonitorTrouble, Notice
from streaming.notices.page_text import write
from streaming.notifier.threads import Destination, NotifierSettings
from streaming.sinks.sink import Message

CLUSTER = "evenkeel"  # routes for clusters do not matter: every destination is tried


class TestResult(NamedTuple):
    """The result for a destination. ``is_routed``: a route names it; else no page is ever sent there."""

    name: str
    is_accepted: bool
    answer: str
    is_routed: bool


def test_destinations(plan: NotifierSettings) -> Iterator[TestResult]:
    """Test each destination once, without retries: send a firing page, and its end with the same key."""
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
        except Exception as error:  # an error of a library, not one of our own
            return False, f"{type(error).__name__}: {error}"
    return True, answer[0]


def _notice(now: int) -> Notice:
    trouble = MonitorTrouble("test", CLUSTER, now, f"from {socket.gethostname()}")
    return Notice(
        key=f"evenkeel-test-{uuid4().hex[:12]}",
        status="firing",
        severity=Severity.WARNING,
        cluster=CLUSTER,
        trouble=trouble,
        since_ts=now,
    )
