"""The simulated fleet beside the recordings: a dozen healthy groups, of which one breaks in a new way at times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from random import Random

from schemas.events import decode_event
from streaming.demo.recording_schedule import CLUSTER, Scheduled
from streaming.simulation.load.fleet_spec import JOIN, FleetSpec, faults_named, templates_for
from streaming.simulation.load.generated_fleet import GeneratedFleet
from streaming.simulation.load.generated_group import GeneratedGroup, GroupIdentity, GroupRound
from streaming.simulation.load.group_template import GroupTemplate, RecordedDisruption

GROUPS = (
    "billing", "carts", "catalog", "coupons", "invoices", "ledger",
    "logistics", "orders", "payments", "pricing", "refunds", "shipping",
)  # fmt: skip
CLIENTS, QUEUES = 5, 8
APART_MS = 60_000
KNOWN_BEFORE_MS = 500  # so that all events that introduce groups are due before the start
SEED = 1
# In this order: what is found fastest comes first.
WORDS = {
    "no_read_permission": "a broker forbids to read the topic",
    "mixed_strategies": "some of its clients come back with another strategy",
    "clings": "a client's rebalance thread hangs while another joins",
    JOIN: "a client joins, and leaves two minutes later: nothing is wrong",
    "not_taken_over": "a client dies, and the others do not rebalance",
    "different_filters": "one client subscribes with another filter",
    "stopped": "a client's process is stopped",
    "room_without_consumer": "brokers of a room in which nobody consumes",
    "machine_lost": "a client's machine goes away without a word",
    "pull_service_dead": "a client no longer pulls, all else in it goes on",
    "old_route": "the topic grows, half of the clients do not hear of it",
    "different_topics": "two clients of another topic use its name",
    "half_open": "a client connects again, brokers keep the dead connections",
    "same_client_id": "a second client comes with the id of another",
    "fewer_to_read": "a broker lets read fewer queues than are written",
    "queues_taken_away": "the topic shrinks, a client clings to what is gone",
    "stuck_code": "a listener waits for ever",
    "cut_from_a_broker": "a client can no longer reach one broker",
    "flapping": "a client is killed and started again and again",
    "lock_stuck": "orderly: old locks are renewed while another joins",
    "all_gone": "all of its clients are killed",
}


class DisruptionSchedule:
    """The schedule of disruptions: one a minute, and none twice before all others have happened."""

    def __init__(self, disruptions: Mapping[str, RecordedDisruption]) -> None:
        self._unseen = dict.fromkeys(name for name in WORDS if name in disruptions)
        self._all = tuple(self._unseen)
        self._last_ts = 0
        self.disruptions: list[tuple[int, str, str]] = []  # (time, group, description), in no order

    def next_disruption(self, group: GeneratedGroup, ts: int) -> RecordedDisruption | None:
        """The disruption that begins now, or None. Called at the end of each idle minute of the group."""
        if ts < self._last_ts + APART_MS:
            return None
        name = next((name for name in self._unseen if name in group.template.disruptions), None)
        if name is None:
            return None
        del self._unseen[name]
        self._unseen = self._unseen or dict.fromkeys(self._all)
        self._last_ts = ts
        recorded = group.template.disruptions[name]
        self.disruptions.append((ts, group.identity.group, WORDS[name]))
        if name != JOIN:
            self.disruptions.append((ts + recorded.mended_ms, group.identity.group, "mended"))
        return recorded

    def due(self, ts: int) -> list[tuple[int, str, str]]:
        """The disruptions up to ``ts`` that were not returned yet."""
        found = sorted(disruption for disruption in self.disruptions if disruption[0] <= ts)
        self.disruptions = [disruption for disruption in self.disruptions if disruption[0] > ts]
        return found


def demo_templates() -> list[GroupTemplate]:
    """Make the templates with all disruptions that have a description; it takes some seconds."""
    faults = faults_named(name for name in WORDS if name != JOIN)
    return templates_for(FleetSpec(len(GROUPS), CLIENTS, QUEUES, seed=SEED, faults=faults))


def simulated_schedule(templates: list[GroupTemplate], start_ms: int) -> Iterator[Scheduled]:
    """Every event of the fleet from ``start_ms`` on, in the order of due times, without end.

    The groups are introduced before that. Their idle minutes end one after the other.
    """
    schedule = DisruptionSchedule({name: one for template in templates for name, one in template.disruptions.items()})
    groups = []
    for index, name in enumerate(GROUPS):
        identity = GroupIdentity(CLUSTER, f"demo {start_ms}", name, f"{name}-events", has_nanos=False)
        template = templates[index % len(templates)]
        idle_from = template.rounds_a_minute - 1 - index % template.rounds_a_minute
        groups.append(GeneratedGroup(template, identity, Random(f"{SEED}/{name}"), schedule.next_disruption, idle_from))
    fleet, numbers = GeneratedFleet(groups, start_ms - KNOWN_BEFORE_MS), count()
    for group_round in fleet.introduce(len(groups)):
        yield _scheduled(group_round, start_ms, numbers)
    due_ms = start_ms
    for group_round in fleet.rounds:
        due_ms = max(due_ms, group_round.ts)
        for _, group, what in schedule.due(due_ms):
            yield Scheduled(due_ms, next(numbers), group, action=what)
        yield _scheduled(group_round, due_ms, numbers)


def _scheduled(group_round: GroupRound, due_ms: int, numbers: count[int]) -> Scheduled:
    events = [decode_event(event) for event in group_round.events]
    return Scheduled(due_ms, next(numbers), group_round.group.identity.group, events)
