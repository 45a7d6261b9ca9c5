"""Who asks a cluster when its collector gets no answers of RocketMQ: pure decisions, and kafka-python's assignor."""

import asyncio
import math
import random
import time
from collections import Counter
from collections.abc import Mapping

import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from streaming.collector.failover.assignor import ReachAssignor
from streaming.collector.failover.membership import Membership
from streaming.collector.failover.reach import (
    KEEP_S,
    NEWS_AFTER_S,
    UNANSWERED_S,
    Reach,
    Report,
    agreed,
    decode,
    is_news,
    wanted,
)
from streaming.collector.failover.topic import partition_of
from streaming.collector.probing import standby_probe
from streaming.collector.probing.standby_probe import is_answered
from streaming.collector.wire.client import RemotingClient
from testing.fake_rocketmq import FakeCluster
from tests.collector.test_cluster_probe import Told, play

P = 7  # a partition
NOTHING, UNANSWERED, REACHED = Report(), Report(unanswered=frozenset({P})), Report(reached=frozenset({P}))


@pytest.mark.parametrize(
    ("owner", "balanced", "reports", "expected"),
    [
        ("a", "a", {"a": NOTHING, "b": REACHED}, "a"),  # who is answered keeps it
        ("a", "b", {"a": NOTHING, "b": NOTHING}, "b"),  # as many for each as before
        ("a", "b", {"a": NOTHING, "b": UNANSWERED}, "a"),  # who gave it up does not take it back
        ("a", "b", {"a": NOTHING, "b": NOTHING, "c": UNANSWERED}, "a"),  # reports move it, or the balance, not both
        ("a", "b", {"a": NOTHING, "b": REACHED}, "a"),
        ("a", "a", {"a": UNANSWERED, "b": REACHED}, "b"),
        ("a", "b", {"a": UNANSWERED, "b": NOTHING}, "a"),  # nobody is known to do better
        ("a", "b", {"a": UNANSWERED, "b": UNANSWERED}, "a"),
        ("a", "c", {"a": UNANSWERED, "b": REACHED, "c": REACHED}, "c"),
        (None, "a", {"a": UNANSWERED, "b": REACHED, "c": NOTHING}, "b"),
        (None, "a", {"a": UNANSWERED, "b": UNANSWERED, "c": NOTHING}, "c"),
        (None, "a", {"a": NOTHING, "b": REACHED}, "b"),
        (None, "a", {"a": UNANSWERED, "b": UNANSWERED}, "a"),  # somebody asks in any case
        (None, "a", {"a": UNANSWERED}, "a"),
    ],
)
def test_who_has_a_partition(owner: str | None, balanced: str, reports: dict[str, Report], expected: str) -> None:
    assert agreed({P: balanced}, {} if owner is None else {P: owner}, reports) == {P: expected}


def test_a_collector_that_gets_no_answers_leaves_its_partitions_to_all_that_do() -> None:
    numbers = range(8)
    reports = {"a": Report(unanswered=frozenset(numbers))} | {name: Report(reached=frozenset(numbers)) for name in "bc"}
    found = agreed(dict.fromkeys(numbers, "a"), dict.fromkeys(numbers, "a"), reports)
    assert Counter(found.values()) == {"b": 4, "c": 4}


def test_a_partition_is_wanted_until_somebody_takes_it_over() -> None:
    assert wanted({P: "a"}, {"a": UNANSWERED, "b": NOTHING}) == {P}
    assert wanted({P: "b"}, {"a": UNANSWERED, "b": REACHED}) == set()


