"""Several collectors that share a cluster: each group and each client is asked by one of them, whatever is late."""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from schemas.events import AnyEvent, AssignmentReport, Round
from schemas.identity import producer_of_slot, slot_of
from streaming.collector.failover.assignor import ReachAssignor, SlotAssignor
from streaming.collector.failover.reach import Report
from streaming.collector.failover.topic import log_partition_of, partition_of
from streaming.collector.probing import share as share_module
from streaming.collector.probing.cluster_probe import ClusterProbe
from streaming.collector.probing.policy import Policy
from streaming.collector.probing.share import (
    RELEASE_MS,
    RETURN_MS,
    SLOTS,
    Log,
    Members,
    Move,
    Share,
    home_of,
)
from streaming.collector.wire.client import Lane, RemotingClient
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import fold
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.step import Refused, take
from streaming.notices.notice import MonitorTrouble
from streaming.notifier.monitor_health import MonitorLimits, cluster_trouble
from streaming.notifier.open_alerts import OpenAlerts
from streaming.spark.health import BatchSummary, Health, Sight
from streaming.spark.kafka_offsets import Loss
from streaming.spark.operator import ShardReport
from tests.collector.fake_rocketmq import FakeClient, FakeCluster, FakeGroup
from tests.collector.test_cluster_probe import QUICK
from tests.collector.test_reach import rebalanced
from tests.core.fleet import record_of

Record = tuple[str, bytes | None]
GROUPS = [f"group-{number}" for number in range(12)]
REPORT_EMPTY_MS = 2 * RETURN_MS
CLIENTS = [f"10.0.0.{number}@1" for number in range(10)]


def test_the_limits_of_all_slots_together_are_those_of_a_cluster() -> None:
    """However many collectors there are: each slot is asked by one, with its part of each limit."""
    for lane in Lane:
        assert lane.value // SLOTS * SLOTS == lane.value


def test_every_group_has_one_slot_and_each_slot_has_its_part() -> None:
    sizes = Counter(home_of(f"group-{number}") for number in range(10_000))
    assert set(sizes) == set(range(SLOTS))
    assert max(sizes.values()) < 1.1 * min(sizes.values())


