"""One group's answers to events: what each kind and code of answer says, and what it does not."""

from itertools import pairwise
from typing import Any

import pytest
from msgspec import structs

from schemas.events import (
    AnyEvent,
    AssignmentReport,
    BrokerAnswer,
    ConsumeProgress,
    ConsumerChange,
    Heartbeat,
    NotAsked,
    Round,
    RouteQueues,
    TopicRoute,
)
from streaming.collector.translation.cluster import ClusterTranslation
from streaming.collector.translation.group import GroupTranslation
from streaming.collector.wire.answers import (
    Connection,
    ConnectionsAnswer,
    ConsumerConnection,
    ConsumerListAnswer,
    ConsumeStatsAnswer,
    OffsetRow,
    ProcessQueue,
    QueueData,
    RouteAnswer,
    RunningInfoAnswer,
    SubscriptionGroupAnswer,
    TopicQueueMapping,
    TopicRouteData,
)

T0 = 1_795_250_400_000


def ids(broker: str, *client_ids: str, ts: int = T0, code: int | None = 0, **fields: Any) -> ConsumerListAnswer:
    return ConsumerListAnswer(ts=ts, dur_ms=3, broker=broker, group="g", code=code, ids=client_ids, **fields)


def connections(
    broker: str, *clients: tuple[str, str], ts: int = T0, code: int = 0, topics: tuple[str, ...] = ()
) -> ConnectionsAnswer:
    body = ConsumerConnection(
        connection_set=tuple(Connection(client, address, "JAVA", 479) for client, address in clients),
        consume_type="CONSUME_PASSIVELY",
        message_model="CLUSTERING",
        subscription_table={topic: {} for topic in topics},
    )
    return ConnectionsAnswer(ts=ts, dur_ms=2, broker=broker, group="g", code=code, body=body if code == 0 else None)


def running_info(client_id: str, ts: int = T0, code: int = 0, **fields: Any) -> RunningInfoAnswer:
    return RunningInfoAnswer(ts=ts, dur_ms=40, broker="a", group="g", client_id=client_id, code=code, **fields)


def route(topic: str, *queues: tuple[str, int], ts: int = T0, code: int = 0) -> RouteAnswer:
    data = TopicRouteData(tuple(QueueData(broker, count, count, 6) for broker, count in queues))
    return RouteAnswer(ts=ts, code=code, topic=topic, body=data if code == 0 else None)


def of(kind: type, events: list[AnyEvent]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@pytest.fixture
def cluster() -> ClusterTranslation:
    return ClusterTranslation("c", "me", confirms=False)


@pytest.fixture
def group(cluster: ClusterTranslation) -> GroupTranslation:
    group = cluster.group("g")
    group.know(["a", "b"])
    return group


def play(group: GroupTranslation, *answers: Any, ts: int = T0) -> list[AnyEvent]:
    """One round from its beginning to its marker."""
    group.begin_round(ts)
    events = [event for answer in answers for event in group.take(answer)]
    return events + group.end_round()


def marker(events: list[AnyEvent]) -> Round:
    (found,) = of(Round, events)
    return found


# --- the lists of a round


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ids("a", "x", "y", "x"), BrokerAnswer("a", True, ("x", "y", "x"))),
        (ids("a", code=0), BrokerAnswer("a", True)),
        (ids("a", code=1, error="whatever"), BrokerAnswer("a", True)),
        (ids("a", code=2), BrokerAnswer("a", False, error="code 2")),
        (ids("a", code=None), BrokerAnswer("a", False, error="no answer")),
        (ids("a", code=None, error="connection refused"), BrokerAnswer("a", False, error="connection refused")),
        (ids("b", "x"), BrokerAnswer("a", False, error="no answer")),
    ],
)
def test_what_a_list_says_in_the_marker(
    group: GroupTranslation, answer: ConsumerListAnswer, said: BrokerAnswer
) -> None:
    assert structs.replace(marker(play(group, answer)).brokers[0], data_version=0) == said


def test_a_broker_without_members_is_not_one_that_did_not_answer(group: GroupTranslation) -> None:
    brokers = marker(play(group, ids("a", code=1))).brokers
    assert [(b.broker_name, b.answered) for b in brokers] == [("a", True), ("b", False)]


def test_the_first_list_changes_nothing(group: GroupTranslation) -> None:
    assert of(ConsumerChange, play(group, ids("a", "x"))) == []


