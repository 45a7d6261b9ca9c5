"""The forecast of a change, and it as text: shares by arithmetic, and the cost by trials on a simulated group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from schemas.facts import Kind
from schemas.identity import MessageQueue
from streaming.core.allocation.strategies import strategy_of_class
from streaming.core.allocation.strategy import Strategy
from streaming.simulation.client_config import ClientConfig
from streaming.simulation.fleet import Fleet
from streaming.simulation.planning import queue_moves
from streaming.simulation.planning.change import (
    SETTLED_S,
    STEP_S,
    WATCHED_S,
    Change,
    brokers_after,
    members_after,
    roll_s,
)
from streaming.simulation.planning.current_group import CurrentGroup, rates_by_topic

TRIALS = 5
SETTLING_S, AT_ANY_TIME_S = SETTLED_S - 30, 30  # the change comes at another moment in each trial
RESTART_S = 10  # a client of a rolling restart is away so long


class Cost(Struct, frozen=True, kw_only=True):
    """The cost of one trial, or the average. Seconds are sums over queues, except for the longest of one queue."""

    unowned_queue_s: float
    unowned_longest_s: float
    doubled_queue_s: float
    doubled_longest_s: float
    repeated: float


class Forecast(Struct, frozen=True, kw_only=True):
    """The forecast by one strategy. ``why_not``: why it does not apply; then all else is None.

    ``error``: the average distance of a single run from the forecast of the others. Without rates the number of
    messages that are delivered again is not known.
    """

    strategy: str
    why_not: str | None = None
    balance: queue_moves.Balance | None = None
    cost: Cost | None = None
    error: Cost | None = None
    knows_rates: bool = True
    before: queue_moves.Owners = {}
    after: queue_moves.Owners = {}

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"strategy": self.strategy, "why_not": self.why_not}
        if self.balance is not None and self.cost is not None and self.error is not None:
            unknown = {} if self.knows_rates else {"repeated": None}
            shown |= self.balance._asdict() | asdict(self.cost) | unknown
            shown["error"] = asdict(self.error) | unknown
            shown["before"] = [[*queue, owner] for queue, owner in sorted(self.before.items())]
            shown["after"] = [[*queue, owner] for queue, owner in sorted(self.after.items())]
        return shown


def forecasts(current: CurrentGroup, change: Change, seed: str = "plan") -> list[Forecast]:
    """The forecast by each of the six strategies, as if the group had it."""
    return [_forecast(current, change, name, seed) for name in queue_moves.STRATEGY_NAMES]


def _forecast(current: CurrentGroup, change: Change, name: str, seed: str) -> Forecast:
    try:
        trial = Trial(current, change, name)
    except queue_moves.NotApplicable as why:
        return Forecast(strategy=name, why_not=str(why))
    costs = [trial.run(f"{seed}/{number}") for number in range(TRIALS)]
    return Forecast(
        strategy=name,
        balance=trial.balance,
        cost=mean(costs),
        error=mean(distance(cost, mean(costs[:n] + costs[n + 1 :])) for n, cost in enumerate(costs)),
        knows_rates=current.knows_rates,
        before=trial.before,
        after=trial.after,
    )


def distance(one: Cost, other: Cost) -> Cost:
    """The distance of two costs, figure by figure."""
    found, forecast = asdict(one), asdict(other)
    return Cost(**{name: abs(found[name] - forecast[name]) for name in found})


def mean(costs: Iterable[Cost]) -> Cost:
    found = [asdict(cost) for cost in costs]
    return Cost(**{name: round(fmean(one[name] for one in found), 3) for name in found[0]})


class Trial:
    """A group with one strategy, for any number of trials of the change. Raises NotApplicable.

    If this is not the group's strategy, the group counts as having had it before, unless that is the change.
    """

    def __init__(self, current: CurrentGroup, change: Change, name: str) -> None:
        self._current, self._change = current, change
        self._members = members_after(change, current)
        ids = dict.fromkeys((*current.client_ids, *self._members))
        self._new = queue_moves.strategies_of(name, current, ids)
        is_the_change = change.strategy == name
        before = strategy_of(current) or "AVG"
        self._old = queue_moves.strategies_of(before, current, ids) if is_the_change else self._new
        queues = queues_after(current, change)
        queues_now = [queue.name for queue in current.shared()]
        self.before = queue_moves.allocate_topics({one: self._old[one] for one in current.client_ids}, queues_now)
        self.after = queue_moves.allocate_topics({one: self._new[one] for one in self._members}, queues)
        self.balance = queue_moves.balance(self.before, self.after, queues, self._members)

    def run(self, seed: str) -> Cost:
        """Make the change to a simulated group that had settled, and watch it settle again."""
        fleet = self._settled(seed)
        from_ts = fleet.now
        repeats_before = _repeats(fleet)
        seconds = self._make_change(fleet)
        fleet.run(seconds + WATCHED_S)
        return _cost(fleet, from_ts, _repeats(fleet) - repeats_before)

    def _settled(self, seed: str) -> Fleet:
        shared = self._current.shared()
        fleet = Fleet("G", dict.fromkeys(queue.broker_name for queue in shared), seed)
        for topic in dict.fromkeys(queue.topic for queue in shared):
            fleet.put_topic(topic, _numbers(queue.name for queue in shared if queue.topic == topic))
        for topic, rate in rates_by_topic(shared).items():
            fleet.producer.write(topic, round(rate))
        for client_id in self._current.client_ids:
            fleet.join(client_id, self._config(self._old[client_id]))
        fleet.run(SETTLING_S + fleet.random.random() * AT_ANY_TIME_S)
        return fleet

    def _config(self, strategy: Strategy) -> ClientConfig:
        topics = dict.fromkeys((queue.topic, "*") for queue in self._current.shared())
        return ClientConfig(tuple(topics), strategy, self._current.orderly)

    def _make_change(self, fleet: Fleet) -> float:
        """Make the change, and return how long it takes until it is complete."""
        change = self._change
        for topic, count in change.queues.items():
            names = brokers_after(change, self._current)
            fleet.put_topic(topic, {name: count for name in names if topic in fleet.brokers[name].topics})
        for client_id in change.join:
            fleet.join(client_id, self._config(self._new[client_id]))
        staying = set(self._members)
        for client in [client for client in fleet.clients if client.client_id not in staying]:
            (fleet.kill if change.lose_room is not None else fleet.leave)(client)
        for name in fleet.brokers.keys() - set(brokers_after(change, self._current)):
            fleet.stop_broker(name)
        return self._roll(fleet) if change.at_a_time else 0.0

    def _roll(self, fleet: Fleet) -> float:
        """Restart the clients that stay, some at a time, each under its id."""
        clients = [client for client in fleet.clients if client.client_id not in self._change.join]
        for index, client in enumerate(clients):
            delay_ms = index // self._change.at_a_time * STEP_S * 1_000
            fleet.clock.after(delay_ms, fleet.leave, client)
            config = self._config(self._new[client.client_id])
            fleet.clock.after(delay_ms + RESTART_S * 1_000, fleet.join, client.client_id, config)
        return float(roll_s(self._change, len(clients)))


def queues_after(current: CurrentGroup, change: Change) -> list[MessageQueue]:
    left = set(brokers_after(change, current))
    kept = [queue.name for queue in current.shared() if queue.broker_name in left]
    grown = [
        MessageQueue(topic, broker, queue_id)
        for topic, count in change.queues.items()
        for broker in sorted({queue.broker_name for queue in kept if queue.topic == topic})
        for queue_id in range(count)
    ]
    return [queue for queue in kept if queue.topic not in change.queues] + grown


def strategy_of(current: CurrentGroup) -> str | None:
    """The strategy that all members report; None if they report none, or several."""
    named = {strategy_of_class(member.strategy) for member in current.members if member.strategy}
    return named.pop() if len(named) == 1 else None


def _numbers(queues: Iterable[MessageQueue]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for queue in queues:
        counts[queue.broker_name] = max(counts.get(queue.broker_name, 0), queue.queue_id + 1)
    return counts


def _repeats(fleet: Fleet) -> int:
    return sum(one.repeats.overlap + one.repeats.old_offset for one in fleet.progresses())


def _cost(fleet: Fleet, from_ts: int, repeated: int) -> Cost:
    def lasting(kind: Kind) -> list[float]:
        windows = (one for one in fleet.truth.windows if one.kind is kind and one.lasted_until(fleet.now) > from_ts)
        return [(one.lasted_until(fleet.now) - max(one.from_ts, from_ts)) / 1_000 for one in windows]

    unowned, doubled = lasting(Kind.ORPHANED), lasting(Kind.DUPLICATED)
    return Cost(
        unowned_queue_s=sum(unowned),
        unowned_longest_s=max(unowned, default=0.0),
        doubled_queue_s=sum(doubled),
        doubled_longest_s=max(doubled, default=0.0),
        repeated=repeated,
    )


HEADS = ("strategy", "moved", "fewest", "most", "least", "idle", "no owner", "longest", "twice", "longest", "again")
MEANINGS = (
    "moved            queues that change owner; fewest: how many had to, given the shares in the end",
    "most, least      queues of one client; idle: clients without any",
    "no owner, twice  for how long queues have no owner, or two: summed over queues, and the longest of one",
    "again            messages likely to be delivered again; ± how far a single run is from that",
)
RATE_IS_UNKNOWN = "How many come again depends on how many are written, which is not known here: name it with --rate."


def as_text(forecasts: list[Forecast], title: str, present_strategy: str | None) -> Iterator[str]:
    yield title
    yield ""
    yield f"{HEADS[0]:<21}" + "".join(f"{head:>10}" for head in HEADS[1:])
    for one in forecasts:
        name = f"{one.strategy}{' *' if one.strategy == present_strategy else ''}"
        if one.balance is None or one.cost is None or one.error is None:
            yield f"{name:<21}  does not apply: {one.why_not}"
            continue
        cost = one.cost
        times = (cost.unowned_queue_s, cost.unowned_longest_s, cost.doubled_queue_s, cost.doubled_longest_s)
        again = f"{cost.repeated:.0f} ±{one.error.repeated:.0f}" if one.knows_rates else "-"
        cells = [*map(str, one.balance[:5]), *(f"{value:.1f} s" for value in times), again]
        left = f"  {one.balance.unowned} queues have no owner afterwards" if one.balance.unowned else ""
        yield f"{name:<21}" + "".join(f"{cell:>10}" for cell in cells) + left
    yield ""
    if present_strategy is not None:
        yield "* the group's own strategy; of each other one the group is taken to have had it before the change"
    yield from MEANINGS
    if not all(one.knows_rates for one in forecasts):
        yield RATE_IS_UNKNOWN