class Topic:
    """The log in Kafka."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def compacted(self) -> list[Record]:
        """Only the newest record of each key is left, in its place."""
        newest = {key: number for number, (key, _) in enumerate(self.records)}
        return [record for number, record in enumerate(self.records) if newest[record[0]] == number]


class Asker:
    """The collector of one slot. It reads and writes the log late; ``groups`` has who is in each group now."""

    def __init__(self, slot: int, topic: Topic, groups: dict[str, set[str]], compacts: bool = False) -> None:
        self.slot, self._topic, self._groups = slot, topic, groups
        self.log, self._read = Log(), len(topic.records)
        self.to_write: list[Record] = []
        self.share = Share(slot, self.log, self._queue, REPORT_EMPTY_MS)
        self.members: dict[str, set[str]] = {}  # of its groups, as it saw them last
        self.busy: set[str] = set()
        for record in topic.compacted() if compacts else topic.records:
            self.log.add(*record)

    def _queue(self, key: str, value: bytes | None) -> None:
        self.to_write.append((key, value))

    def write(self, number: int) -> None:
        self._topic.records += self.to_write[:number]
        del self.to_write[:number]

    def read(self, number: int) -> None:
        for record in self._topic.records[self._read : self._read + number]:
            self.log.add(*record)
        self._read = min(len(self._topic.records), self._read + number)

    def round(self, now: int) -> None:
        listed = self._listed()
        members = Members(self._groups_of, lambda group: self.members.get(group, ()))
        for move in list(self.share.moves(listed, members, now)):
            if self.share.may_move(move, self.busy.__contains__):
                for group in move.groups:
                    self.members.pop(group, None)
                self.share.give(move)
        self.share.reconcile(self._listed(), self.busy.__contains__, now)
        self.members = {group: set(ids) for group, ids in self._groups.items() if self.share.has(group)}
        for client_id in sorted(self._listed()):
            self.share.claim(client_id)

    def ask(self, choose: Callable[[list[str]], str]) -> None:
        may = [one for one in sorted(self._listed() - self.busy) if self.share.may_ask(one)]
        if may:
            self.busy.add(choose(may))

    def _listed(self) -> set[str]:
        return {client_id for ids in self.members.values() for client_id in ids}

    def _groups_of(self, client_id: str) -> list[str]:
        return [group for group, ids in self.members.items() if client_id in ids]


class World:
    """All slots of a cluster, each asked by a process of its own."""

    def __init__(self, seed: int) -> None:
        self.random, self.topic = random.Random(seed), Topic()
        self.groups = {name: set(self.random.sample(CLIENTS, self.random.randint(0, 3))) for name in GROUPS}
        self.askers = [Asker(slot, self.topic, self.groups) for slot in range(SLOTS)]
        self.now = 1_000_000

    def step(self) -> None:
        one, chance = self.random.choice(self.askers), self.random.random()
        self.now += self.random.choice((0, 200, 1_000))
        if chance < 0.2:
            one.write(self.random.randint(1, 6))
        elif chance < 0.45:
            one.read(self.random.randint(1, 12))
        elif chance < 0.6:
            one.round(self.now)
        elif chance < 0.8:
            one.ask(self.random.choice)
        elif chance < 0.95:
            one.busy -= {client_id for client_id in one.busy if self.random.random() < 0.7}
        elif chance < 0.97:
            self.groups[self.random.choice(GROUPS)] = set(self.random.sample(CLIENTS, self.random.randint(0, 3)))
        elif chance < 0.98:
            self.now += RELEASE_MS
        elif chance < 0.99:
            self.now += RETURN_MS
        else:  # it is killed, and another collector takes its slot over, when all that it wrote is there
            one.write(self.random.randint(0, len(one.to_write)))
            compacts = self.random.random() < 0.5
            self.askers[one.slot] = Asker(one.slot, self.topic, self.groups, compacts)

    def settle(self) -> None:
        for _ in range(40):
            self.now += 5_000
            for one in self.askers:
                one.busy.clear()
                one.round(self.now)
            for one in self.askers:
                one.write(1_000_000)
            for one in self.askers:
                one.read(1_000_000)

    def check(self) -> None:
        busy = Counter(client_id for one in self.askers for client_id in one.busy)
        assert not [client_id for client_id, number in busy.items() if number > 1]
        assert not [group for group in GROUPS if sum(one.share.has(group) for one in self.askers) > 1]

    def check_settled(self) -> None:
        """No group is lost, those that share a client are together, and each client is asked."""
        owners = {group: [one.slot for one in self.askers if one.share.has(group)] for group in GROUPS}
        assert all(len(slots) == 1 for slots in owners.values()), owners
        for client_id in CLIENTS:
            slots = {owners[group][0] for group, ids in self.groups.items() if client_id in ids}
            assert len(slots) < 2, (client_id, slots)
            assert all(self.askers[slot].share.may_ask(client_id) for slot in slots)


@pytest.mark.parametrize("seed", range(30))
def test_two_collectors_never_ask_one_client_and_no_group_is_lost(seed: int) -> None:
    world = World(seed)
    for _ in range(1_500):
        world.step()
        world.check()
    world.settle()
    world.check_settled()


def test_groups_that_share_nothing_any_more_go_home_after_a_while() -> None:
    first = next(group for group in GROUPS if home_of(group) == 0)
    other = next(group for group in GROUPS if home_of(group) == 3)
    world = World(0)
    for group in GROUPS:
        world.groups[group] = set()
    world.groups[first], world.groups[other] = {"a", "b"}, {"b", "c"}
    world.settle()
    assert world.askers[0].share.has(other)
    world.groups[other] = {"c"}
    world.settle()
    assert world.askers[0].share.has(other)
    world.now += RETURN_MS
    world.settle()
    assert world.askers[3].share.has(other)
    world.check_settled()


def test_a_group_that_lost_its_members_stays_where_it_had_them_as_long_as_that_is_reported() -> None:
    """Its home would only look at it, and the job would not hear that it has no members."""
    world, group = World(0), next(group for group in GROUPS if home_of(group) == 3)
    for name in GROUPS:
        world.groups[name] = set()
    world.groups[next(name for name in GROUPS if home_of(name) == 0)] = world.groups[group] = {"a"}
    world.settle()
    world.groups[group] = {"b"}
    world.settle()
    world.now += RETURN_MS - 300_000
    world.groups[group] = set()
    world.settle()
    world.now += REPORT_EMPTY_MS - 500_000
    world.settle()
    assert world.askers[0].share.has(group)
    world.now += 300_000
    world.settle()
    assert world.askers[3].share.has(group)


def test_a_client_is_released_when_nothing_is_on_its_way_and_is_not_asked_before_that_is_read() -> None:
    world = World(0)
    group = next(group for group in GROUPS if home_of(group) == 0)
    world.groups |= {name: set() for name in GROUPS} | {group: {"a"}}
    world.settle()
    one = world.askers[0]
    one.ask(min)
    assert one.busy == {"a"}
    world.groups[group] = set()
    one.round(world.now)
    one.round(world.now)
    one.round(world.now + RELEASE_MS)
    assert one.to_write == []
    one.busy.clear()
    one.round(world.now + RELEASE_MS)
    assert one.to_write == [("client/0/a", None)]
    world.groups[group] = {"a"}
    one.round(world.now + RELEASE_MS)
    assert not one.share.may_ask("a")


def slots_of(cluster: str) -> frozenset[int]:
    return frozenset(partition_of(f"{cluster}/{slot}") for slot in range(SLOTS))


def assignor(*clusters: str) -> SlotAssignor:
    return SlotAssignor("collectors", Report(), map(slots_of, clusters))


@pytest.mark.parametrize(("collectors", "most"), [(1, 4), (2, 2), (3, 2), (4, 1)])
def test_each_collector_gets_as_many_slots_as_the_others(collectors: int, most: int) -> None:
    """Though most partitions of their topic belong to no slot."""
    used = slots_of("prod")
    assert len(used) == SLOTS
    assert log_partition_of("prod") not in used
    given = rebalanced({str(number): assignor("prod") for number in range(collectors)})
    assert sorted(number for numbers in given.values() for number in numbers) == sorted(used)
    assert max(map(len, given.values())) == most


def test_each_collector_gets_slots_of_each_cluster() -> None:
    """Also those that join later. Of three collectors, not always the same one has two slots of a cluster."""
    clusters = ("prod", "test", "orders")
    assignors: dict[str, ReachAssignor] = {}
    for name in "abc":
        assignors[name] = assignor(*clusters)
        rebalanced(assignors)
        given = rebalanced(assignors)
        each = SLOTS // len(assignors)
        for cluster in clusters:
            assert {len(numbers & slots_of(cluster)) for numbers in given.values()} <= {each, each + 1}
        assert {len(numbers) for numbers in given.values()} == {SLOTS * len(clusters) // len(assignors)}
    before = given
    del assignors["a"]
    rebalanced(assignors)
    given = rebalanced(assignors)
    assert all(given[name] > before[name] for name in "bc")


@pytest.mark.parametrize("seed", range(5))
def test_slots_stay_where_they_are_in_the_end_though_clusters_have_partitions_in_common(seed: int) -> None:
    chosen = random.Random(seed)
    names = [f"cluster-{chosen.randrange(1_000)}" for _ in range(9)]
    used = frozenset[int]().union(*map(slots_of, names))
    assert len(used) < SLOTS * len(names)
    assignors: dict[str, ReachAssignor] = {"a": assignor(*names)}
    for _ in range(8):
        if chosen.random() < 0.5 and len(assignors) > 1:
            del assignors[chosen.choice(sorted(assignors))]
        assignors.setdefault(chosen.choice("abcde"), assignor(*names))
        found = [rebalanced(assignors) for _ in range(4)]
        assert sum(map(len, found[-1].values())) == len(used)
        assert found[-1] == found[-2]


def sharing_groups() -> FakeCluster:
    """Two groups of different slots have one client; the others have their own."""
    owned = [("T", broker, number) for broker in ("broker-a", "broker-b") for number in range(4)]
    groups = {
        name: FakeGroup([FakeClient(f"{name}-1", owned[:4]), FakeClient(f"{name}-2", owned[4:])]) for name in GROUPS
    }
    for slot in (1, 3):
        groups[next(name for name in GROUPS if home_of(name) == slot)].members.append(FakeClient("shared"))
    return FakeCluster(groups=groups)


def shared_probe(
    fake: FakeCluster,
    slot: int,
    log: Log,
    events: list[AnyEvent],
    policy: Policy = QUICK,
    dropped: Callable[[str], object] = lambda _: None,
) -> ClusterProbe:
    share = Share(slot, log, log.add, policy.report_empty_ms)
    client = RemotingClient(policy.timeout_ms / 1000, share_of=SLOTS)
    return ClusterProbe(
        "prod",
        policy,
        client,
        fake.namesrv,
        producer_of_slot("of", slot),
        events.extend,
        lambda _: None,
        share,
        dropped,
    )


def refused_by_the_job(events: list[AnyEvent], group: str) -> list[Refused]:
    """Rounds that contradict others, or come out of order, are refused."""
    judged = Group(new_state("prod", group), DEFAULT_SETTINGS)
    found = [refused for event in events if event.group == group for refused in take(judged, event)]
    assert judged.state.lost_events_ts == 0
    return found


def test_groups_with_a_common_client_get_rounds_of_one_collector_and_go_home_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No round of another group is left out, and no number of an event comes twice."""
    fake, events, log = sharing_groups(), list[AnyEvent](), Log()
    one, other = (next(name for name in GROUPS if home_of(name) == slot) for slot in (1, 3))

    async def sources_after(probes: list[ClusterProbe], rounds: int) -> dict[str, str]:
        for _ in range(rounds):
            events_before = len(events)
            for each in probes:
                await each.round()
        markers = [event for event in events[events_before:] if isinstance(event, Round)]
        assert sorted(marker.group for marker in markers) == sorted(GROUPS)
        return {marker.group: marker.source for marker in markers}

    async def scene() -> None:
        async with fake.running():
            probes = [shared_probe(fake, slot, log, events) for slot in range(SLOTS)]
            sources = await sources_after(probes, 6)
            assert sources[one] == sources[other] == "of/1"
            assert {f"of/{home_of(name)}" for name in GROUPS if name != other} == {
                source for name, source in sources.items() if name != other
            }
            fake.groups[other].members.pop()
            await sources_after(probes, 1)
            monkeypatch.setattr(share_module, "RETURN_MS", 0)
            sources = await sources_after(probes, 4)
            assert (sources[one], sources[other]) == ("of/1", "of/3")
            monkeypatch.setattr(share_module, "RETURN_MS", RETURN_MS)
            fake.groups[other].members.append(FakeClient("shared"))
            assert (await sources_after(probes, 4))[other] == "of/1"
            for each in probes:
                await each.close()

    asyncio.run(scene())
    reports = {(event.source, event.client_id) for event in events if isinstance(event, AssignmentReport)}
    assert {source for source, client_id in reports if client_id == "shared"} == {"of/1"}
    assert refused_by_the_job(events, other) == []
    numbers = defaultdict(list)
    for event in events:
        numbers[event.source, event.group].append(event.seq)
    assert all(found == list(range(len(found))) for found in numbers.values())


