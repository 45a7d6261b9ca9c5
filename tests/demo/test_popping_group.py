"""The group of gRPC clients of the demo: healthy, then nobody polls one broker, then healthy again."""

from itertools import takewhile

import pytest

from schemas.facts import AlertFact, Fact, GroupFact
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.demo.popping_group import (
    AGAIN_AFTER_MS,
    CLIENTS,
    CUT_OFF,
    POPPING_GROUP,
    SILENT_FROM_MS,
    SILENT_UNTIL_MS,
    popping_schedule,
)
from streaming.replay.core_engine import core_facts
from tests.demo.values import values

START = 1_800_000_000_000


def facts(until_ms: int) -> list[Fact]:
    played = takewhile(lambda one: one.due_ms <= START + until_ms, popping_schedule(START))
    return list(core_facts(values(played), DEFAULT_SETTINGS))


@pytest.fixture(scope="module")
def told() -> list[Fact]:
    return facts(AGAIN_AFTER_MS)


def test_it_is_healthy_until_nobody_polls_one_broker(told: list[Fact]) -> None:
    status = [(one.ts - START, one.payload) for one in told if isinstance(one.payload, GroupFact)]
    before = [payload for at_ms, payload in status if at_ms <= SILENT_FROM_MS]
    assert (before[-1].status, before[-1].members, before[-1].queues) == ("healthy", len(CLIENTS), 8)
    assert {one.broker_name: one.waiting for one in before[-1].polls} == {"broker-a": 3, "broker-b": 3}
    assert status[-1][1].status == "healthy"


def test_that_broker_is_unpolled_and_nothing_else_is_found(told: list[Fact]) -> None:
    alerts = [(one.ts - START, one.payload) for one in told if isinstance(one.payload, AlertFact)]
    assert {(one.kind, queue.broker_name) for _, one in alerts for queue in one.queues} == {("UNPOLLED", CUT_OFF)}
    fired_ms = next(at_ms for at_ms, one in alerts if one.state == "firing")
    assert SILENT_FROM_MS + 80_000 <= fired_ms <= SILENT_FROM_MS + 100_000
    resolved_ms = next(at_ms for at_ms, one in alerts if one.state == "resolved")
    assert SILENT_UNTIL_MS < resolved_ms < SILENT_UNTIL_MS + 180_000


def test_what_happens_is_said() -> None:
    said = [one for one in takewhile(lambda one: one.due_ms <= START + 400_000, popping_schedule(START)) if one.action]
    assert [(one.due_ms - START, one.group) for one in said] == [
        (SILENT_FROM_MS, POPPING_GROUP),
        (SILENT_UNTIL_MS, POPPING_GROUP),
    ]
    assert said[1].action == "mended"