def test_differences_between_lists_are_changes_without_a_reason(group: GroupTranslation) -> None:
    play(group, ids("a", "x", "y"))
    changes = of(ConsumerChange, play(group, ids("a", "y", "z", "y", ts=T0 + 1000), ts=T0 + 1000))
    assert [(c.client_id, c.change, c.broker_name, c.reason, c.ts) for c in changes] == [
        ("x", "disappeared", "a", None, T0 + 1003),
        ("y", "appeared", "a", None, T0 + 1003),
        ("z", "appeared", "a", None, T0 + 1003),
    ]


def test_a_list_that_failed_is_no_change(group: GroupTranslation) -> None:
    play(group, ids("a", "x"))
    assert of(ConsumerChange, play(group, ids("a", ts=T0 + 1000, code=2), ts=T0 + 1000)) == []
    assert of(ConsumerChange, play(group, ids("a", "x", ts=T0 + 2000), ts=T0 + 2000)) == []


def test_a_list_that_was_overtaken_is_left_out(group: GroupTranslation) -> None:
    play(group, ids("a", "x", ts=T0 + 50))
    group.begin_round(T0 + 1000)
    assert group.take(ids("a", "y", ts=T0 + 40)) == []
    assert not marker(group.end_round()).brokers[0].answered


# --- heartbeats


def test_a_listed_client_is_told_once_its_connections_are_known(group: GroupTranslation) -> None:
    events = play(group, ids("a", "x"), connections("a", ("x", "1:2"), ("x", "1:1")))
    (told,) = of(Heartbeat, events)
    assert (told.observed, told.addresses, told.version, told.language) == ("listed", ("1:1", "1:2"), "479", "JAVA")
    assert (told.message_model, told.consume_type, told.ts) == ("CLUSTERING", "CONSUME_PASSIVELY", T0 + 2)


def test_a_connected_client_that_is_not_listed_is_not_told(group: GroupTranslation) -> None:
    assert of(Heartbeat, play(group, ids("a", code=1), connections("a", ("x", "1:1")))) == []


def test_a_listed_client_without_known_connections_is_told_at_the_end_of_the_round(group: GroupTranslation) -> None:
    (told,) = of(Heartbeat, play(group, ids("a", "x"), connections("a", code=206)))
    assert (told.addresses, told.language) == ((), None)


@pytest.mark.parametrize(("after_ms", "again"), [(29_998, False), (29_999, True), (30_000, True)])
def test_an_unchanged_client_is_told_again_after_30_s(group: GroupTranslation, after_ms: int, again: bool) -> None:
    play(group, ids("a", "x"))  # answered, and so told, 3 ms after T0
    ts = T0 + after_ms + 1
    assert bool(of(Heartbeat, play(group, ids("a", "x", ts=ts), ts=ts))) is again


def test_a_client_is_told_again_when_its_address_changes_or_it_comes_back(group: GroupTranslation) -> None:
    play(group, ids("a", "x"), connections("a", ("x", "1:1")))
    moved = play(group, ids("a", "x", ts=T0 + 1), connections("a", ("x", "1:9"), ts=T0 + 1), ts=T0 + 1)
    assert [h.addresses for h in of(Heartbeat, moved)] == [("1:9",)]
    play(group, ids("a", code=1, ts=T0 + 2), ts=T0 + 2)
    assert len(of(Heartbeat, play(group, ids("a", "x", ts=T0 + 3), ts=T0 + 3))) == 1


def test_subscriptions_of_the_last_heartbeat_are_put_on_nobody(
    group: GroupTranslation, cluster: ClusterTranslation
) -> None:
    cluster.routes.take(route("T", ("a", 4)))
    events = play(group, ids("a", "x"), connections("a", ("x", "1:1"), topics=("T",)))
    assert [h.subscriptions for h in of(Heartbeat, events)] == [None]
    assert [r.topic for r in of(TopicRoute, events)] == ["T"], "but they tell which topics the group consumes"


# --- reports and progress