def test_the_job_finds_a_slot_of_which_no_rounds_come() -> None:
    """From the rounds of the collectors to the trouble; the other slots go on."""
    fake, events, log = sharing_groups(), list[AnyEvent](), Log()

    async def scene() -> None:
        async with fake.running():
            probes = [shared_probe(fake, slot, log, events) for slot in range(SLOTS)]
            for each in probes * 6:
                await each.round()
            for each in probes:
                await each.close()

    asyncio.run(scene())
    newest = {event.group: event for event in events if isinstance(event, Round)}
    last_ts = max(event.ts for event in events)
    health, known, blob = Health(15, {}, last_ts), OpenAlerts(), None
    found = list[tuple[int, MonitorTrouble]]()
    for later_s in range(0, 75, 5):  # of slot 2, no round comes after the first
        now = last_ts + later_s * 1000
        going_on = [one for one in newest.values() if slot_of(one.source) != 2]
        later = [msgspec.structs.replace(one, ts=now, seq=one.seq + later_s) for one in going_on]
        folded = fold(blob, map(record_of, later if later_s else events), DEFAULT_SETTINGS)
        blob = folded.blob
        health.add(BatchSummary(0, 100, [ShardReport(0, 0, 0, [], folded.cluster_counts, folded.slots)], Loss()))
        known.take(health.facts(now, Sight()))
        trouble = cluster_trouble("prod", known.health, now, MonitorLimits(35_000, 60_000))
        found += [(later_s, trouble)] if trouble is not None and trouble.why != "nothing_yet" else []
    assert [(later_s, trouble.kind, trouble.why) for later_s, trouble in found] == [
        (later_s, "monitor_blind", "slots_not_seen") for later_s in (55, 60, 65, 70)
    ]
    evidence, groups = found[0][1].evidence, [name for name in GROUPS if log.slot_of(name) == 2]
    assert evidence is not None
    assert (evidence.slots, evidence.groups) == ((2,), len(groups))
    assert groups


