"""Whom the collector asks out of turn: after the grace of a change, and again where reports disagree."""

from collections.abc import Mapping
from itertools import pairwise

import pytest

from schemas.events import RouteQueues
from streaming.collector.probing.asked_through import NO_ANSWER, AskedThrough, broker_of
from streaming.collector.probing.client_schedule import FIRST_ASK_AFTER_JOIN_MS
from streaming.collector.probing.follow_ups import FollowUps, ReportGraces
from streaming.collector.probing.last_answers import LastAnswer, LastAnswers, disagreements
from streaming.collector.translation.routes import KnownRoute
from streaming.collector.wire.answers import (
    SUCCESS,
    Connection,
    ConnectionsAnswer,
    ConsumerConnection,
    ProcessQueue,
    RunningInfoAnswer,
    SubscriptionData,
)
from streaming.core.default_settings import DEFAULT_TIMING

TIMING = DEFAULT_TIMING
NOW = 1_000_000
GRACE, ROUTE, BROKER = TIMING.grace_membership_ms, TIMING.grace_route_ms, TIMING.grace_broker_ms
ROUND = 5_000


def route(*brokers: str, queues: int = 2) -> KnownRoute:
    return KnownRoute(tuple(RouteQueues(broker, queues, queues, 6) for broker in brokers))


def graces(**lists: str) -> ReportGraces:
    known = ReportGraces(TIMING)
    known.routed({"T": route("a", "b")})
    known.listed(dict.fromkeys("ab", ("c", "d")))
    known.round_ended(NOW)
    return known


def test_reports_count_from_the_grace_of_the_last_list_on() -> None:
    known = graces()
    assert known.counts_from("T") == NOW + GRACE
    known.listed({"b": ("c",)})
    assert known.counts_from("T") is None
    known.round_ended(NOW + ROUND)
    assert known.counts_from("T") == NOW + ROUND + GRACE
    assert known.is_under_way(NOW + ROUND + GRACE - 1)
    assert not known.is_under_way(NOW + ROUND + GRACE)


def test_order_in_a_list_is_no_change() -> None:
    known = graces()
    known.listed({"a": ("d", "c")})
    assert known.counts_from("T") == NOW + GRACE


def test_list_of_a_broker_without_the_topic_does_not_matter() -> None:
    known = graces()
    known.listed({"z": ("c",)})
    known.round_ended(NOW + ROUND)
    assert known.counts_from("T") == NOW + GRACE


@pytest.mark.parametrize(
    ("changed", "grace_ms"),
    [
        (route("a", "b", queues=4), ROUTE),
        (route("a"), BROKER),
        (route("a", "b")._replace(others=(route("a", "b").others or (), ())), BROKER),
    ],
    ids=["queues were added", "a broker went", "name servers differ"],
)
def test_a_changed_route_has_a_grace_of_its_own(changed: KnownRoute, grace_ms: int) -> None:
    known = graces()
    known.routed({"T": changed})
    known.round_ended(NOW + ROUND)
    assert known.counts_from("T") == NOW + ROUND + grace_ms


def test_a_topic_that_is_new_to_the_group_has_one_too() -> None:
    known = graces()
    known.routed({"T": route("a", "b"), "U": route("a")})
    known.round_ended(NOW + ROUND)
    assert known.counts_from("T") == NOW + GRACE
    assert known.counts_from("U") == NOW + ROUND + ROUTE


def test_orderly_groups_take_longer() -> None:
    known = graces()
    known.orderly = True
    known.listed({"a": ("c",)})
    known.round_ended(NOW)
    assert known.counts_from("T") == NOW + GRACE + TIMING.grace_orderly_extra_ms


Q0, Q1 = ("T", "a", 0), ("T", "a", 1)