def test_a_report_describes_the_moment_of_the_answer(group: GroupTranslation) -> None:
    answer = running_info(
        "x",
        mq_table=(ProcessQueue("T", "a", 0),),
        subscriptions=("T",),
        start_timestamp="1795250405152",
        strategy="AllocateMessageQueueAveragely",
        orderly="false",
        message_model="BROADCASTING",
        consume_type="CONSUME_PASSIVELY",
        client_rebalance="true",
        mq_pop_table=(ProcessQueue("P", "a", 0),),
    )
    events = play(group, ids("a", "x"), answer)
    (report,) = of(AssignmentReport, events)
    assert (report.answered, report.answered_ts, report.ts, report.round) == (True, T0 + 40, T0 + 40, T0)
    assert (report.start_ts, report.orderly, report.client_rebalance) == (1795250405152, False, True)
    assert (report.message_model, report.consume_type) == ("BROADCASTING", "CONSUME_PASSIVELY")
    assert ([q.topic for q in report.owned], [q.topic for q in report.pop]) == (["T"], ["P"])
    assert marker(events).asked == ("x",)


def test_a_client_that_did_not_answer_says_nothing_else(group: GroupTranslation) -> None:
    (report,) = of(AssignmentReport, play(group, ids("a", "x"), running_info("x", code=207, strategy="S")))
    assert (report.answered, report.reason, report.strategy, report.owned) == (False, "timeout", None, ())


def test_a_late_answer_belongs_to_the_round_in_which_it_was_asked(group: GroupTranslation) -> None:
    for second in range(3):
        play(group, ids("a", "x", ts=T0 + 1000 * second), ts=T0 + 1000 * second)
    late = RunningInfoAnswer(ts=T0 + 1001, dur_ms=10_000, broker="a", group="g", client_id="x", code=207)
    events = play(group, ids("a", "x", ts=T0 + 11_000), late, ts=T0 + 11_000)
    (report,) = of(AssignmentReport, events)
    assert (report.round, report.ts) == (T0 + 1000, T0 + 11_001)
    assert marker(events).asked == ()
    assert marker(events).ts == T0 + 11_003


def test_a_request_a_little_older_than_the_round_belongs_to_it(group: GroupTranslation) -> None:
    play(group, ids("a", "x"))
    events = play(group, ids("b", "x", ts=T0 + 1002), running_info("x", ts=T0 + 1000), ts=T0 + 1002)
    assert [r.round for r in of(AssignmentReport, events)] == [T0 + 1002]


def test_who_was_asked_can_be_said_outright(group: GroupTranslation) -> None:
    group.begin_round(T0)
    group.take(ids("a", "x", "y"))
    found = marker(group.end_round(T0 + 9, asked=["x"], not_asked={"y": "busy"}))
    assert (found.asked, found.not_asked, found.ts) == (("x",), (NotAsked("y", "busy"),), T0 + 9)


def test_progress_is_told_per_topic_and_broker(group: GroupTranslation) -> None:
    rows = (OffsetRow("T", 0, "a", 5, 4, 5), OffsetRow("U", 0, "a", 1, 1, 1))
    events = play(group, ConsumeStatsAnswer(ts=T0, broker="a", group="g", code=0, table=rows))
    assert [(p.topic, p.broker_name, len(p.queues)) for p in of(ConsumeProgress, events)] == [
        ("T", "a", 1),
        ("U", "a", 1),
    ]
    failed = ConsumeStatsAnswer(ts=T0 + 1, broker="a", group="g", code=1, table=rows)
    assert of(ConsumeProgress, play(group, failed, ts=T0 + 1)) == []


def test_settings_of_the_group_stand_in_every_marker_after(group: GroupTranslation) -> None:
    assert marker(play(group, ids("a", "x"))).consume_enable is None
    read = SubscriptionGroupAnswer(ts=T0 + 1, broker="a", group="g", code=0, consume_enable=False, orderly=True)
    play(group, read, ts=T0 + 1)
    found = marker(play(group, ids("a", "x", ts=T0 + 2), ts=T0 + 2))
    assert (found.consume_enable, found.orderly) == (False, True)


def test_a_group_that_consumes_lite_topics_says_so_by_its_settings_or_by_its_members(group: GroupTranslation) -> None:
    assert marker(play(group, ids("a", "x"))).lite is False
    for model, is_lite in (("LITE_SELECTIVE", True), ("CLUSTERING", False)):
        body = ConsumerConnection((Connection("x"),), message_model=model)
        found = play(group, ids("a", "x"), ConnectionsAnswer(ts=T0 + 1, broker="a", group="g", code=0, body=body))
        assert marker(found).lite is is_lite
    settings = SubscriptionGroupAnswer(ts=T0 + 2, broker="a", group="g", code=0, lite=True)
    assert marker(play(group, settings, ts=T0 + 2)).lite is True


