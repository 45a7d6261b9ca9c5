"""Scenes whose true answer is known, as the core and the job's health tell them: facts that end now, or before."""

from collections.abc import Iterator
from contextlib import contextmanager

from schemas.facts import Fact
from streaming.core.shard import ClusterCounts
from streaming.spark.health import BatchSummary, Health, Sight
from streaming.spark.kafka_offsets import Loss
from streaming.spark.operator import ShardReport
from tests.core import fleet as fleets
from tests.core.fleet import Fleet

SECOND, MINUTE = 1000, 60_000
BEAT_MS = 15 * SECOND
ORDERS = {"Orders": {"broker-a": 2, "broker-b": 2}}


@contextmanager
def ending(end_ts: int, seconds: int) -> Iterator[None]:
    """Fleets count their seconds from then on: what runs so long within ends at ``end_ts``."""
    kept, fleets.T0 = fleets.T0, end_ts - seconds * SECOND
    try:
        yield
    finally:
        fleets.T0 = kept


def watch(
    cluster: str, from_ts: int, to_ts: int, dead: tuple[int, int] = (0, 0), late: tuple[int, int] = (0, 0)
) -> list[Fact]:
    """Health facts of a job that runs. ``dead``: no round comes; ``late``: it reads what is 5 minutes old."""
    health, facts = Health(BEAT_MS / SECOND, {}, from_ts), []
    for at in range(from_ts + BEAT_MS, to_ts + 1, BEAT_MS):
        is_dead, is_late = dead[0] <= at < dead[1], late[0] <= at < late[1]
        newest = at - (5 * MINUTE if is_late else SECOND)
        cluster_counts = (
            [] if is_dead else [ClusterCounts(cluster, events=30, rounds=3, groups=1, newest_round_ts=newest)]
        )
        health.add(BatchSummary(at // BEAT_MS, 400, [ShardReport(0, 5000, 0, [], cluster_counts)], Loss()))
        facts += health.facts(at, Sight(None if is_dead else 400))
    return facts


def first_seen(now: int) -> list[Fact]:
    """Forty members that have run for long, and that evenkeel sees for the first time. Nothing changes."""
    with ending(now, 300):
        fleet = Fleet(cluster="prod", group="first-seen")
        fleet.join(*(f"10.0.0.{number}@1" for number in range(40)))
        return fleet.run(300).facts


def joined(now: int) -> list[Fact]:
    """A third member joins, on both brokers."""
    with ending(now, 300):
        fleet = Fleet(cluster="prod", group="joined")
        fleet.join("x", "y", heartbeat={"language": "JAVA", "version": "407"})
        fleet.run(120)
        fleet.join("z", heartbeat={"language": "GO", "version": "317"})
        return fleet.run(180).facts


def silent_clients(now: int) -> list[Fact]:
    """No client says what it owns."""
    with ending(now, 200):
        fleet = Fleet({"T": {"a": 1}}, cluster="prod", group="silent-clients")
        fleet.join("x", answers=False)
        return fleet.run(200).facts


def retries(now: int, group: str, rate: int) -> list[Fact]:
    """Nobody has the retry topic's queue; messages come into it, or none ever does."""
    with ending(now, 300):
        fleet = Fleet({"T": {"a": 2}, f"%RETRY%{group}": {"a": 1}}, rate=rate, cluster="prod", group=group)
        fleet.join("x")
        fleet.run(60)
        fleet.own("x", "", topic=f"%RETRY%{group}")
        return fleet.run(240).facts


def owned_twice(now: int) -> list[Fact]:
    """Queue 0 of broker-a is owned by x and y for ten minutes, and in the last five of them by z too."""
    with ending(now, 900):
        fleet = Fleet(ORDERS, cluster="prod", group="order-service", report_every=5)
        fleet.join("x", "y", "z")
        fleet.run(300)
        fleet.own("y", "broker-a0 broker-b0", topic="Orders")
        fleet.run(300)
        fleet.own("z", "broker-a0 broker-b1", topic="Orders")
        return fleet.run(300).facts


def orphaned(end_ts: int) -> list[Fact]:
    """Nobody owns queue 1 of broker b for the last five minutes before the job stops."""
    with ending(end_ts, 600):
        fleet = Fleet(cluster="stopped", group="orphaned", report_every=5)
        fleet.join("x", "y")
        fleet.run(300)
        fleet.own("y", "b0 b2-3")
        return fleet.run(300).facts
