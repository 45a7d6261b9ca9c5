"""What has not changed is confirmed by the round's marker; what has changed, or may have been lost, is told in full."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.events import AnyEvent, AssignmentReport, BrokerAnswer, Heartbeat, Round
from streaming.collector.translation import repetition
from streaming.collector.translation.broker_view import BrokerView
from streaming.collector.translation.cluster import ClusterTranslation
from streaming.collector.translation.repetition import (
    EVERY_MS,
    LIST_EVERY_MS,
    Sent,
    SentReports,
    is_due,
    may_be_due_from,
)
from streaming.collector.wire.answers import (
    CONSUMER_NOT_ONLINE,
    ChannelHeartbeat,
    Connection,
    ConnectionsAnswer,
    ConsumerConnection,
    ConsumerListAnswer,
    ConsumeStatsAnswer,
    GroupAnswer,
    HeartbeatsAnswer,
    OffsetRow,
    ProcessQueue,
    RunningInfoAnswer,
    SubscriptionGroupAnswer,
)

T0 = 1_700_000_000_000
ROUND_MS = 5_000


class Watched:
    """A group of one client at one broker, asked for everything in each round."""

    def __init__(self) -> None:
        self.cluster = ClusterTranslation("c", "me")
        self.group = self.cluster.group("g")
        self.ts = T0
        self.ids: tuple[str, ...] = ("x",)
        self.queues = (ProcessQueue("T", "a", 0, 0), ProcessQueue("T", "a", 1, 0), ProcessQueue("T", "a", 2, 0, True))
        self.address = "10.0.0.1:1"
        self.others: tuple[Connection, ...] = ()
        self.heartbeats: dict[str, int] = {}  # by address, under the id x
        self.start = T0 - 1_000
        self.list_code: int | None = 0
        self.connections_code: int | None = 0
        self.settings: dict[str, bool] = {"consume_enable": True, "orderly": False}
        self.subscribed = {"T": {}}
        self.offsets_of = ("T",)

    def round(self) -> list[AnyEvent]:
        self.group.begin_round(self.ts)
        events = [event for answer in self._answers() for event in self.group.take(answer)]
        events += self.group.end_round(self.ts + 500)
        self.ts += ROUND_MS
        return events

    def _answers(self) -> list[GroupAnswer]:
        common: dict[str, Any] = {"ts": self.ts, "dur_ms": 10, "broker": "a", "group": "g", "code": 0}
        connected = (Connection("x", self.address), *self.others)
        connections = ConsumerConnection(connected, message_model="CLUSTERING", subscription_table=self.subscribed)
        channels = tuple(ChannelHeartbeat("x", *one) for one in self.heartbeats.items())
        return [
            ConsumerListAnswer(**common | {"code": self.list_code}, ids=self.ids),
            ConnectionsAnswer(**common | {"code": self.connections_code}, body=connections),
            RunningInfoAnswer(**common, client_id="x", mq_table=self.queues, start_timestamp=self.start),
            ConsumeStatsAnswer(
                **common, table=tuple(OffsetRow(topic, 0, "a", 9, 4, 7, T0) for topic in self.offsets_of)
            ),
            SubscriptionGroupAnswer(**common, **self.settings),
            *([HeartbeatsAnswer(**common, channels=channels)] if channels else ()),
        ]

    def rest(self, rounds: int = 60) -> None:
        """Until everything is only confirmed."""
        for _ in range(rounds):
            self.round()


def marker(events: list[AnyEvent]) -> Round:
    return next(event for event in events if isinstance(event, Round))


def broker(events: list[AnyEvent]) -> BrokerAnswer:
    return marker(events).brokers[0]


def is_confirmed(events: list[AnyEvent]) -> bool:
    """Whether the list is not sent, and is the last one."""
    return [one.broker_name for one in marker(events).unchanged_lists] == ["a"] and not marker(events).brokers


def kinds(events: list[AnyEvent]) -> set[type]:
    return {type(event) for event in events}


@pytest.fixture
def watched() -> Watched:
    watched = Watched()
    watched.rest()
    return watched


def test_at_rest_the_marker_says_everything(watched: Watched) -> None:
    in_full = [kinds(watched.round()) for _ in range(24)]
    assert in_full.count({Round}) >= 22
    while kinds(events := watched.round()) != {Round} or not is_confirmed(events):
        pass
    (report,) = marker(events).reports
    assert (report.client_id, report.answered_ts) == ("x", marker(events).ts - 490)
    assert marker(events).asked == ()
    (offsets,) = marker(events).offsets
    assert (offsets.broker_name, offsets.topic, offsets.ts) == ("a", "T", marker(events).ts - 490)
    (queue,) = offsets.queues
    assert (queue.broker_offset, queue.consumer_offset, queue.pull_offset, queue.consumed_ts) == (9, 4, 7, T0)


def test_messages_in_hand_are_told_without_the_report(watched: Watched) -> None:
    while AssignmentReport in kinds(watched.round()):
        pass
    watched.queues = (ProcessQueue("T", "a", 0, 0), ProcessQueue("T", "a", 1, 5), ProcessQueue("T", "a", 2, 5, True))
    assert [report.busy for report in marker(watched.round()).reports] == [(1,)]


def test_everything_is_told_in_full_within_five_minutes(watched: Watched) -> None:
    for _ in range(3):
        events = [event for _ in range(EVERY_MS // ROUND_MS) for event in watched.round()]
        assert sum(isinstance(event, AssignmentReport) for event in events) == 1
        markers = [event for event in events if isinstance(event, Round)]
        assert sum(len(one.heartbeats) for one in markers) == 1
        assert Heartbeat not in kinds(events)
        assert sum(len(one.brokers) for one in markers) == EVERY_MS // LIST_EVERY_MS
        for field in ("consume_enable", "orderly", "subscribed"):
            assert sum(getattr(one, field) is not None for one in markers) == 1


def test_a_report_that_has_changed_is_told_in_full_several_times(watched: Watched) -> None:
    watched.queues = (ProcessQueue("T", "a", 0, 0),)
    sent = [AssignmentReport in kinds(watched.round()) for _ in range(12)]
    assert sent[:9] == [True] * 9
    assert sent[10:] == [False] * 2


def test_another_instance_under_the_same_id_is_told_in_full(watched: Watched) -> None:
    watched.start = T0 + 1
    assert AssignmentReport in kinds(watched.round())


def test_a_list_that_has_changed_is_told_by_three_markers(watched: Watched) -> None:
    watched.ids = ("x", "x")
    before = broker(watched.round())
    watched.ids = ("x", "y", "x")
    markers = [marker(watched.round()) for _ in range(4)]
    sent = [answer for one in markers[:3] for answer in one.brokers]
    assert [answer.client_ids for answer in sent] == [watched.ids] * 3
    assert markers[3].brokers == ()
    (confirmed,) = markers[3].unchanged_lists
    assert {answer.data_version for answer in sent} == {confirmed.data_version} != {before.data_version}
    assert confirmed.listed_since == sent[0].listed_since == markers[0].ts


def test_a_list_in_another_order_is_the_same(watched: Watched) -> None:
    watched.ids = ("x", "y")
    watched.rest(4)
    watched.ids = ("y", "x")
    assert is_confirmed(watched.round())


def test_a_list_is_told_in_full_after_the_broker_did_not_answer(watched: Watched) -> None:
    watched.list_code = None
    assert not broker(watched.round()).answered
    watched.list_code = 0
    assert broker(watched.round()).client_ids == ("x",)


def test_a_client_that_comes_back_is_told_in_full(watched: Watched) -> None:
    watched.ids = ()
    watched.round()
    watched.ids = ("x",)
    assert kinds(watched.round()) >= {AssignmentReport, Heartbeat}


def test_a_heartbeat_that_says_something_new_is_an_event_and_then_stands_in_markers(watched: Watched) -> None:
    watched.address = "10.0.0.1:2"
    rounds = [watched.round() for _ in range(14)]
    events = [index for index, events in enumerate(rounds) if Heartbeat in kinds(events)]
    (first, second) = [index for index, events in enumerate(rounds) if marker(events).heartbeats][:2]
    assert (events, first, second) == ([0], 6, 12)
    (repeated,) = marker(rounds[6]).heartbeats
    (new,) = [event for event in rounds[0] if isinstance(event, Heartbeat)]
    assert {name: getattr(new, name) for name in repeated.__struct_fields__} == {
        name: getattr(repeated, name) for name in repeated.__struct_fields__
    }


def test_two_connections_under_one_id_are_always_told_by_events(watched: Watched) -> None:
    connections = ConsumerConnection((Connection("x", "10.0.0.1:1"), Connection("x", "10.0.0.1:2")))
    sent = []
    for _ in range(EVERY_MS // ROUND_MS + 14):
        watched.group.begin_round(watched.ts)
        common: dict[str, Any] = {"ts": watched.ts, "broker": "a", "group": "g", "code": 0}
        watched.group.take(ConsumerListAnswer(**common, ids=("x", "x")))
        sent += watched.group.take(ConnectionsAnswer(**common, body=connections))
        sent += watched.group.end_round(watched.ts + 500)
        watched.ts += ROUND_MS
    assert sum(isinstance(event, Heartbeat) for event in sent) >= 4
    assert not any(event.heartbeats for event in sent if isinstance(event, Round))


def said(watched: Watched, field: str, rounds: int = 4) -> list[object]:
    return [getattr(marker(watched.round()), field) for _ in range(rounds)]


def test_subscriptions_that_have_changed_are_told_by_three_markers(watched: Watched) -> None:
    watched.rest(2)  # what has not changed has had its turn
    watched.subscribed = {"T": {}, "U": {}, "%RETRY%g": {}}
    assert said(watched, "subscribed") == [("T", "U")] * 3 + [None]


def test_subscriptions_are_told_again_when_events_name_another_topic(watched: Watched) -> None:
    watched.rest(2)  # what has not changed has had its turn
    watched.offsets_of = ("T", "U")
    assert said(watched, "subscribed") == [("T",)] * 3 + [None]


def test_a_disabled_group_is_told_by_every_marker_and_an_enabled_one_by_three(watched: Watched) -> None:
    watched.settings = {"consume_enable": False, "orderly": True}
    markers = [marker(watched.round()) for _ in range(20)]
    assert {(one.consume_enable, one.orderly) for one in markers} == {(False, True)}
    watched.settings = {"consume_enable": True, "orderly": False}
    markers = [marker(watched.round()) for _ in range(4)]
    assert [(one.consume_enable, one.orderly) for one in markers] == [(True, False)] * 3 + [(None, None)]


def test_everything_is_told_in_full_where_something_was_lost(watched: Watched) -> None:
    watched.cluster.send_all()
    events = watched.round()
    assert kinds(events) == {Round, AssignmentReport, Heartbeat}
    assert broker(events).client_ids == ("x",)
    sent = marker(events)
    assert (sent.reports, sent.heartbeats, sent.unchanged_lists) == ((), (), ())
    assert (sent.consume_enable, sent.orderly, sent.subscribed) == (True, False, ("T",))


def test_a_clock_that_is_set_back_changes_nothing(watched: Watched) -> None:
    while kinds(watched.round()) != {Round}:
        pass
    watched.cluster.set_back(3_600_000)
    watched.ts -= 3_600_000
    sent = [kinds(watched.round()) for _ in range(24)]
    assert sent.count({Round}) >= 22


@pytest.mark.parametrize("after_ms", [0, 1_000, EVERY_MS - 1])
def test_what_was_told_is_due_once_in_each_period(after_ms: int) -> None:
    sent = Sent(7, T0 - EVERY_MS, T0 + after_ms)
    due = [ts for ts in range(T0 + after_ms, T0 + after_ms + EVERY_MS + 1, 1_000) if is_due("x", sent, 7, ts, 0)]
    assert due
    assert due[0] - sent.ts <= EVERY_MS


@pytest.mark.slow("many rounds are asked")
@given(st.integers(0, 2 * EVERY_MS), st.integers(0, EVERY_MS), st.integers(0, 2 * EVERY_MS), st.text(max_size=3))
def test_nothing_is_due_before_it_may_be(since_ms: int, sent_ms: int, after_ms: int, name: str) -> None:
    sent, ts = Sent(7, T0 + min(since_ms, sent_ms), T0 + sent_ms), T0 + sent_ms + after_ms
    if ts < may_be_due_from(name, sent, 65_000, 30_000):
        assert after_ms < 30_000 or not is_due(name, sent, 7, ts, 65_000)


def changing_heartbeats() -> list[list[AnyEvent]]:
    """The events of two hours in which everything changes now and then that heartbeats say."""
    watched, twice = Watched(), (Connection("x", "10.0.0.9:9"),)
    y, z = Connection("y", "10.0.0.2:1"), Connection("z", "10.0.0.3:1")
    changes: list[tuple[int, str, Any]] = [
        (100, "ids", ("x", "y", "z")),
        (200, "others", (y, z)),
        (300, "others", (z, y)),
        (350, "address", "10.0.0.1:2"),
        (500, "ids", ("x",)),
        (600, "ids", ("x", "x")),
        (601, "others", twice),
        *((650 + more, "heartbeats", {"10.0.0.1:2": more, "10.0.0.9:9": more}) for more in range(1, 20, 6)),
        (800, "heartbeats", {"10.0.0.1:2": 99, "10.0.0.9:9": 19}),
        (890, "heartbeats", {}),
        (900, "others", ()),
        (920, "connections_code", CONSUMER_NOT_ONLINE),
        (925, "connections_code", 0),
        (930, "connections_code", None),
        (935, "ids", ("x", "y")),
        (945, "connections_code", 0),
        (950, "ids", ()),
        (960, "ids", ("x",)),
    ]
    found = []
    for number in range(1_440):
        for at, name, value in changes:
            if at == number:
                setattr(watched, name, value)
        if number == 1_000:
            watched.cluster.send_all()
        if number == 1_100:
            watched.cluster.set_back(600_000)
            watched.ts -= 600_000
        found.append(watched.round())
    return found


@pytest.mark.slow("many rounds are asked")
def test_heartbeats_are_the_same_as_if_each_was_looked_at_in_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    found = changing_heartbeats()
    assert sum(isinstance(event, Heartbeat) for events in found for event in events) > 20
    monkeypatch.setattr(repetition, "may_be_due_from", lambda *_: 0)
    assert found == changing_heartbeats()


def test_clients_at_rest_are_not_looked_at_in_each_round(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []
    of_one = BrokerView._profile
    monkeypatch.setattr(BrokerView, "_profile", lambda view, who: looked_at.append(who) or of_one(view, who))
    watched.rest(EVERY_MS // ROUND_MS)
    assert len(looked_at) <= 2


def test_names_take_turns() -> None:
    sent = Sent(7, T0 - EVERY_MS, T0)
    first = {next(ms for ms in range(0, EVERY_MS, 1_000) if is_due(f"{n}", sent, 7, T0 + ms, 0)) for n in range(100)}
    assert len(first) > 50


def test_to_ask_whether_a_report_is_due_writes_nothing() -> None:
    sent = SentReports()
    assert sent.is_due("x", 1, 7, T0)
    assert sent.is_due("x", 1, 7, T0)
    sent.note("x", 1, 7, T0)
    after = next(ts for ts in range(T0 + 46_000, T0 + 120_000, 1_000) if not sent.is_due("x", 1, 7, ts))
    assert sent.is_due("x", 2, 7, after), "another instance under the id has sent nothing"
    assert sent.is_due("x", 1, 8, after), "another version"
    assert not sent.is_due("x", 1, 7, after), "the questions between have changed nothing"
