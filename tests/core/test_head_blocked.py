"""HEAD_BLOCKED: a queue of a FIFO group stands still behind a message that is not acknowledged, while clients poll."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.facts import AlertFact, Kind, Severity
from schemas.identity import MessageQueue
from schemas.observed import BlockedQueue, HeadBlocked
from streaming.core.findings.polled import MOST_QUEUES, head_blocked_of, judge_polled
from tests.core.fleet import Offsets, queues, said
from tests.core.test_polled import BROKERS, JAVA, SILENT, A, B, Popping, with_fields

KIND = "HEAD_BLOCKED"


def fifo(rate: int = 4, orderly: bool = True, consume_type: str = "CONSUME_PASSIVELY") -> Popping:
    """Two clients with a poll for each of four queues wait at both brokers all the while."""
    fleet = Popping(rate, consume_type=consume_type)
    fleet.round_fields = {"orderly": orderly}
    fleet.polls = dict.fromkeys(BROKERS, 8)
    fleet.run(300)
    assert fleet.kinds() == {"a": {"POLLED"}, "b": {"POLLED"}}
    return fleet


def block(fleet: Popping, text: str) -> None:
    fleet.stuck = set(queues(text))


def free(fleet: Popping) -> None:
    fleet.stuck = set()


def shown(fleet: Popping) -> HeadBlocked:
    found = fleet.alert(KIND).observed.head_blocked
    assert found is not None
    return found


def severities(fleet: Popping) -> list[str]:
    """Each severity with which it has fired, in order."""
    told = [f.payload for f in fleet.told(AlertFact) if (f.payload.kind, f.payload.state) == (KIND, "firing")]
    return list(dict.fromkeys(alert.severity for alert in told))


@pytest.mark.parametrize("consume_type", ["CONSUME_PASSIVELY", "CONSUME_ACTIVELY"])
def test_a_blocked_head_is_told_within_120_s_and_calls_nobody_yet(consume_type: str) -> None:
    fleet = fifo(consume_type=consume_type)
    head = fleet.offsets[MessageQueue("T", "a", 0)].consumer
    block(fleet, "a0")
    fleet.run(110)
    assert {queue for queue, found in fleet.findings().items() if found == KIND} == {"a0"}
    assert fleet.finding("a0").severity == "info"
    alert = fleet.alert(KIND)
    assert (alert.state, alert.severity, alert.cause) == ("firing", "info", None)
    assert fleet.status().status == "settling", "a listener may work on a message for so long"
    assert [(queue.broker_name, queue.queue_id) for queue in alert.queues] == [("a", 0)]
    (queue,) = shown(fleet).queues
    assert (queue.broker_name, queue.queue_id, queue.offset) == ("a", 0, head)
    assert shown(fleet).waiting == queue.behind > 100
    assert f"behind the first of a/0 (offset {head}); it was handed out and has not been acknowledged" in said(alert)
    assert fleet.fired() == {("T", KIND)}


@pytest.mark.slow("minutes and hours of a group are folded")
def test_after_five_minutes_it_is_a_warning_and_it_ends_when_something_is_acknowledged() -> None:
    fleet = fifo()
    block(fleet, "a0")
    fleet.run(290)
    assert fleet.alert(KIND).severity == "info"
    fleet.run(60)
    assert (fleet.alert(KIND).state, fleet.alert(KIND).severity) == ("firing", "warning")
    assert fleet.status().status == "findings"
    fleet.run(1_200)
    assert fleet.fired() == {("T", KIND)}  # ten minutes make no second alert of it
    assert severities(fleet) == ["info", "warning"]
    free(fleet)
    fleet.run(60)
    assert (fleet.alert(KIND).state, fleet.alert(KIND).reason) == ("resolved", "right_again")
    assert fleet.kinds() == {"a": {"POLLED"}, "b": {"POLLED"}}
    assert not fleet.firing()


def test_all_queues_may_be_blocked_at_once() -> None:
    fleet = fifo()
    block(fleet, "a0-3 b0-3")
    fleet.run(360)
    assert fleet.kinds() == {"a": {KIND}, "b": {KIND}}
    assert len(fleet.alert(KIND).queues) == len(shown(fleet).queues) == 8
    assert fleet.alert(KIND).severity == "warning"


def test_a_queue_that_is_blocked_anew_does_not_hide_that_another_one_is_for_long() -> None:
    fleet = fifo()
    block(fleet, "b0")
    fleet.run(330)
    block(fleet, "a0 b0")
    fleet.run(110)
    assert (fleet.finding("a0").severity, fleet.finding("b0").severity) == ("info", "warning")
    assert fleet.alert(KIND).severity == "warning"


def test_a_slow_listener_is_known_by_its_steps() -> None:
    fleet = fifo()
    for number in range(8):
        block(fleet, "a0")
        fleet.run(100)
        assert (fleet.finding("a0").finding == KIND) is (number < 2), number
        free(fleet)
        fleet.run(40)
    assert severities(fleet) == ["info"]


def test_a_listener_that_needs_less_than_a_minute_is_healthy() -> None:
    fleet = fifo()
    for _ in range(20):
        block(fleet, "a0-3 b0-3")
        fleet.run(40)
        free(fleet)
        fleet.run(20)
    assert not fleet.alerts()


@pytest.mark.parametrize("free_s", [60, 125, 190])
def test_the_head_of_a_client_that_died_is_free_after_three_minutes_and_calls_nobody(free_s: int) -> None:
    """Its proxy may renew for 130 s what it had taken, and that is invisible for 60 s after."""
    fleet = fifo()
    block(fleet, "a0-3 b0-3")
    fleet.run(10)
    fleet.polls = dict.fromkeys(BROKERS, 4)
    fleet.run(min(free_s, 130))
    fleet.proxies = {A: JAVA[:1], B: JAVA[:1]}
    fleet.run(free_s - min(free_s, 130))
    free(fleet)
    fleet.run(300)
    assert "warning" not in severities(fleet)
    assert not fleet.firing()


def test_what_is_found_goes_on_though_clients_are_restarted() -> None:
    fleet = fifo()
    block(fleet, "a0")
    fleet.run(330)
    fleet.proxies = {A: JAVA[:1], B: JAVA[:1]}
    fleet.run(60)
    fleet.proxies = {A: JAVA, B: JAVA}
    fleet.run(300)
    assert [state for _, state, _ in fleet.alerts(KIND)].count("firing") == 2  # found, and its severity
    assert severities(fleet) == ["info", "warning"]


def test_groups_without_order_have_no_head() -> None:
    fleet = fifo(orderly=False)
    block(fleet, "a0")
    fleet.run(550)
    assert fleet.finding("a0").finding == "POLLED"
    assert not fleet.fired()


def test_without_a_poll_it_is_not_known_that_clients_are_free() -> None:
    """All may be busy. The ten minutes tell of it."""
    fleet = fifo()
    fleet.polls = dict.fromkeys(BROKERS, 0)
    fleet.run(60)
    block(fleet, "a0")
    fleet.run(550)
    assert fleet.finding("a0").finding == "POLLED"
    assert not fleet.fired()
    fleet.run(120)
    assert fleet.fired() == {("T", "STALLED")}


def test_a_poll_that_waited_before_the_messages_came_proves_nothing() -> None:
    fleet = fifo(rate=0)
    fleet.polls = dict.fromkeys(BROKERS, 0)
    fleet.rate = 4
    block(fleet, "a0-3 b0-3")
    fleet.run(500)
    assert KIND not in set(fleet.findings().values())


def test_one_message_that_takes_long_blocks_no_other() -> None:
    fleet = fifo(rate=0)
    fleet.offsets[MessageQueue("T", "a", 0)] = Offsets(broker=101, consumer=100, pulled=100)
    block(fleet, "a0")
    fleet.run(500)
    assert fleet.finding("a0").finding == "POLLED"
    fleet.run(200)
    assert (fleet.finding("a0").finding, fleet.finding("a0").severity) == (KIND, "warning")
    assert shown(fleet).queues == (BlockedQueue("a", 0, 100, 0),)
    assert fleet.fired() == {("T", KIND)}


def test_a_message_behind_one_that_takes_long_makes_it_a_finding() -> None:
    fleet = fifo(rate=0)
    fleet.offsets[MessageQueue("T", "a", 0)] = Offsets(broker=101, consumer=100, pulled=100)
    block(fleet, "a0")
    fleet.run(200)
    fleet.offsets[MessageQueue("T", "a", 0)].broker = 102
    fleet.run(40)
    assert fleet.finding("a0").finding == KIND


def test_a_stall_that_people_were_called_for_stays_one() -> None:
    fleet = fifo()
    fleet.polls = dict.fromkeys(BROKERS, 0)
    fleet.run(60)
    block(fleet, "a0")
    fleet.run(700)
    assert fleet.firing() == {("T", "STALLED")}
    fleet.polls = dict.fromkeys(BROKERS, 8)
    fleet.run(300)
    assert fleet.fired() == {("T", "STALLED")}


def test_it_is_kept_in_a_checkpoint() -> None:
    fleet = fifo()
    block(fleet, "a0")
    fleet.run(330)
    fleet.restart()
    fleet.run(60)
    assert severities(fleet) == ["info", "warning"]
    assert fleet.finding("a0").finding == KIND


# --- the rules by themselves


def of(number: int, behind: int) -> HeadBlocked:
    return HeadBlocked(queues=(BlockedQueue("a", number, 7, behind),), waiting=behind, stands_ms=number, polled_ts=1)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=60))
def test_the_evidence_of_many_queues_names_the_fullest(behind: list[int]) -> None:
    found = head_blocked_of([None, *(of(number, count) for number, count in enumerate(behind))])
    assert [queue.behind for queue in found.queues] == sorted(behind, reverse=True)[:MOST_QUEUES]
    assert found.waiting == sum(behind)
    assert found.stands_ms == len(behind) - 1
    assert len(found.queues) + (found.more or 0) == len(behind)


@settings(max_examples=200, deadline=None)
@given(st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_only_a_long_time_is_a_warning(
    is_known: bool, is_covered: bool, is_enabled: bool, is_seen: bool, is_long: bool
) -> None:
    q = with_fields(
        SILENT, head_blocked=of(0, 9), is_known=is_known, is_broker_covered=is_covered, is_consume_enabled=is_enabled,
        is_seen=is_seen, is_blocked_for_long=is_long,
    )  # fmt: skip
    verdict = judge_polled(q)
    assert (verdict.kind is Kind.HEAD_BLOCKED) is (is_known and is_covered and is_enabled)
    if verdict.kind is Kind.HEAD_BLOCKED:
        assert verdict.severity is (Severity.WARNING if is_long else Severity.INFO)