@pytest.mark.parametrize(
    ("now", "said", "owned", "wanted", "said_s_ago", "expected"),
    [
        (UNANSWERED, NOTHING, {P}, set(), 0, True),
        (UNANSWERED, UNANSWERED, {P}, {P}, 1e9, False),
        (UNANSWERED, NOTHING, set(), set(), 1e9, False),  # only the one that asks needs another one
        (REACHED, NOTHING, set(), {P}, 0, True),
        (REACHED, NOTHING, set(), set(), 1e9, False),
        (REACHED, REACHED, set(), {P}, 1e9, False),
        (NOTHING, UNANSWERED, {P}, {P}, NEWS_AFTER_S - 1, False),  # no rebalance each time an answer comes through
        (NOTHING, UNANSWERED, {P}, {P}, NEWS_AFTER_S, True),
        (NOTHING, UNANSWERED, set(), set(), NEWS_AFTER_S - 1, False),
        (NOTHING, UNANSWERED, set(), set(), NEWS_AFTER_S, True),  # else the balance would never move it again
    ],
)
def test_what_the_group_must_hear_of(
    now: Report, said: Report, owned: set[int], wanted: set[int], said_s_ago: float, expected: bool
) -> None:
    assert is_news(now, said, frozenset(owned), frozenset(wanted), said_s_ago) == expected


def test_a_collector_says_after_15_s_that_it_gets_no_answers() -> None:
    reach = Reach(interval_s=5)
    reach.begin("prod", 50)
    reach.note("prod", 100, 100 + UNANSWERED_S - 0.001)
    assert not reach.is_unanswered("prod")
    reach.note("prod", 100, 100 + UNANSWERED_S)
    assert reach.is_unanswered("prod")
    reach.note("prod", None, 200)
    assert not reach.is_unanswered("prod")


def test_a_collector_that_knows_no_broker_is_silent_from_its_beginning() -> None:
    reach = Reach(interval_s=5)
    reach.begin("prod", 50)
    reach.note("prod", -math.inf, 50 + UNANSWERED_S - 0.001)
    assert not reach.is_unanswered("prod")
    reach.note("prod", -math.inf, 50 + UNANSWERED_S)
    assert reach.is_unanswered("prod")


def test_a_collector_with_long_rounds_waits_for_two_of_them() -> None:
    reach = Reach(interval_s=60)
    reach.begin("prod", 0)
    reach.note("prod", 0, 119)
    assert not reach.is_unanswered("prod")
    reach.note("prod", 0, 120)
    assert reach.is_unanswered("prod")


def test_a_collector_that_gave_a_cluster_up_remembers_it_until_it_asks_again() -> None:
    reach = Reach(interval_s=5)
    reach.begin("prod", 0)
    reach.note("prod", 0, UNANSWERED_S)
    reach.stopped("prod")
    assert reach.is_unanswered("prod")
    reach.begin("prod", 1e6)
    assert not reach.is_unanswered("prod")


def test_a_short_silence_at_the_end_is_forgotten() -> None:
    reach = Reach(interval_s=5)
    reach.begin("prod", 0)
    reach.note("prod", 0, UNANSWERED_S - 1)
    reach.stopped("prod")
    assert not reach.is_unanswered("prod")


@pytest.mark.parametrize("interval_s", [1, 60])
def test_probes_are_as_often_as_rounds(interval_s: float) -> None:
    reach = Reach(interval_s)
    assert reach.is_probe_due("prod", 0)
    reach.probed("prod", True, 0)
    assert not reach.is_probe_due("prod", interval_s - 0.1)
    reach.probed("prod", True, interval_s)
    assert reach.is_reached("prod", interval_s)


def test_two_probes_in_a_row_must_be_answered() -> None:
    reach = Reach(interval_s=5)
    for began_s, answered, reached in ((0, True, False), (5, False, False), (10, True, False), (15, True, True)):
        assert reach.is_probe_due("prod", began_s)
        reach.probed("prod", answered, began_s)
        assert not reach.is_probe_due("prod", began_s + 4.9)
        assert reach.is_reached("prod", began_s) == reached
    assert reach.is_reached("prod", 20 + KEEP_S)
    assert not reach.is_reached("prod", 20 + KEEP_S + 0.1)
    reach.probed("prod", True, 100)  # the first one of the next time
    assert not reach.is_reached("prod", 100)


def test_who_is_not_answered_when_it_probes_is_not_chosen_either() -> None:
    reach = Reach(interval_s=5)
    reach.probed("prod", False, 0)
    assert reach.is_unanswered("prod")
    reach.probed("prod", True, 5)
    assert not reach.is_unanswered("prod")


