"""Asks clusters in rounds of the collector, in this process, until enough is known, or until a signal."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, fields

from msgspec.structs import replace

from streaming.collector.from_config import name_servers
from streaming.collector.probing.cluster_probe import RoundReport
from streaming.collector.probing.policy import Policy, policy_of
from streaming.collector.service import Watched, watched
from streaming.collector.signals import Signals, run_once
from streaming.config.sections import Config
from streaming.core.settings import Settings
from streaming.errors import CollectorError
from streaming.inspect.group_evaluation import absent, snapshot_of
from streaming.inspect.observed_groups import ObservedCluster
from streaming.inspect.snapshot import EmptyGroups, InspectedCluster, InspectedGroup

USUAL_S = 6.0  # clients commit offsets every 5 s: over less time, queues that are consumed seem to stand still
EXTRA_INTERVAL_S = 0.7  # between extra rounds, which only wait for clients without an answer
LATEST_S = 8.0  # then the result is shown, even if some answers are missing
INTERVAL_MS = 2_000
OFFSETS_MS = 1_500  # in each round: the first and the last answer of a look are more than two commits apart
TIMEOUT_MS = 2_000  # a client without an answer for so long is silent: a look has no time to wait
IDLE_OFFSETS_MS = 10_000  # a page must not show older lags
BACKLOGS = 100  # a broker reads its disk for each of a group's queues
FOREVER_MS = 1 << 62

Show = Callable[[list[InspectedCluster]], None]


@dataclass(frozen=True)
class InspectOptions:
    """The options. ``groups`` are shell patterns; none: all groups that the configuration names."""

    groups: tuple[str, ...] = ()
    seconds: float = USUAL_S

    @property
    def latest_s(self) -> float:
        return self.seconds + LATEST_S - USUAL_S


class ClusterInspection:
    def __init__(self, config: Config, cluster: str, options: InspectOptions) -> None:
        self.observed = ObservedCluster(cluster, expecting_members(config.settings(), cluster, options.groups))
        policy = look_policy(policy_of(config, cluster), options.groups)
        self._watched: Watched = watched(config, cluster, policy, self.observed.take, lambda _: None)
        self._names = set(named(options.groups))
        self._began_s = time.monotonic()
        self._report: RoundReport | None = None

    async def round(self) -> None:
        """Run a round. Raises CollectorError if no name server has ever answered."""
        self._report = await self._watched.probe.round()
        probe = self._watched.probe
        if not probe.brokers.addresses and (why := probe.silent.why.get("the name servers")):
            raise CollectorError(f"no answer of the name servers of {self.observed.cluster}: {why}")

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began_s

    @property
    def is_waiting(self) -> bool:
        """True if another round may bring a client's report, or what waits for groups without members."""
        awaits_reports = any(group.awaits_reports for group in self.observed.groups.values())
        return awaits_reports or self._watched.probe.groups.empty().not_asked > 0

    def snapshot(self) -> InspectedCluster:
        probe = self._watched.probe
        no_round = {} if self._report is not None else {"the cluster": "no round has ended"}
        return InspectedCluster(
            cluster=self.observed.cluster,
            ts=probe.clock.now_ms(),
            looked_s=round(self.elapsed_s, 1),
            brokers=tuple(sorted(probe.brokers.addresses)),
            untold=probe.directory.brokers_without_groups,
            empty=EmptyGroups(**probe.groups.empty()._asdict()),
            silent=no_round | probe.silent.why,
            groups=(*(snapshot_of(group) for _, group in sorted(self.observed.groups.items())), *self._absent()),
        )

    def _absent(self) -> Iterator[InspectedGroup]:
        """Groups that were asked for by name, and that no broker has named."""
        probe = self._watched.probe
        untold = probe.directory.brokers_without_groups
        for name in self._names - self.observed.groups.keys():
            if not self._watched.policy.covers(name):
                why = "evenkeel leaves it out: a group of RocketMQ's own, or in [collector] exclude"
            elif probe.groups.knows(name):
                why = "no round of it has ended"
            elif untold or not probe.brokers.addresses:
                why = f"no broker that answered knows it; no answer from {', '.join(untold) or 'the name servers'}"
            else:
                why = f"no broker knows it: {', '.join(sorted(probe.brokers.addresses))}"
            is_certain = self._watched.policy.covers(name) and not untold and not probe.groups.knows(name)
            yield absent(
                self.observed.cluster, name, probe.clock.now_ms(), why, is_certain and bool(probe.brokers.addresses)
            )

    async def close(self) -> None:
        await self._watched.probe.close()