def says(*owned: tuple[str, str, int], names_its_queues: bool = True, broadcasts: bool = False) -> list[LastAnswer]:
    return [LastAnswer(NOW, 0, owned, ("T",), names_its_queues, broadcasts)]


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ({"c": says(Q0), "d": says(Q1)}, {}),
        ({"c": says(Q0, Q1), "d": says(Q1)}, {Q1: "cd"}),
        ({"c": says(Q0, Q1), "d": says(Q1), "e": says()}, {Q1: "cd"}),
        ({"c": says(Q0), "d": says()}, {Q1: "cd"}),
        ({"c": says(Q0, Q1)}, {}),
        ({"c": says(Q0), "d": says(names_its_queues=False)}, {}),
        ({"c": says(Q0, Q1, broadcasts=True), "d": says(Q0, broadcasts=True)}, {Q1: "cd"}),
        ({"c": says(Q0, Q1, broadcasts=True), "d": says(Q0, Q1, broadcasts=True)}, {}),
    ],
    ids=[
        "each has one owner", "two owners", "only the owners are concerned", "nobody owns it", "one owns all",
        "a member that does not name its queues may own it", "broadcasting: one lacks it", "broadcasting: all own all",
    ],
)  # fmt: skip
def test_who_must_say_it_again(
    reports: Mapping[str, list[LastAnswer]], expected: Mapping[tuple[str, str, int], str]
) -> None:
    found = disagreements([Q0, Q1], reports.keys(), reports)
    assert found == {queue: frozenset(those) for queue, those in expected.items()}


def test_nobody_owns_it_only_once_all_members_have_reported() -> None:
    assert disagreements([Q0, Q1], ("c", "d"), {"c": says(Q0)}) == {}


def answer(*owned: tuple[str, str, int], start: int = 1, orderly: bool = False) -> RunningInfoAnswer:
    return RunningInfoAnswer(
        ts=0,
        broker="a",
        client_id="",
        code=SUCCESS,
        mq_table=tuple(ProcessQueue(*queue) for queue in owned),
        subscriptions=(SubscriptionData("T"),),
        start_timestamp=start,
        orderly=orderly,
    )


READY = NOW + GRACE


def group() -> FollowUps:
    """Two members, of which one has just joined."""
    ups = FollowUps(TIMING)
    ups.routed({"T": route("a")})
    ups.listed({"a": ("c", "d")})
    ups.graces.round_ended(NOW)
    return ups


def test_all_are_asked_when_their_reports_begin_to_count() -> None:
    ups = group()
    ups.reported("c", answer(Q0), READY - 1)
    assert ups.due(READY - 1) == frozenset()
    assert not ups.is_at_rest(READY - 1)
    assert ups.due(READY) == {"c", "d"}
    ups.reported("c", answer(Q0), READY)
    assert ups.due(READY + 1) == {"d"}
    ups.reported("d", answer(Q1), READY + 1)
    assert ups.due(READY + 2) == frozenset()
    assert ups.is_at_rest(READY + 2)


def test_a_change_meanwhile_begins_a_new_grace() -> None:
    ups = group()
    ups.due(READY)
    ups.listed({"a": ("c", "d", "e")})
    ups.graces.round_ended(READY + 600)
    for client_id in "cd":
        ups.reported(client_id, answer(), READY + 700)
    assert ups.due(READY + ROUND) == frozenset()
    assert ups.due(READY + 600 + GRACE) == {"c", "d", "e"}


def test_a_queue_without_an_owner_is_said_again_by_all_and_only_once() -> None:
    ups = group()
    ups.due(READY)
    ups.reported("c", answer(Q0), READY + 100)
    ups.reported("d", answer(), READY + 200)
    assert ups.due(READY + ROUND) == {"c", "d"}
    ups.reported("c", answer(Q0), READY + ROUND)
    assert ups.due(READY + 2 * ROUND) == {"d"}
    ups.reported("d", answer(), READY + 2 * ROUND)
    assert ups.due(READY + 3 * ROUND) == frozenset()
    assert not ups.is_at_rest(READY + 3 * ROUND)


def test_the_route_is_doubted_where_reports_disagree_and_not_again_while_they_do() -> None:
    """Those who have read a newer route have let the queue go."""
    ups = group()
    ups.due(READY)
    ups.reported("c", answer(Q0), READY + 100)
    assert ups.doubted_routes(READY + 150) == {}
    ups.reported("d", answer(), READY + 200)
    assert ups.doubted_routes(READY + ROUND) == {"T": READY + 200}
    assert ups.due(READY + ROUND) == {"c", "d"}
    for client_id, owned in (("c", (Q0,)), ("d", ())):
        ups.reported(client_id, answer(*owned), READY + ROUND + 100)
    assert ups.doubted_routes(READY + 2 * ROUND) == {"T": READY + 200}
    ups.reported("d", answer(Q0), READY + 2 * ROUND)
    assert ups.doubted_routes(READY + 3 * ROUND) == {"T": READY + 2 * ROUND}
    ups.reported("d", answer(Q1), READY + 3 * ROUND)
    assert ups.doubted_routes(READY + 4 * ROUND) == {}