def test_a_group_whose_members_leave_while_it_moves_gets_rounds_where_it_goes() -> None:
    fake, events, log, dropped = sharing_groups(), list[AnyEvent](), Log(), list[str]()
    other = next(name for name in GROUPS if home_of(name) == 3)

    async def scene() -> None:
        async with fake.running():
            probes = [shared_probe(fake, slot, log, events, dropped=dropped.append) for slot in (1, 3)]
            while log.slot_of(other) == 3:
                for each in probes:
                    await each.round()
            fake.groups[other].members.clear()
            events.clear()
            for each in probes * 2:
                await each.round()
            for each in probes:
                await each.close()

    asyncio.run(scene())
    markers = [event for event in events if isinstance(event, Round) and event.group == other]
    assert [marker.source for marker in markers] == ["of/1", "of/1"]
    assert dropped == [other]


def test_no_group_moves_while_the_collector_before_may_wait_for_an_answer_of_its_client() -> None:
    """The slot to which it goes would ask the client at once."""
    fake, events, log = sharing_groups(), list[AnyEvent](), Log()
    other = next(name for name in GROUPS if home_of(name) == 3)

    async def scene() -> None:
        async with fake.running():
            probes = [shared_probe(fake, slot, log, events) for slot in (1, 3)]
            probes[1].recall(None, 3_000)
            for each in probes * 3:
                await each.round()
            assert log.contested() == {"shared"}
            assert log.slot_of(other) == 3
            probes[1].recall(None, 0)
            for each in probes * 3:
                await each.round()
            assert log.slot_of(other) == 1
            for each in probes:
                await each.close()

    asyncio.run(scene())