class Group:
    """Collectors of one cluster in simulated seconds. ``reaches``: by name, at the moment."""

    def __init__(self, names: str) -> None:
        self.reach = {name: Reach(interval_s=5) for name in names}
        self.said = dict.fromkeys(names, NOTHING)
        self.said_s = dict.fromkeys(names, 0.0)
        self.owner, self.wanted, self.rebalances, self.probes = names[0], frozenset[int](), 0, 0
        self.moved_s: list[int] = []
        self.silent_since_s: float | None = None
        self.reach[self.owner].begin("prod", 0)

    def second(self, now_s: int, reaches: Mapping[str, bool]) -> None:
        self.silent_since_s = None if reaches[self.owner] else self.silent_since_s or now_s
        self.reach[self.owner].note("prod", self.silent_since_s, now_s)
        for name in sorted(self.reach.keys() - {self.owner}):
            is_to_probe = self.wanted or self.reach[name].is_unanswered("prod")
            if is_to_probe and self.reach[name].is_probe_due("prod", now_s):
                self.probes += 1
                self.reach[name].probed("prod", reaches[name], now_s)
        for name in self.reach:
            owned = frozenset({P} if name == self.owner else ())
            if is_news(self.report(name, now_s), self.said[name], owned, self.wanted, now_s - self.said_s[name]):
                self.said_s[name] = now_s
                self.rebalance(now_s)

    def report(self, name: str, now_s: int) -> Report:
        one = self.reach[name]
        unanswered, reached = one.is_unanswered("prod"), one.is_reached("prod", now_s)
        return Report(frozenset({P} if unanswered else ()), frozenset({P} if reached else ()))

    def rebalance(self, now_s: int) -> None:
        self.rebalances += 1
        self.said = {name: self.report(name, now_s) for name in self.reach}
        found = agreed({P: self.owner}, {P: self.owner}, self.said)
        self.wanted = wanted(found, self.said)
        if found[P] != self.owner:
            assert P in self.said[self.owner].unanswered
            assert P in self.said[found[P]].reached
            self.reach[self.owner].stopped("prod")
            self.owner = found[P]
            self.reach[self.owner].begin("prod", now_s)
            self.silent_since_s = None
            self.moved_s.append(now_s)


def test_one_that_reaches_rocketmq_takes_over_and_keeps_it() -> None:
    group = Group("abc")
    for now_s in range(1000):
        group.second(now_s, {"a": not 100 <= now_s < 200, "b": True, "c": True})
    assert [100 < at_s <= 100 + UNANSWERED_S + 10 for at_s in group.moved_s] == [True]
    assert group.rebalances == 3  # that a is not answered, that b is, that a is answered again
    assert group.probes <= 4 + 100 / 5
    assert not any(report.unanswered for report in group.said.values())


def test_while_rocketmq_is_down_one_keeps_asking_and_nothing_moves() -> None:
    group = Group("abc")
    for now_s in range(2 * 3600):
        group.second(now_s, dict.fromkeys("abc", not 100 <= now_s < 3600))
    assert group.moved_s == []
    assert group.rebalances <= 4  # that nobody is answered, and of each one that it is
    assert group.wanted == set()
    assert not any(report.unanswered for report in group.said.values()), (
        "no cluster would be moved by the balance again"
    )


def test_the_first_that_reaches_rocketmq_again_asks_it() -> None:
    group = Group("abc")
    for now_s in range(2000):
        group.second(now_s, {"a": now_s < 100, "b": now_s < 100, "c": now_s < 100 or now_s >= 1000})
    assert group.owner == "c"
    assert [1000 < at_s <= 1010 for at_s in group.moved_s] == [True]