def test_a_route_that_explains_it_ends_the_doubt_and_nobody_is_asked_again() -> None:
    ups = group()
    ups.due(READY)
    ups.reported("c", answer(Q0), READY)
    ups.reported("d", answer(), READY)
    assert ups.doubted_routes(READY + ROUND) == {"T": READY}
    ups.routed({"T": route("a", queues=1)})
    assert ups.due(READY + ROUND) == frozenset()
    assert ups.doubted_routes(READY + ROUND) == {}


def test_a_disagreement_that_goes_away_is_not_followed_up() -> None:
    ups = group()
    ups.due(READY)
    ups.reported("c", answer(Q0), READY + 100)
    ups.reported("d", answer(), READY + 200)
    ups.reported("d", answer(Q1), READY + 300)
    assert ups.due(READY + ROUND) == frozenset()
    assert ups.is_at_rest(READY + ROUND)


def test_reports_that_disagree_during_a_grace_are_not_followed_up() -> None:
    ups = group()
    ups.reported("c", answer(Q0, Q1), NOW + 1)
    ups.reported("d", answer(Q0, Q1), NOW + 2)
    assert ups.due(NOW + 3) == frozenset()


def test_at_rest_a_new_disagreement_is_followed_up_at_once() -> None:
    ups = group()
    ups.due(READY)
    ups.reported("c", answer(Q0), READY)
    ups.reported("d", answer(Q1), READY)
    ups.due(READY + 1)
    ups.reported("c", answer(Q0, Q1), READY + 60_000)
    assert ups.due(READY + 60_001) == {"c", "d"}


def test_a_client_that_was_started_again_between_two_rounds_begins_a_grace() -> None:
    ups = group()
    ups.due(READY)
    ups.reported("c", answer(Q0), READY)
    ups.reported("d", answer(Q1), READY)
    ups.reported("d", answer(start=2), READY + 10_000)
    ups.graces.round_ended(READY + 10_500)
    assert ups.due(READY + 15_000) == frozenset()
    assert ups.due(READY + 10_500 + GRACE) == {"c", "d"}


def connections(**addresses: str) -> ConnectionsAnswer:
    return ConnectionsAnswer(
        ts=0,
        broker="a",
        code=SUCCESS,
        body=ConsumerConnection(
            tuple(Connection(c, address) for c, those in addresses.items() for address in those.split())
        ),
    )


@pytest.mark.parametrize(
    ("now", "asked"),
    [({"c": "h:2", "d": "h:9"}, "c"), ({"c": "h:1 h:2", "d": "h:9"}, ""), ({"d": "h:9", "e": "h:3"}, "")],
    ids=["another address", "a second connection", "another client"],
)
def test_a_client_with_another_address_is_asked_after_5_s(now: dict[str, str], asked: str) -> None:
    ups = group()
    ups.due(READY)
    ups.connected(connections(c="h:1", d="h:9"), READY)
    ups.reported("c", answer(Q0), READY)
    ups.reported("d", answer(Q1), READY)
    ups.connected(connections(**now), READY + 60_000)
    assert ups.due(READY + 60_000 + FIRST_ASK_AFTER_JOIN_MS - 1) == frozenset()
    assert ups.due(READY + 60_000 + FIRST_ASK_AFTER_JOIN_MS) == frozenset(asked)
    ups.reported("c", answer(Q0), READY + 60_000 + FIRST_ASK_AFTER_JOIN_MS)
    assert ups.due(READY + 70_000) == frozenset()


def test_topics_that_nobody_subscribes_to_have_no_owners() -> None:
    ups = group()
    ups.routed({"T": route("a"), "U": route("a")})
    ups.graces.round_ended(NOW)
    ups.due(NOW + ROUTE)
    for client_id, queue in (("c", Q0), ("d", Q1)):
        ups.reported(client_id, answer(queue), NOW + ROUTE)
    assert ups.due(NOW + ROUTE + ROUND) == frozenset()


def test_orderly_group_is_asked_after_its_longer_grace() -> None:
    ups = group()
    ups.reported("c", answer(orderly=True), NOW + 1)
    ups.listed({"a": ("c",)})
    ups.graces.round_ended(NOW + 2)
    assert ups.due(NOW + 2 + GRACE) == frozenset()
    assert ups.due(NOW + 2 + GRACE + TIMING.grace_orderly_extra_ms) == {"c"}