def test_a_collector_looks_again_at_the_groups_that_moved_and_at_no_others() -> None:
    """A cluster may have 50,000 groups. What was not read yet may bring some back, when the log is read again."""
    one, other, third = [name for name in map(str, range(99)) if home_of(name) == 1][:3]
    log = Log()
    share = Share(1, log, log.add, REPORT_EMPTY_MS)
    assert share.moved() == []
    log.add(f"group/{one}", b"0")
    log.add(f"group/{other}", b"1")
    log.follow()
    assert (share.moved(), share.moved()) == ([one], [])
    share.give(Move(frozenset({third}), frozenset(), 3))
    assert not share.has(third)
    log.begin()
    log.follow()
    assert sorted(share.moved()) == sorted([one, third])
    assert all(map(share.has, (one, other, third)))


def test_another_thread_may_ask_whether_a_slot_has_always_had_a_group() -> None:
    """It changes nothing beside the event loop, which may be in the middle of a round."""
    group, log = next(name for name in GROUPS if home_of(name) == 1), Log()
    share = Share(1, log, log.add, REPORT_EMPTY_MS)
    log.add(f"group/{group}", b"0")
    assert share.has_always_had(group)
    assert log.changes == 0
    assert not share.has(group)
    log.add(f"group/{group}", None)
    assert share.has(group)
    assert not share.has_always_had(group)


@pytest.mark.parametrize(
    ("shared", "policy"), [("host@1@0@jbu2ecjs3e", QUICK), ("c", replace(QUICK, running_info_ms=0))]
)
def test_groups_stay_at_home_where_the_client_that_they_share_is_never_asked(shared: str, policy: Policy) -> None:
    """A client of a proxy may be in all groups: one collector would have all of them."""
    fake, events, log = sharing_groups(), list[AnyEvent](), Log()
    groups = [next(name for name in GROUPS if home_of(name) == slot) for slot in (1, 3)]
    for name in groups:
        fake.groups[name].members = [FakeClient(shared)]

    async def scene() -> None:
        async with fake.running():
            probes = [shared_probe(fake, slot, log, events, policy) for slot in (1, 3)]
            for each in probes * 4:
                await each.round()
            for each in probes:
                await each.close()

    asyncio.run(scene())
    assert log.claims(shared) == ()
    assert [log.slot_of(name) for name in groups] == [1, 3]


def test_a_record_that_may_not_be_written_is_not_waited_for() -> None:
    """The slot may come back to this collector, which reads the same log all the time."""

    def refuse(*_: object) -> None:
        raise asyncio.CancelledError

    log = Log()
    with pytest.raises(asyncio.CancelledError):
        Share(0, log, refuse, REPORT_EMPTY_MS).claim("c")
    assert not log.is_waiting("client/0/c")
