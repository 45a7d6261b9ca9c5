"""Estimates how many requests a second the collector makes to each broker, name server and client."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from schemas.identity import is_retry_topic
from streaming.collector.probing.client_schedule import CLIENT_PAUSE_MS
from streaming.collector.probing.directory_probe import GROUPS_MS
from streaming.collector.probing.group_schedule import LOOK_MS
from streaming.collector.probing.policy import Policy
from streaming.collector.probing.route_probe import RETRY_ROUTE_MS

REQUESTS_A_QUEUE = 2  # 14 and 30
Kinds = defaultdict[str, float]


class Footprint(NamedTuple):
    """A group as far as it costs requests. ``asked_through``: for each client to be asked, the broker that asks it."""

    brokers: tuple[str, ...]
    asked_through: Mapping[str, str]
    has_offsets: bool
    topics: tuple[str, ...]
    beyond_read: Mapping[str, int] = {}  # how many queues are asked one by one on a broker, each time that offsets are
    polls: Mapping[str, int] = {}  # for how many topics a broker is asked for polls, each time that offsets are


class Load(NamedTuple):
    """Requests a second: by broker and kind, of the name servers, and by client."""

    brokers: dict[str, dict[str, float]]
    name_servers: float
    clients: dict[str, float]


def estimate(groups: Iterable[Footprint], empty_on: Mapping[str, int], policy: Policy) -> Load:
    """``empty_on``: how many groups without members each broker knows."""
    groups = list(groups)
    rates: defaultdict[str, Kinds] = defaultdict(lambda: defaultdict(float))
    for name, number in empty_on.items():
        rates[name]["groups"] += 1000 / GROUPS_MS
        rates[name]["lists"] += number * 1000 / LOOK_MS
    clients: Kinds = defaultdict(float)
    for group in groups:
        _add_lists(rates, group, policy)
        for client_id, name in group.asked_through.items() if policy.running_info_ms else ():
            rates[name]["running info"] += 1000 / policy.running_info_ms
            clients[client_id] += 1000 / policy.running_info_ms
    return Load(
        {name: dict(kinds) for name, kinds in sorted(rates.items())},
        _of_name_servers({topic for group in groups for topic in group.topics}, policy),
        {client_id: min(rate, 1000 / CLIENT_PAUSE_MS) for client_id, rate in clients.items()},
    )


def _add_lists(rates: Mapping[str, Kinds], group: Footprint, policy: Policy) -> None:
    for name in group.brokers:
        rates[name]["connections"] += 1000 / policy.interval_ms
        if group.has_offsets:
            rates[name]["offsets"] += (1 + REQUESTS_A_QUEUE * group.beyond_read.get(name, 0)) * 1000 / policy.offsets_ms
        if group.has_offsets and group.polls.get(name):
            rates[name]["polls"] += group.polls[name] * 1000 / policy.offsets_ms


def _of_name_servers(topics: Iterable[str], policy: Policy) -> float:
    routes = sum(1000 / (RETRY_ROUTE_MS if is_retry_topic(topic) else policy.route_ms) for topic in topics)
    return routes + 1000 / policy.interval_ms


def lines(cluster: str, groups: int, without_members: int, load: Load) -> Iterator[str]:
    yield (
        f"{cluster}: {len(load.brokers)} brokers, {groups} groups with members, {without_members} without, "
        f"{len(load.clients)} clients to be asked"
    )
    width = max(map(len, [*load.brokers, "name servers"]))
    for name, kinds in load.brokers.items():
        parts = ", ".join(f"{kind} {_rate(rate)}" for kind, rate in sorted(kinds.items()) if rate)
        yield f"  {name:<{width}}  {_rate(sum(kinds.values()))} requests a second: {parts}"
    yield f"  {'name servers':<{width}}  {_rate(load.name_servers)} requests a second, of each at most"
    if load.clients:
        busiest = max(load.clients, key=lambda client_id: load.clients[client_id])
        yield f"  {'each client':<{width}}  one running info every {1 / min(load.clients.values()):.0f} s"
        yield f"  {'busiest':<{width}}  {busiest}: one every {1 / load.clients[busiest]:.0f} s, for all its groups"


def _rate(rate: float) -> str:
    return f"{rate:.1f}" if rate >= 0.1 or not rate else f"{rate:.2f}"