# --- routes


def test_a_route_is_told_when_first_covered_then_on_change(
    group: GroupTranslation, cluster: ClusterTranslation
) -> None:
    group.know([], ["T"])
    assert of(TopicRoute, play(group, ids("a", "x"))) == [], "nothing is known yet"
    cluster.routes.take(route("T", ("b", 4), ("a", 4), ts=T0 + 1))
    cluster.routes.take(route("OTHER", ("a", 4), ts=T0 + 1))
    (told,) = of(TopicRoute, play(group, ids("a", "x", ts=T0 + 1), ts=T0 + 1))
    assert told.brokers == (RouteQueues("a", 4, 4, 6), RouteQueues("b", 4, 4, 6))
    cluster.routes.take(route("T", ("a", 4), ("b", 4), ts=T0 + 2))
    assert of(TopicRoute, play(group, ids("a", "x", ts=T0 + 2), ts=T0 + 2)) == [], "another order is no change"
    cluster.routes.take(route("T", ("a", 8), ("b", 4), ts=T0 + 3))
    assert len(of(TopicRoute, play(group, ids("a", "x", ts=T0 + 3), ts=T0 + 3))) == 1


@pytest.mark.parametrize(("mapping", "static"), [({"a": TopicQueueMapping()}, True), ({}, False), (None, False)])
def test_the_route_of_a_static_topic_says_so(
    group: GroupTranslation, cluster: ClusterTranslation, mapping: dict[str, TopicQueueMapping] | None, static: bool
) -> None:
    group.know([], ["T"])
    data = TopicRouteData((QueueData("a", 4, 4, 6),), topic_queue_mapping_by_broker=mapping)
    cluster.routes.take(RouteAnswer(ts=T0, code=0, topic="T", body=data))
    (told,) = of(TopicRoute, play(group, ids("a", "x")))
    assert told.static is static


def test_a_topic_without_a_route_has_no_brokers(group: GroupTranslation, cluster: ClusterTranslation) -> None:
    cluster.routes.take(route("%RETRY%g", code=17))
    assert [(r.topic, r.brokers) for r in of(TopicRoute, play(group, ids("a", "x")))] == [("%RETRY%g", ())]


@pytest.mark.parametrize(("after_ms", "again"), [(59_999, False), (60_000, True)])
def test_an_unchanged_route_is_told_again_after_60_s(
    group: GroupTranslation, cluster: ClusterTranslation, after_ms: int, again: bool
) -> None:
    group.know([], ["T"])
    cluster.routes.take(route("T", ("a", 4)))
    play(group, ids("a", "x"))
    cluster.routes.still_stand(T0 + after_ms)
    assert bool(of(TopicRoute, play(group, ids("a", "x", ts=T0 + after_ms), ts=T0 + after_ms))) is again


def test_a_route_that_was_not_confirmed_is_not_told_again(group: GroupTranslation, cluster: ClusterTranslation) -> None:
    group.know([], ["T"])
    cluster.routes.take(route("T", ("a", 4)))
    play(group, ids("a", "x"))
    cluster.routes.take(route("T", ts=T0 + 1000, code=1))
    cluster.routes.still_stand(T0 + 100_000)
    assert of(TopicRoute, play(group, ids("a", "x", ts=T0 + 100_000), ts=T0 + 100_000)) == []


# --- order


def test_numbers_are_consecutive_and_the_marker_comes_last(
    group: GroupTranslation, cluster: ClusterTranslation
) -> None:
    cluster.routes.take(route("%RETRY%g", ("a", 1)))
    events = []
    for second in range(3):
        ts = T0 + 1000 * second
        one = play(group, ids("a", "x", ts=ts), connections("a", ("x", "1:1"), ts=ts), running_info("x", ts=ts), ts=ts)
        assert isinstance(one[-1], Round)
        events += one
    assert [event.seq for event in events] == list(range(len(events)))
    assert {(event.cluster, event.group, event.source) for event in events} == {("c", "g", "me")}


def test_a_marker_never_runs_backwards(group: GroupTranslation) -> None:
    play(group, ids("a", "x", ts=T0 + 5000), ts=T0 + 5000)
    assert marker(play(group, ids("a", "x", ts=T0 + 5000), ts=T0)).ts == T0 + 5003
    assert group.times.started_ts == T0 + 5001


