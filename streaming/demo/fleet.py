"""A simulated fleet beside the recordings: a dozen groups that work, and every now and then one breaks in a new way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from random import Random

from streaming.demo.schedule import CLUSTER, Played
from streaming.simulation.load.fleet_spec import JOIN, Order, faults_named, moulds_for
from streaming.simulation.load.generated_fleet import StampedFleet
from streaming.simulation.load.generated_group import StampedGroup
from streaming.simulation.load.group_template import REST, Excursion, Mould
from streaming.simulation.load.renaming import Part
from streaming.simulation.load.segment import ROUND_MS

GROUPS = (
    "billing", "carts", "catalog", "coupons", "invoices", "ledger",
    "logistics", "orders", "payments", "pricing", "refunds", "shipping",
)  # fmt: skip
CLIENTS, QUEUES = 5, 8
APART_MS = 60_000
KNOWN_BEFORE_MS = 500  # so that the last event that makes the last group known is not ahead of the start
SEED = 1
# In this order: what is found soonest comes first.
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
    "half_open": "a client connects anew, brokers keep the dead connections",
    "same_client_id": "a second client comes with the id of another",
    "fewer_to_read": "a broker lets read fewer queues than are written",
    "queues_taken_away": "the topic shrinks, a client clings to what is gone",
    "stuck_code": "a listener waits for ever",
    "cut_from_a_broker": "a client can no longer reach one broker",
    "flapping": "a client is killed and started again and again",
    "lock_stuck": "orderly: old locks are renewed while another joins",
    "all_gone": "all of its clients are killed",
}


class Director:
    """Decides what befalls whom: one a minute, and nothing again before all else has been."""

    def __init__(self, excursions: Mapping[str, Excursion]) -> None:
        self._unseen = dict.fromkeys(name for name in WORDS if name in excursions)
        self._all = tuple(self._unseen)
        self._last_ts = 0
        self.deeds: list[tuple[int, str, str]] = []  # when, whose, what; in no order

    def next_deed(self, group: StampedGroup, ts: int) -> Excursion | None:
        """Asked at the end of each of the group's minutes at rest."""
        if ts < self._last_ts + APART_MS:
            return None
        name = next((name for name in self._unseen if name in group.mould.excursions), None)
        if name is None:
            return None
        del self._unseen[name]
        self._unseen = self._unseen or dict.fromkeys(self._all)
        self._last_ts = ts
        excursion = group.mould.excursions[name]
        self.deeds.append((ts, group.part.group, WORDS[name]))
        if name != JOIN:
            self.deeds.append((ts + excursion.mended_ms, group.part.group, "mended"))
        return excursion

    def due(self, ts: int) -> list[tuple[int, str, str]]:
        """The deeds up to ``ts`` that were not yet told."""
        found = sorted(deed for deed in self.deeds if deed[0] <= ts)
        self.deeds = [deed for deed in self.deeds if deed[0] > ts]
        return found


def simulated_moulds() -> list[Mould]:
    """With all that there are words for; it takes some seconds."""
    faults = faults_named(name for name in WORDS if name != JOIN)
    return moulds_for(Order(len(GROUPS), CLIENTS, QUEUES, seed=SEED, faults=faults))


def simulated_schedule(moulds: list[Mould], start_ms: int) -> Iterator[Played]:
    """Everything that the fleet tells from ``start_ms`` on, in the order in which it is due; it never ends.

    The groups are known by then, and one after the other comes to the end of a minute at rest.
    """
    director = Director({name: one for mould in moulds for name, one in mould.excursions.items()})
    groups = []
    for place, name in enumerate(GROUPS):
        part = Part(CLUSTER, f"demo {start_ms}", name, f"{name}-events", has_nanos=False)
        mould = moulds[place % len(moulds)]
        groups.append(StampedGroup(mould, part, Random(f"{SEED}/{name}"), director.next_deed, REST - 1 - place % REST))
    fleet, numbers = StampedFleet(groups, start_ms - KNOWN_BEFORE_MS, ROUND_MS), count()
    for key, value in fleet.introduce(len(groups)):
        yield Played(start_ms, next(numbers), key.decode().partition("/")[2], key, value)
    due_ms = start_ms
    for turn in fleet.turns():
        due_ms = max(due_ms, turn.ts)
        for _, group, what in director.due(due_ms):
            yield Played(due_ms, next(numbers), group, b"", None, what)
        for key, value in turn.records:
            yield Played(due_ms, next(numbers), turn.group.part.group, key, value)