@pytest.mark.deep_rows("many rounds are asked")
@pytest.mark.parametrize("seed", range(10))
def test_no_network_makes_a_cluster_bounce(seed: int) -> None:
    """Each collector reaches RocketMQ for a random time, then does not for another one, for three hours."""
    chosen = random.Random(seed)
    group, reaches, until_s = Group("abc"), dict.fromkeys("abc", True), dict.fromkeys("abc", 0)
    for now_s in range(3 * 3600):
        for name in "abc":
            if now_s >= until_s[name]:
                reaches[name] = not reaches[name]
                until_s[name] = now_s + int(chosen.expovariate(1 / chosen.choice((5, 30, 300)))) + 1
        group.second(now_s, reaches)
    assert all(later - before >= UNANSWERED_S for before, later in zip(group.moved_s, group.moved_s[1:], strict=False))
    assert group.rebalances <= 3 * 3 * 3600 / UNANSWERED_S


def test_brokers_are_silent_from_the_first_request_that_none_of_them_answers() -> None:
    async def scene(told: Told) -> None:
        assert told.probe.silent_since_s == -math.inf
        await told.round()
        assert told.probe.silent_since_s is None
        first, second = told.fake.nodes.values()
        await first.stop()
        await told.round()
        assert told.probe.silent_since_s is None
        began_s = time.monotonic()
        await second.stop()
        await told.round()
        ended_s = time.monotonic()
        await told.round()
        assert told.probe.silent_since_s is not None
        assert began_s <= told.probe.silent_since_s <= ended_s

    play(scene)


def test_a_collector_that_one_cluster_does_not_answer_probes_each_that_it_does_not_ask() -> None:
    """It may be cut off from all. The balance must not give it one that another collector asks well."""
    clusters = ("prod", "stage", "test")
    one = Membership(clusters, lambda assignor: (None, None), "collectors", Reach(interval_s=5))
    now_s = time.monotonic()
    one._term.heartbeat_answered(now_s)
    assert [one.is_to_probe(cluster) for cluster in clusters] == [True] * 3, "each at the start"
    for cluster in clusters:
        one.reach.probed(cluster, True, now_s - 20)
    assert not any(map(one.is_to_probe, clusters))
    one.reach.probed("prod", False, now_s - 15)
    assert all(map(one.is_to_probe, clusters))
    one._owned = frozenset({partition_of("stage")})
    assert [one.is_to_probe(cluster) for cluster in clusters] == [True, False, True]
    one.reach.probed("test", True, now_s - 10)
    one.reach.probed("prod", False, now_s - 5)
    assert [one.is_to_probe(cluster) for cluster in clusters] == [True, False, False], "once, though prod stays away"
    one.reach.probed("prod", True, now_s - 5)
    assert not any(map(one.is_to_probe, clusters))


def test_the_others_are_probed_after_the_cluster_that_it_asks_has_fallen_silent() -> None:
    reach = Reach(interval_s=5)
    reach.probed("stage", True, 0)
    reach.begin("prod", 1)
    reach.note("prod", 100, 100 + UNANSWERED_S - 1)
    assert not reach.is_in_doubt("stage")
    reach.note("prod", 100, 100 + UNANSWERED_S)
    assert reach.is_in_doubt("stage")
    reach.probed("stage", False, 100 + UNANSWERED_S + 1)
    assert reach.is_unanswered("stage")


class Metadata:
    """What kafka-python knows of the topic."""

    def topics(self) -> set[str]:
        return {"collectors"}

    def partitions_for_topic(self, topic: str) -> set[int]:
        return set(range(12))


class Member:
    """As kafka-python gives it to an assignor."""

    def __init__(self, member_id: str, assignor: ReachAssignor) -> None:
        self.member_id, self.assignor = member_id, assignor
        sent = assignor.metadata({"collectors"})
        self.metadata = ConsumerProtocolSubscription.decode(sent.encode())

    def take(self, assignment: object) -> set[int]:
        self.assignor.on_assignment(assignment, 1)
        return {one.partition for one in self.assignor.member_assignment}


def rebalanced(assignors: Mapping[str, ReachAssignor]) -> dict[str, set[int]]:
    members = [Member(name, one) for name, one in assignors.items()]
    found = next(iter(assignors.values())).assign(Metadata(), members)
    return {one.member_id: one.take(found[one.member_id]) for one in members}