def test_each_group_counts_for_itself(cluster: ClusterTranslation) -> None:
    for name in ("g", "h"):
        group = cluster.group(name)
        assert [event.seq for event in play(group, ids("a", "x"))] == [0, 1]


def test_subscriptions_that_change_once_or_long_ago_are_no_rivals() -> None:
    group = ClusterTranslation("prod", "s").group("g")
    rivals = []
    for after_s, topics in enumerate((["T"], ["U"], ["T", "%RETRY%g"], ["T"], *[["T"]] * 150)):
        ts = T0 + after_s * 1000
        group.begin_round(ts)
        group.take(ids("a", "x", ts=ts))
        group.take(connections("a", ("x", "h:1"), ts=ts, topics=tuple(topics)))
        marker = group.end_round(ts)[-1]
        assert isinstance(marker, Round)
        rivals.append(marker.rival_subscriptions)
    assert rivals[:4] == [(), (), (("T",), ("U",)), (("T",), ("U",))]
    assert rivals[-1] == ()


def test_routes_and_heartbeats_go_on_in_their_periods_when_the_clock_is_set_back() -> None:
    """What is remembered keeps its age: nothing waits for an hour, nothing is told twice."""
    translation = ClusterTranslation("prod", "collector 1")
    group = translation.group("g")
    group.know(["a"], ["T"])

    def rounds(start_ts: int, count: int) -> list[AnyEvent]:
        events: list[AnyEvent] = []
        for ts in range(start_ts, start_ts + count * 5_000, 5_000):
            translation.routes.take(route("T", ("a", 4), ts=ts))
            group.begin_round(ts)
            group.take(ids("a", "x", ts=ts + 1))
            events += group.end_round(ts + 500)
        return events

    hour = 3_600_000
    before = rounds(T0, 12)
    translation.set_back(hour)
    after = rounds(T0 + 60_000 - hour, 13)
    assert [event.ts for event in after if isinstance(event, Round)] == [
        T0 + 60_500 - hour + 5_000 * number for number in range(13)
    ]
    for kind in (TopicRoute, Heartbeat):
        assert [event.ts for event in before if isinstance(event, kind)]
        told = [
            event.ts
            for event in after
            if isinstance(event, kind) or (kind is Heartbeat and isinstance(event, Round) and event.heartbeats)
        ]
        assert told[0] <= T0 + 60_500 - hour
        assert all(later - one >= 30_000 for one, later in pairwise(told))


def test_a_topic_that_nobody_has_named_for_an_hour_is_told_no_more() -> None:
    translation = ClusterTranslation("prod", "collector 1")
    group = translation.group("g")
    told: list[TopicRoute] = []
    for minute in range(130):
        ts = T0 + minute * 60_000
        for topic in ("T", "U"):
            translation.routes.take(route(topic, ("a", 4), ts=ts))
        group.begin_round(ts)
        group.take(ids("a", "x", ts=ts))
        subscribed = ["T"] if minute < 10 else ["U"]
        group.take(running_info("x", ts=ts, subscriptions=tuple(subscribed)))
        told += of(TopicRoute, group.end_round(ts + 500))
    assert set(group.topics) == {"%RETRY%g", "U"}
    last = max(event.ts for event in told if event.topic == "T")
    assert T0 + 65 * 60_000 < last < T0 + 75 * 60_000
    assert max(event.ts for event in told if event.topic == "U") > T0 + 125 * 60_000


def test_the_marker_says_what_the_group_subscribes_to_if_all_who_list_members_show_it() -> None:
    group = ClusterTranslation("prod", "s").group("g")
    said = []
    for after_s, shown in enumerate((["T", "%RETRY%g"], ["T", "U"], None, ["U"])):
        ts = T0 + after_s * 1000
        group.begin_round(ts)
        for broker, listed in (("a", ["x"]), ("b", [])):
            group.take(ids(broker, *listed, ts=ts))
        if shown is not None:
            group.take(connections("a", ("x", "h:1"), ts=ts, topics=tuple(shown)))
        marker = group.end_round(ts)[-1]
        assert isinstance(marker, Round)
        said.append(marker.subscribed)
    assert said == [("T",), ("T", "U"), None, ("U",)]
