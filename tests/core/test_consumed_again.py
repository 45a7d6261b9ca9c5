"""CONSUMED_AGAIN: messages come back into the POP retry topic, because they are refused or not acknowledged in time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.events import QueueOffsets
from schemas.facts import AlertFact
from schemas.identity import MessageQueue, popped_topic
from schemas.observed import ConsumedAgain
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.findings.consumed_again import LEFT_IN_FLIGHT_SIMPLE_MS
from streaming.core.intake.redeliveries import LEFT_IN_FLIGHT_MS, count_come_back, count_taken
from streaming.core.state.group import Group
from streaming.core.state.group_state import Polls, new_state
from streaming.core.state.queue_state import Queue
from tests.core.fleet import T0, Offsets, said
from tests.core.test_polled import BROKERS, JAVA, A, B, Popping

KIND = "CONSUMED_AGAIN"
READ_S = 20  # offsets are read so often
TAKEN = 160  # of the topic's messages are taken in that time, at both brokers together


class Returning(Popping):
    """A group whose messages come back into a retry topic on each broker, of which no route is known."""

    def __init__(self, retry: str = "%RETRY%g_T", consume_type: str = "CONSUME_PASSIVELY") -> None:
        super().__init__(rate=1, consume_type=consume_type)
        self.retry = {broker: MessageQueue(retry, broker, 0) for broker in BROKERS}
        self.asked_one_by_one = set(self.retry.values())
        self.polls = dict.fromkeys(BROKERS, 0)
        self.offsets |= {queue: Offsets(50, 50, 0, 50) for queue in self.retry.values()}
        self.run(300)
        assert self.status().status == "healthy"

    def play(self, seconds: float, come_back: int, brokers: tuple[str, ...] = BROKERS, waiting: int = 0) -> "Returning":
        """``come_back`` messages between two readings come back, and are taken again but for ``waiting``."""
        for _ in range(round(seconds / READ_S)):
            for broker in brokers:
                offsets = self.offsets[self.retry[broker]]
                offsets.broker += come_back // len(brokers)
                offsets.consumer = offsets.pulled = max(offsets.consumer, offsets.broker - waiting)
            self.run(READ_S)
        return self

    def steps(self) -> list[tuple[str, str]]:
        """(state, severity) of its facts, each once."""
        found = [f.payload for f in self.told(AlertFact) if f.payload.kind == KIND]
        return list(dict.fromkeys((one.state, one.severity) for one in found))

    def shown(self) -> ConsumedAgain:
        found = self.alert(KIND).observed.consumed_again
        assert found is not None
        return found


@pytest.mark.parametrize("retry", ["%RETRY%g_T", "%RETRY%g+T"])
def test_a_group_that_never_acknowledges_is_told_soon_and_paged_after_five_minutes(retry: str) -> None:
    """All offsets look perfectly healthy."""
    fleet = Returning(retry)
    fleet.play(100, come_back=TAKEN)
    assert fleet.steps() == [("pending", "info"), ("firing", "info")]
    shown = fleet.shown()
    assert shown.retry_topics == (retry,)
    assert shown.broker_names == BROKERS
    assert 0.4 < shown.again / shown.taken < 0.6
    fleet.play(300, come_back=2 * TAKEN)
    assert fleet.steps()[-1] == ("firing", "warning")
    assert "refused, or not acknowledged in time" in said(fleet.alert(KIND))
    assert fleet.status().status == "findings"
    assert fleet.fired() == {("T", KIND)}
    assert set(fleet.findings().values()) == {"POLLED"}


# By offsets of brokers of RocketMQ 5.3.3, every 8 s: messages that came back, were taken of T, and of the retry topic.
RECORDED = {
    "invisible for 10 s, and a batch takes 48 s": {
        "a": ((0, 16, 0), (13, 16, 0), (0, 0, 0), (13, 0, 0)),
        "b": ((13, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 16)),
    },
    "never acknowledged": {
        "a": ((112, 32, 112), (150, 32, 132), (100, 32, 118), (190, 31, 178)),
        "b": ((114, 32, 99), (135, 32, 150), (109, 32, 109), (172, 34, 172)),
    },
}


@pytest.mark.parametrize("name", RECORDED)
def test_what_was_recorded_of_real_brokers_is_found(name: str) -> None:
    fleet = Returning()
    fleet.rate, fleet.popped, fleet.every = 0, set(), 8
    for number in range(50):
        for broker, steps in RECORDED[name].items():
            come_back, taken, again = steps[number % len(steps)]
            _move(fleet.offsets[MessageQueue("T", broker, 0)], 32, taken)
            _move(fleet.offsets[fleet.retry[broker]], come_back, again)
        fleet.round()
        if number == 15:
            assert fleet.steps() == [("pending", "info"), ("firing", "info")]
    assert fleet.steps()[-1] == ("firing", "warning")
    assert fleet.fired() == {("T", KIND)}


def _move(offsets: Offsets, come: int, taken: int) -> None:
    offsets.broker += come
    offsets.consumer = offsets.pulled = min(offsets.broker, offsets.consumer + taken)


def test_it_ends_five_minutes_after_the_last_message_came_back() -> None:
    fleet = Returning()
    fleet.play(500, come_back=2 * TAKEN)
    fleet.play(280, come_back=0)
    assert fleet.alert(KIND).state == "firing"
    fleet.play(80, come_back=0)
    assert (fleet.alert(KIND).state, fleet.alert(KIND).reason) == ("resolved", "right_again")
    assert fleet.status().status == "healthy"


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_page_stays_one_while_the_share_goes_up_and_down() -> None:
    fleet = Returning()
    for _ in range(3):
        fleet.play(400, come_back=2 * TAKEN)
        fleet.play(600, come_back=TAKEN // 4)
    assert fleet.steps() == [("pending", "info"), ("firing", "info"), ("firing", "warning")]


@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.parametrize("come_back", [2, 8, 14])
def test_a_few_that_are_refused_are_healthy_for_hours(come_back: int) -> None:
    fleet = Returning()
    fleet.play(7_200, come_back=come_back)
    assert fleet.steps() == []
    assert fleet.status().status == "healthy"


@pytest.mark.slow("minutes and hours of a group are folded")
def test_some_that_are_refused_call_nobody() -> None:
    fleet = Returning()
    fleet.play(3_600, come_back=TAKEN // 3)
    assert fleet.steps() == [("pending", "info"), ("firing", "info")]
    assert fleet.status().status == "healthy"


def test_a_burst_is_healthy() -> None:
    fleet = Returning()
    for _ in range(4):
        fleet.play(40, come_back=40 * TAKEN)
        fleet.play(400, come_back=0)
    assert fleet.steps() == []


def test_one_message_that_comes_back_again_and_again_in_a_quiet_group_is_healthy() -> None:
    fleet = Returning()
    fleet.rate = 0
    fleet.play(20, come_back=2)
    for pause_s in (20, 40, 60, 120, 180, 240):
        fleet.play(pause_s, come_back=0)
        fleet.play(20, come_back=2)
    assert fleet.steps() == []


def test_lumps_of_one_broker_are_one_run() -> None:
    """A client takes 32 messages, and is back when most of them have come back at once."""
    fleet = Returning()
    for _ in range(8):
        fleet.play(20, come_back=14 * TAKEN, brokers=("a",))
        fleet.play(100, come_back=0)
    assert fleet.steps()[-1] == ("firing", "warning")
    assert fleet.shown().broker_names == ("a",)


@pytest.mark.parametrize("consume_type", ["CONSUME_PASSIVELY", "CONSUME_ACTIVELY"])
def test_a_rolling_deploy_calls_nobody(consume_type: str) -> None:
    """What each client had in flight comes back when it ends."""
    fleet = Returning(consume_type=consume_type)
    for number in range(10):
        new = (f"host-{number}@7@0@hoi3xrg9u9", JAVA[1])
        fleet.proxies = {A: new, B: new}
        fleet.run(5)
        fleet.play(LEFT_IN_FLIGHT_MS / 1000, come_back=4 * TAKEN)
        fleet.play(20, come_back=0)
    fleet.play(120, come_back=2)
    assert fleet.steps() == []


def test_proxies_that_are_restarted_one_after_the_other_call_nobody() -> None:
    fleet = Returning()
    for proxy in (A, B, A, B, A, B):
        fleet.no_lists = {proxy}
        fleet.play(40, come_back=4 * TAKEN)
        fleet.no_lists = set()
        fleet.play(20, come_back=4 * TAKEN)
        fleet.play(60, come_back=2)
    assert ("firing", "warning") not in fleet.steps()


def test_consumers_that_replace_others_and_acknowledge_nothing_are_told_within_two_minutes() -> None:
    fleet = Returning()
    new = ("host-9@7@0@hoi3xrg9u9", "host-8@7@0@hoi3xrg9u8")
    fleet.proxies = {A: new, B: new}
    fleet.play(120, come_back=TAKEN)
    assert fleet.steps() == [("pending", "info"), ("firing", "info")]
    fleet.play(220, come_back=3 * TAKEN)
    assert fleet.steps()[-1] == ("firing", "info")
    fleet.play(60, come_back=3 * TAKEN)
    assert fleet.steps()[-1] == ("firing", "warning")


def test_a_proxy_that_is_slow_for_a_moment_hides_nothing() -> None:
    fleet = Returning()
    for _ in range(8):
        fleet.play(40, come_back=2 * TAKEN)
        fleet.no_lists = {A}
        fleet.run(5)
        fleet.no_lists = set()
        fleet.run(15)
    assert fleet.steps()[-1] == ("firing", "warning")


def test_a_simple_consumer_may_have_had_its_messages_for_ten_minutes_when_it_ended() -> None:
    fleet = Returning(consume_type="CONSUME_ACTIVELY")
    fleet.proxies = {A: JAVA[:1], B: JAVA[:1]}
    fleet.run(5)
    fleet.play(LEFT_IN_FLIGHT_SIMPLE_MS / 1000 - 40, come_back=2 * TAKEN)
    assert fleet.steps() == [("pending", "info"), ("firing", "info")]
    fleet.play(80, come_back=2 * TAKEN)
    assert fleet.steps()[-1] == ("firing", "warning")


def test_a_client_that_ends_leaves_an_alert_open_until_it_is_known() -> None:
    fleet = Returning()
    fleet.play(500, come_back=2 * TAKEN)
    fleet.proxies = {A: JAVA[:1], B: JAVA[:1]}
    fleet.play(60, come_back=2 * TAKEN)
    assert (fleet.alert(KIND).state, fleet.alert(KIND).stale) == ("firing", True)
    fleet.play(40, come_back=2 * TAKEN)
    assert (fleet.alert(KIND).state, fleet.alert(KIND).stale) == ("firing", False)
    assert ("resolved", "warning") not in fleet.steps()


def test_offsets_that_are_not_read_leave_it_open() -> None:
    fleet = Returning()
    fleet.play(500, come_back=2 * TAKEN)
    fleet.no_offsets = set(BROKERS)
    fleet.run(600)
    assert (fleet.alert(KIND).state, fleet.alert(KIND).stale) == ("firing", True)


@pytest.mark.slow("minutes and hours of a group are folded")
def test_offsets_that_are_not_read_for_long_end_it_as_gone_and_not_as_right() -> None:
    fleet = Returning()
    fleet.play(500, come_back=2 * TAKEN)
    fleet.no_offsets = set(BROKERS)
    fleet.run(DEFAULT_SETTINGS.timing.gone_after_ms / 1000 + 60)
    assert (fleet.alert(KIND).state, fleet.alert(KIND).reason) == ("resolved", "gone")


def test_it_is_kept_in_a_checkpoint() -> None:
    fleet = Returning()
    fleet.play(200, come_back=2 * TAKEN)
    fleet.restart()
    fleet.play(200, come_back=2 * TAKEN)
    assert fleet.steps() == [("pending", "info"), ("firing", "info"), ("firing", "warning")]


@pytest.mark.parametrize("is_routed", [False, True])
@pytest.mark.parametrize("polls", [0, 2])
def test_messages_that_wait_in_a_retry_topic_are_no_finding_of_its_queues(is_routed: bool, polls: int) -> None:
    """A broker hands them out beside those of the topic. They wait there while clients are busy."""
    fleet = Returning()
    if is_routed:
        fleet.route("%RETRY%g_T", a=1, b=1)
        fleet.popped = set()
    fleet.polls = dict.fromkeys(BROKERS, polls)
    fleet.play(540, come_back=2, waiting=30)
    assert set(fleet.findings("%RETRY%g_T").values()) <= {"EXCLUDED"}
    assert {kind for topic, kind in fleet.fired() if topic == "%RETRY%g_T"} == set()


def test_nothing_is_counted_of_other_groups() -> None:
    """Members that own queues have a retry topic too, of messages that they sent back."""
    fleet = Returning()
    fleet.polls = {}
    for topic in fleet.state.topics:
        topic.polls = []
    fleet.play(900, come_back=2 * TAKEN)
    assert fleet.steps() == []


# --- its parts


@pytest.mark.parametrize(
    ("topic", "popped"),
    [("%RETRY%g_T", "T"), ("%RETRY%g+T", "T"), ("%RETRY%g_T_1", "T_1"), ("%RETRY%g", None), ("%RETRY%gT", None),
     ("%RETRY%h_T", None), ("T", None)],
)  # fmt: skip
def test_which_topic_a_retry_topic_is_of(topic: str, popped: str | None) -> None:
    assert popped_topic("g", topic) == popped


Growth = st.lists(st.tuples(st.integers(5, 100), st.integers(0, 50)), max_size=60)  # seconds until a reading, messages


@pytest.mark.slow("minutes and hours of a group are folded")
@settings(max_examples=200, deadline=None)
@given(Growth)
def test_every_message_that_came_back_in_two_periods_is_counted_once(growth: list[tuple[int, int]]) -> None:
    group, polls, queue = Group(new_state("c", "g"), DEFAULT_SETTINGS), Polls(0), Queue(0, 0, 0)
    period_ms = DEFAULT_SETTINGS.timing.consume_stall_ms
    queue.broker_offset, queue.progress_ts = 7, T0
    come_back: list[tuple[int, int]] = []
    for seconds, number in growth:
        ts = queue.progress_ts + 1000 * seconds
        seen = QueueOffsets(0, queue.broker_offset + number, 0, 0)
        count_come_back(group, polls, queue, seen, ts)
        count_taken(polls, queue, seen, ts)
        queue.broker_offset, queue.progress_ts = seen.broker_offset, ts
        come_back.append((ts, number))
        known = polls.redelivered
        grown_ts = max((ts for ts, number in come_back if number), default=0)
        if known is None:
            assert ts - grown_ts >= period_ms
        else:
            counted = sum(number for ts, number in come_back if ts >= (known.before_ts or known.period_ts))
            assert known.again + known.again_before == known.taken + known.taken_before == counted
            assert (known.grown_ts, known.read_ts) == (grown_ts, ts)
            assert ts - known.period_ts < period_ms + 100_000