def twice(brokers: int = 2) -> FollowUps:
    """A second instance has joined under the id c, or its connection has died."""
    ups, names = FollowUps(TIMING), tuple(f"b{number}" for number in range(brokers))
    ups.routed({"T": route("a")})
    ups.listed({"a": ("c",), **dict.fromkeys(names[1:], ("c",))})
    ups.graces.round_ended(NOW - 100_000)
    ups.reported("c", answer(Q0, Q1, start=1), NOW - 50_000)
    ups.listed({"a": ("c", "c"), **dict.fromkeys(names[1:], ("c", "c"))})
    ups.graces.round_ended(NOW)
    return ups


@pytest.mark.parametrize(("brokers", "asked"), [(1, 1), (2, 2), (3, 3), (9, 4)])
def test_an_id_listed_twice_is_asked_for_once_a_broker(brokers: int, asked: int) -> None:
    """While the same instance answers each time."""
    ups, now = twice(brokers), READY
    for _ in range(asked):
        assert ups.due(now) == {"c"}
        ups.reported("c", answer(Q0, Q1, start=1), now)
        now += ROUND
    assert ups.due(now) == frozenset()


def test_both_instances_report_their_queues_again() -> None:
    ups = twice()
    for start in (1, 2):
        assert ups.due(READY) == {"c"}
        ups.reported("c", answer(Q0, Q1, start=start), READY + start)
    for start in (2, 1):
        assert ups.due(READY + ROUND) == {"c"}
        ups.reported("c", answer(Q0, Q1, start=start), READY + ROUND)
    assert ups.due(READY + 2 * ROUND) == frozenset()


def test_a_second_instance_that_reported_during_the_grace_reports_again() -> None:
    ups = twice()
    ups.reported("c", answer(Q0, Q1, start=2), NOW + 1)
    ups.reported("c", answer(Q0, Q1, start=1), NOW + 2)
    ups.due(READY)
    ups.reported("c", answer(Q0, Q1, start=1), READY + 1)
    assert ups.due(READY + 2) == {"c"}
    ups.reported("c", answer(start=2), READY + 3)
    assert ups.due(READY + 4) == frozenset()


def test_answer_from_before_an_id_was_listed_twice_is_of_no_second_instance() -> None:
    answers = LastAnswers()
    answers.listed([("c",)])
    answers.add("c", says()[0])
    answers.add("c", says()[0]._replace(start_ts=1, ts=NOW + 1))
    answers.listed([("c", "c")])
    assert [one.start_ts for one in answers.since(NOW, ("c",))["c"]] == [1]


LISTS = {"a": ("c", "c", "d"), "b": ("c", "c", "d"), "z": ("d",)}


def test_a_client_is_asked_through_the_same_broker_always() -> None:
    through = AskedThrough()
    (broker,) = {through.next("d", LISTS) for _ in range(5)}
    assert broker == broker_of("d", LISTS)
    assert through.next("e", LISTS) is None


def asked_through(*answers: int) -> list[str | None]:
    """The brokers through which c is asked, where these start times answer, by broker."""
    through, asked = AskedThrough(), []
    for _ in range(6):
        broker = through.next("c", LISTS)
        asked.append(broker)
        through.answered("c", broker or "", answers["ab".index(broker or "")])
    return asked


def test_an_id_listed_twice_is_asked_through_the_other_broker_next() -> None:
    asked = asked_through(1, 2)
    assert set(asked) == {"a", "b"}
    assert all(one != other for one, other in pairwise(asked))


@pytest.mark.parametrize(("dead", "answers"), [("a", (NO_ANSWER, 1)), ("b", (1, NO_ANSWER))])
def test_a_dead_connection_is_not_asked_again_while_another_answers(dead: str, answers: tuple[int, int]) -> None:
    assert asked_through(*answers).count(dead) <= 1


def test_where_no_connection_answers_some_broker_is_asked() -> None:
    assert None not in asked_through(NO_ANSWER, NO_ANSWER)


def test_an_id_listed_once_again_is_asked_through_its_broker() -> None:
    through = AskedThrough()
    through.next("c", LISTS)
    through.answered("c", str(broker_of("c", LISTS)))
    once = dict.fromkeys("ab", ("c",))
    assert through.next("c", once) == broker_of("c", once)