@dataclass(frozen=True)
class InspectPolicy(Policy):
    """The policy. No request is put off to spread the load: the look would be over. A client rests between requests.

    Brokers are not asked for their revive logs: REVIVE_STUCK takes longer than a look, and is of none of its groups.
    """

    @property
    def covers_revivals(self) -> bool:
        return False

    def phase(self, name: str, period_ms: int) -> int:
        return 0


def look_policy(policy: Policy, include: tuple[str, ...]) -> InspectPolicy:
    """The policy for a look. ``include`` empty: the groups that the configuration names.

    Clients are asked from the second round on: their reports count only if they are younger than the first lists.
    """
    given = {field.name: getattr(policy, field.name) for field in fields(Policy)}
    return InspectPolicy(
        **given
        | {
            "interval_ms": INTERVAL_MS,
            "offsets_ms": OFFSETS_MS,
            "idle_offsets_ms": IDLE_OFFSETS_MS,
            "report_empty_ms": FOREVER_MS,
            "backlogs": BACKLOGS,
            "rests_when_empty": not include,
            "timeout_ms": min(policy.timeout_ms, TIMEOUT_MS),
            "tables_timeout_ms": TIMEOUT_MS,
            "first_ask_ms": 1,
            "confirms": False,
            "include": include or policy.include,
            "is_always_on": lambda group: group in include or policy.is_always_on(group),
        }
    )


def expecting_members(settings: Settings, cluster: str, groups: Iterable[str]) -> Settings:
    """Settings in which a group that is asked for by its name is expected to have members."""
    rules = [
        replace(settings.rule_for(cluster, group), cluster="*", group=group, always_on=True) for group in named(groups)
    ]
    return replace(settings, groups=(*rules, *settings.groups))


def named(groups: Iterable[str]) -> list[str]:
    """The names among ``groups``, without the patterns."""
    return [group for group in groups if not set(group) & set("*?[")]


def inspect_once(config: Config, options: InspectOptions) -> list[InspectedCluster]:
    """One answer. Raises CollectorError if a cluster cannot be asked at all."""

    async def look() -> list[InspectedCluster]:
        async with _inspections(config, options) as inspections:
            await asyncio.gather(*(_inspect_long_enough(one, options) for one in inspections))
            return [one.snapshot() for one in inspections]

    return run_once(look())


def inspect_until_signal(config: Config, options: InspectOptions, show: Show) -> list[InspectedCluster]:
    """Show snapshots after each round, until SIGINT or SIGTERM; return the last one."""

    async def watch() -> list[InspectedCluster]:
        stop = asyncio.Event()
        signals.notify(stop.set)
        stopping = asyncio.create_task(stop.wait())
        async with _inspections(config, options) as inspections:
            while not stop.is_set():
                began_s = time.monotonic()
                await _rounds(inspections, stopping)
                if not stop.is_set():
                    show([one.snapshot() for one in inspections])
                left_s = INTERVAL_MS / 1000 - (time.monotonic() - began_s)
                await asyncio.wait([stopping], timeout=max(0, left_s))
            return [one.snapshot() for one in inspections]

    with Signals() as signals:
        return asyncio.run(watch())


@contextlib.asynccontextmanager
async def _inspections(config: Config, options: InspectOptions) -> AsyncIterator[list[ClusterInspection]]:
    inspections = [ClusterInspection(config, cluster, options) for cluster in name_servers(config)]
    try:
        yield inspections
    finally:
        await asyncio.gather(*(one.close() for one in inspections))


async def _inspect_long_enough(inspection: ClusterInspection, options: InspectOptions) -> None:
    """Run rounds until the time is over and every client has answered, or until ``latest_s``."""
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(_run_rounds(inspection, options), options.latest_s)


async def _run_rounds(inspection: ClusterInspection, options: InspectOptions) -> None:
    while True:
        began_s = inspection.elapsed_s
        await inspection.round()
        is_enough = began_s >= options.seconds
        if is_enough and not inspection.is_waiting:
            return
        interval_s = EXTRA_INTERVAL_S if is_enough else INTERVAL_MS / 1000
        await asyncio.sleep(max(0, interval_s - (inspection.elapsed_s - began_s)))


async def _rounds(inspections: list[ClusterInspection], stopping: "asyncio.Task[bool]") -> None:
    """Run a round of each cluster, unless it is to stop. No request is left running, even after an error."""

    async def rounds() -> None:
        await asyncio.gather(*(inspection.round() for inspection in inspections))

    rounding = asyncio.create_task(rounds())
    try:
        await asyncio.wait([rounding, stopping], return_when=asyncio.FIRST_COMPLETED)
    finally:
        rounding.cancel()
        await asyncio.wait([rounding])
    if not rounding.cancelled():
        rounding.result()
