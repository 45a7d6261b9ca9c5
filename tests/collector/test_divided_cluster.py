"""A cluster whose groups two configurations divide: ``include`` of the one is ``exclude`` of the other."""

import asyncio
from collections import Counter
from dataclasses import replace

import msgspec
import pytest

from schemas.events import AnyEvent, Round
from schemas.facts import GroupFact
from schemas.identity import REVIVE_GROUP
from streaming.collector import service
from streaming.collector.cluster_collector import ClusterCollector, Watched
from streaming.collector.exposed import ClusterCounts
from streaming.collector.output.other_collectors import other_collectors
from streaming.collector.probing.cluster_probe import ClusterProbe
from streaming.collector.probing.policy import Policy
from streaming.collector.wire.client import RemotingClient
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import fold
from streaming.notifier.monitor_health import MonitorLimits, cluster_trouble
from streaming.notifier.open_alerts import OpenAlerts
from streaming.spark.health import BatchSummary, Health, Sight
from streaming.spark.kafka_offsets import Loss
from streaming.spark.operator import ShardReport
from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup
from tests.collector.test_cluster_probe import QUICK
from tests.core.fleet import record_of

FIRST = ("[a-m]*", REVIVE_GROUP)
POLICIES = {"prod": replace(QUICK, include=FIRST), "prod-2": replace(QUICK, exclude=FIRST)}
GROUPS = ("audit", "billing", "orders", "stock")
LIMITS = MonitorLimits(35_000, 60_000)


def divided_groups() -> FakeCluster:
    """``shared`` is in a group of each configuration."""
    owned = [("T", broker, number) for broker in ("broker-a", "broker-b") for number in range(4)]
    groups = {
        name: FakeGroup([FakeClient(f"{name}-1", owned[:4]), FakeClient(f"{name}-2", owned[4:])]) for name in GROUPS
    }
    for name in ("billing", "stock"):
        groups[name].members.append(FakeClient("shared"))
    return FakeCluster(groups=groups)


def asked(rounds: int = 3) -> list[AnyEvent]:
    """The events of both collectors, as they come to one topic."""
    events = list[AnyEvent]()

    async def scene() -> None:
        async with divided_groups().running() as fake:
            probes = [probe_of(fake, cluster, policy, events) for cluster, policy in POLICIES.items()]
            for _ in range(rounds):
                await asyncio.sleep(0.002)
                await asyncio.gather(*(probe.round() for probe in probes))
            for probe in probes:
                await probe.close()

    asyncio.run(scene())
    return events


def probe_of(fake: FakeCluster, cluster: str, policy: Policy, events: list[AnyEvent]) -> ClusterProbe:
    client = RemotingClient(policy.timeout_ms / 1000)
    return ClusterProbe(cluster, policy, client, fake.namesrv, f"collector {cluster}", events.extend, lambda _: None)


def test_each_group_is_asked_and_judged_once() -> None:
    """Also of a client that is in groups of both. Nothing of one is refused because of the other."""
    events = asked()
    rounds = Counter((event.cluster, event.group) for event in events if isinstance(event, Round))
    assert rounds == {("prod", "audit"): 3, ("prod", "billing"): 3, ("prod-2", "orders"): 3, ("prod-2", "stock"): 3}
    folded = fold(None, map(record_of, events), DEFAULT_SETTINGS)
    counts = {one.cluster: one for one in folded.cluster_counts}
    assert set(counts) == {"prod", "prod-2"}
    assert {(one.quarantined, one.contradicting) for one in counts.values()} == {(0, 0)}
    members = {fact.group: fact.payload.members for fact in folded.facts if isinstance(fact.payload, GroupFact)}
    assert members == {"audit": 2, "billing": 3, "orders": 2, "stock": 3}


def test_one_group_of_revive_logs_is_asked_by_the_configuration_that_names_it() -> None:
    assert [policy.covers_revivals for policy in POLICIES.values()] == [True, False]


@pytest.mark.parametrize("stopped", POLICIES)
def test_the_half_that_nobody_asks_is_blind_and_the_other_is_not(stopped: str) -> None:
    """It has a cluster's name of its own: rounds of the other half would hide it."""
    events = asked()
    newest = list({(event.cluster, event.group): event for event in events if isinstance(event, Round)}.values())
    last_ts = max(event.ts for event in events)
    health, known, blob = Health(15, {}, last_ts), OpenAlerts(), None
    for later_s in range(0, 75, 5):
        now = last_ts + later_s * 1000
        going_on = [one for one in newest if one.cluster != stopped]
        later = [msgspec.structs.replace(one, ts=now, seq=one.seq + later_s) for one in going_on]
        folded = fold(blob, map(record_of, later if later_s else events), DEFAULT_SETTINGS)
        blob = folded.blob
        health.add(BatchSummary(0, 100, [ShardReport(0, 0, 0, [], folded.cluster_counts)], Loss()))
        known.take(health.facts(now, Sight()))
    troubles = {cluster: cluster_trouble(cluster, known.health, now, LIMITS) for cluster in POLICIES}
    found = {cluster: trouble.kind for cluster, trouble in troubles.items() if trouble is not None}
    assert found == {stopped: "monitor_blind"}


def test_the_collector_of_the_other_half_is_no_second_one_even_under_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector that asks a group of ours beside us is one."""
    monkeypatch.setattr(service.time, "monotonic", lambda: 1_000.0)

    async def scene() -> None:
        events = list[AnyEvent]()
        async with divided_groups().running() as fake:
            one = collector(fake, probe_of(fake, "prod", POLICIES["prod"], events))
            others = [probe_of(fake, "prod", POLICIES["prod-2"], events), probe_of(fake, "prod", QUICK, events)]
            for other, expected in zip(others, ({}, {"prod": {"collector prod"}}), strict=True):
                events.clear()
                await other.round()
                values = [msgspec.json.encode(event) for event in events]
                found = other_collectors(values, lambda *name: service._source([one], *name) and "ours")
                assert found == expected
                await other.close()
            await one.watched.probe.close()

    asyncio.run(scene())


def collector(fake: FakeCluster, probe: ClusterProbe) -> ClusterCollector:
    """It has asked the cluster for long."""
    counts = ClusterCounts("prod", QUICK.interval_ms, probe._client.counts, probe.shared.lags)
    found = ClusterCollector.__new__(ClusterCollector)
    found.watched, found.leads_since_s = Watched("prod", POLICIES["prod"], probe, counts), 0.0
    return found