def test_a_partition_is_given_back_before_another_collector_has_it() -> None:
    assignors = {name: ReachAssignor("collectors", NOTHING) for name in "abc"}
    at_first = rebalanced(assignors)
    assert sorted(map(len, at_first.values())) == [4, 4, 4]
    owner = next(name for name, numbers in at_first.items() if P in numbers)
    other = next(name for name in "abc" if name != owner)

    assignors[owner].report = UNANSWERED
    assert rebalanced(assignors) == at_first
    assert [one.wanted for one in assignors.values()] == [{P}] * 3

    assignors[other].report = REACHED
    assert rebalanced(assignors) == {**at_first, owner: at_first[owner] - {P}}
    assert [one.wanted for one in assignors.values()] == [set()] * 3
    assert rebalanced(assignors)[other] >= at_first[other] | {P}

    assignors[other].report = NOTHING  # its probes are of long ago
    later = [rebalanced(assignors) for _ in range(5)]
    assert all(P in numbers[other] for numbers in later)
    assert later[-2] == later[-1]
    assert sum(map(len, later[-1].values())) == 12


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_reported_each_partition_has_one_owner_in_the_end(seed: int) -> None:
    """Collectors come and go, and report at random. In between, no partition has two owners; then nothing moves."""
    chosen = random.Random(seed)
    assignors = {"a": ReachAssignor("collectors", NOTHING)}
    for _ in range(10):
        if chosen.random() < 0.3 and len(assignors) > 1:
            del assignors[chosen.choice(sorted(assignors))]
        assignors.setdefault(chosen.choice("abcd"), ReachAssignor("collectors", NOTHING))
        states = [chosen.choice(["unanswered", "reached", "", ""]) for _ in range(12)]
        assignors[chosen.choice(sorted(assignors))].report = Report(
            *(
                frozenset(number for number in range(12) if states[number] == state)
                for state in ("unanswered", "reached")
            )
        )
        found = [rebalanced(assignors) for _ in range(6)]
        for owned in found:
            assert sum(map(len, owned.values())) == len(frozenset[int]().union(*owned.values()))
        assert sum(map(len, found[-1].values())) == 12
        assert found[-1] == found[-2] == found[-3]


def test_a_member_that_reports_nothing_may_be_in_the_group() -> None:
    assignors = {name: ReachAssignor("collectors", UNANSWERED) for name in "ab"}
    members = [Member(name, one) for name, one in assignors.items()]
    members[1].metadata.user_data = b""
    found = assignors["a"].assign(Metadata(), members)
    assert len(members[0].take(found["a"])) == 6
    assert members[1].take(found["b"]) >= {P}


@pytest.mark.parametrize("data", [None, b"", b"{", b"[]", b'{"unanswered": 1}', b'{"unanswered": ["x"]}'])
def test_a_report_that_cannot_be_read_says_nothing(data: bytes | None) -> None:
    assert decode(data) == NOTHING


def test_a_report_is_read_as_it_was_written() -> None:
    report = Report(frozenset({1, 2}), frozenset({3}))
    assert decode(memoryview(report.encode())) == report


@pytest.mark.parametrize(
    ("name_servers", "brokers", "expected"),
    [
        (("answer", "answer"), ("answer", "answer"), True),
        (("hang", "answer"), ("hang", "answer"), True),  # half of both is enough
        (("hang", "hang"), ("answer", "answer"), False),
        (("answer", "answer"), ("hang", "hang"), False),  # a name server alone shows no members
    ],
)
def test_a_standby_probes_name_servers_and_brokers_once(
    name_servers: tuple[str, ...], brokers: tuple[str, ...], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standby_probe, "WITHIN_S", 0.3)

    async def scene() -> None:
        async with FakeCluster().running(name_servers=2) as fake:
            for node, manner in zip([*fake.name_servers, *fake.nodes.values()], (*name_servers, *brokers), strict=True):
                node.manner = manner
            client = RemotingClient(3)
            assert await is_answered(client, fake.namesrv) == expected
            await client.close()
            assert all(
                dict(node.requests) in ({106: 1}, {38: 1}, {}) for node in [*fake.name_servers, *fake.nodes.values()]
            )

    asyncio.run(scene())
