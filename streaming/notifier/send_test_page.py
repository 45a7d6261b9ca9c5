"""A test page through every destination, and what came back: does a page reach somebody, before one must?"""

import socket
from collections.abc import Iterator
from typing import NamedTuple
from uuid import uuid4

from msgspec.structs import replace

from schemas.facts import Severity
from streaming.errors import DeliveryError
from streaming.notices import MonitorTrouble, Notice, write
from streaming.notifier.threads import Addressee, Plan
from streaming.sinks import Message

CLUSTER = "evenkeel"  # routes for clusters are not asked: every destination is tried


class Tried(NamedTuple):
    """``is_routed``: whether any route names the destination; else no page ever goes there."""

    name: str
    is_taken: bool
    came_back: str
    is_routed: bool


def try_all(plan: Plan) -> Iterator[Tried]:
    """Each destination once, without retries: a page that fires, and its end under the same key."""
    routed = {name for route in plan.routes for name in route.sinks}
    for one in plan.addressees:
        is_taken, came_back = _try(plan, one)
        yield Tried(one.sink.name, is_taken, came_back, one.sink.name in routed)


def _try(plan: Plan, one: Addressee) -> tuple[bool, str]:
    firing = _notice(plan.now_ms())
    came_back = []
    for notice in (firing, replace(firing, status="resolved")):
        now = plan.now_ms()
        text = write(notice, one.language, now, None, one.sink.most_bytes, plan.site)
        try:
            came_back.append(one.sink.send(Message(notice, text, None, now)) or "taken")
        except DeliveryError as error:
            return False, f"{'its end: ' if came_back else ''}{error}"
        except Exception as error:  # of a library that does not know our errors
            return False, f"{type(error).__name__}: {error}"
    return True, came_back[0]


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
