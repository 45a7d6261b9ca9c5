"""A cluster, round after round: which groups there are, then a round of each that has members."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import NamedTuple

from schemas.identity import REVIVE_GROUP
from schemas.records import MAX_AHEAD_OF_ARRIVAL_MS
from streaming.collector.probing.broker_directory import BrokerDirectory, Silent
from streaming.collector.probing.directory_probe import DirectoryProbe
from streaming.collector.probing.group_probe import GroupProbe, Shared
from streaming.collector.probing.group_schedule import GroupSchedule
from streaming.collector.probing.lag import Lags
from streaming.collector.probing.live_transport import LiveTransport
from streaming.collector.probing.memory import Memory
from streaming.collector.probing.offset_schedule import OffsetSchedule, waits
from streaming.collector.probing.policy import Policy
from streaming.collector.probing.proxies import Proxies
from streaming.collector.probing.request_load import Load, estimate
from streaming.collector.probing.transport import Emit, Record
from streaming.collector.translation.broker_view import listed
from streaming.collector.translation.cluster import ClusterTranslation
from streaming.collector.wire.answers import SUCCESS
from streaming.collector.wire.client import RemotingClient
from streaming.collector.wire.connection import Unreachable
from streaming.collector.wire.metrics_page import MetricsPages

SPREAD = 0.5  # of the interval, over which the groups of a round are begun
FEW_GROUPS = 20  # need not be spread
REVIVALS_MS = 20_000  # how often brokers are asked how far they are in their revive logs
log = logging.getLogger(__name__)


def _revivals(shared: Shared) -> GroupProbe:
    """A probe of the group by which brokers read their revive logs: in each of its rounds its offsets are asked.

    It is a group like others for the job, without members ever, at brokers or proxies. They do not name it in 201.
    What waits in the logs is no lag of an application. Nor is a broker silent that refuses this group only.
    """
    own = copy(shared)
    own.lags = Lags()
    own.note = lambda broker, failure: shared.note(f"{broker} for its revive log", failure)
    offsets_ms = REVIVALS_MS // 2
    own.policy = replace(shared.policy, offsets_ms=offsets_ms, idle_offsets_ms=offsets_ms, backlogs=1, spreads=False)
    own.offsets, own.proxies = OffsetSchedule(own.policy), Proxies()
    return GroupProbe(REVIVE_GROUP, own)


class RoundReport(NamedTuple):
    """The result of a round. ``silent`` are brokers that did not answer, with the reason."""

    started_ts: int
    took_s: float
    groups: int
    without_members: int
    requests: int
    silent: dict[str, str]


class ClusterProbe:
    """``round`` never raises for what RocketMQ does or does not do.

    ``emit`` gets events in the order of their groups' numbers, ``record`` every answer; neither may block.
    ``proxies``: addresses of the configuration. ``pages``: the brokers' own metrics; None: they are not read.
    """

    def __init__(
        self,
        cluster: str,
        policy: Policy,
        client: RemotingClient,
        namesrv: Iterable[str],
        source: str,
        emit: Emit,
        record: Record,
        proxies: Iterable[str] = (),
        pages: MetricsPages | None = None,
    ) -> None:
        self.clock = client.clock
        self.brokers, self.groups, self.silent = BrokerDirectory(), GroupSchedule(policy), Silent(cluster)
        self.translation, self.proxies = ClusterTranslation(cluster, source, policy.confirms), Proxies(proxies)
        self._cluster, self._policy, self._client, addresses = cluster, policy, client, self.brokers.addresses
        self._transport = transport = LiveTransport(cluster, client, namesrv, addresses, policy, self.proxies.addresses)
        self.directory = DirectoryProbe(
            transport, self.brokers, self.groups, self.silent, self.translation, record, self.proxies
        )
        self.shared = Shared(
            self.translation, policy, transport, addresses, emit, record, self.silent.note, self.proxies,
            self.directory.is_closed,
        )  # fmt: skip
        self._pages = pages
        self._reading: asyncio.Task[None] | None = None
        self._revivals = _revivals(self.shared)
        self._revivals_due_ms, self._popped_ms = 0, -policy.report_empty_ms
        self._probes: dict[str, GroupProbe] = {}
        self._learning: asyncio.Task[None] | None = None

    async def round(self) -> RoundReport:
        """Ask everything that is due now, and emit it."""
        self._follow_the_clock()
        started, started_ts, asked_before = time.perf_counter(), self.clock.now_ms(), self._client.asked
        self._client.begin_round()
        await self._learn_directory_in_background()
        if self._pages is not None and (self._reading is None or self._reading.done()):
            self._reading = self._transport.start(self._read_pages(self._pages))
        await asyncio.gather(*map(self._look, self.groups.to_look_at(self.clock.steady_ms())))
        await asyncio.gather(*map(self._ask_backlog, self.groups.to_ask_for_backlog(self.clock.steady_ms())))
        names = self.groups.to_probe(self.clock.steady_ms())
        topics = {topic for probe in (*self._probes.values(), self._revivals) for topic in probe.topics}
        await asyncio.gather(
            self.shared.routes.learn_due(topics),
            self._probe(names, started_ts, started),
            *([self._probe_revivals(started_ts)] if self._is_revival_due(self.clock.steady_ms()) else ()),
        )
        self._client.keep_only(
            {*self.brokers.addresses.values(), *self.proxies.addresses.values(), *self._transport.name_servers}
        )
        return RoundReport(
            started_ts=started_ts,
            took_s=time.perf_counter() - started,
            groups=len(names),
            without_members=self.groups.counts()[1],
            requests=self._client.asked - asked_before,
            silent=dict(self.silent.why),
        )

    def _follow_the_clock(self) -> None:
        """Between rounds, so that one round has one clock."""
        moved_ms = self.clock.follow()
        if moved_ms:
            where = "forward" if moved_ms > 0 else "back"
            log.warning("%s: the clock was set %s by %.1f s", self._cluster, where, abs(moved_ms) / 1000)
        if moved_ms < 0:
            self.translation.set_back(-moved_ms)
        if moved_ms < -MAX_AHEAD_OF_ARRIVAL_MS:  # the job has refused what was sent with times so far ahead
            self.translation.send_all()

    async def _learn_directory_in_background(self) -> None:
        """Brokers and groups. Once they are known, the round does not wait for whether they still are the same."""
        if self._learning is None or self._learning.done():
            self._learning = self._transport.start(self.directory.learn())
        if not self.brokers.addresses or not any(self.groups.counts()):
            await asyncio.wait([self._learning])

    async def _read_pages(self, pages: MetricsPages) -> None:
        due = self.shared.metrics.due(self.brokers.addresses, self.clock.steady_ms())
        await asyncio.gather(*(self._read_page(pages, broker) for broker in due))

    async def _read_page(self, pages: MetricsPages, broker: str) -> None:
        asked_ts, asked_ms, started = self.clock.now_ms(), self.clock.steady_ms(), time.perf_counter()
        in_flight = failure = None
        try:
            in_flight = await pages.in_flight(broker, self.brokers.addresses[broker])
        except Unreachable as error:
            failure = str(error)
        took_ms = round((time.perf_counter() - started) * 1000, 3)
        self.shared.metrics.answered(broker, asked_ts, asked_ms, took_ms, in_flight)
        self.silent.note(f"{broker} for its metrics", failure)

    # --- groups without members

    async def _look(self, name: str) -> None:
        """Asks every broker that knows a group without members, and one proxy, whether it has some now."""
        brokers = sorted(self.groups.brokers_of(name))
        lists = await asyncio.gather(*(self._transport.consumer_list(broker, name) for broker in brokers))
        has_lists = bool(lists) and all(listed(one) is not None for one in lists)
        has_members = any(one.ids for one in lists) or await self._has_members_at_proxy(name)
        if not has_members and self.groups.is_look_reported(self.clock.steady_ms()):
            await GroupProbe(name, self.shared).look(self.clock.now_ms(), brokers)
        self.groups.looked_at(name, has_members, self.clock.steady_ms(), has_lists)

    async def _has_members_at_proxy(self, name: str) -> bool:
        """By one proxy, or another one if it does not answer."""
        asked: set[str] = set()
        while due := [one for one in self.proxies.one_due(self.clock.steady_ms()) if one not in asked]:
            (proxy,) = due
            asked.add(proxy)
            answer, _ = await self.shared.ask_proxy(proxy, name)
            if answer.code is not None:
                return bool(listed(answer))
        return False

    async def _ask_backlog(self, name: str) -> None:
        """Asks every broker that knows a group without members whether messages wait for it."""
        brokers = sorted(self.groups.brokers_of(name))
        asked = await asyncio.gather(*(self._transport.consume_stats(broker, name) for broker in brokers))
        messages_wait = any(waits(row) for answer, _ in asked for row in answer.table or ())
        has_offsets = all(answer.code == SUCCESS for answer, _ in asked)
        self.groups.asked_for_backlog(name, messages_wait, has_offsets, self.clock.steady_ms())

    # --- groups that get rounds

    async def _probe(self, names: list[str], started_ts: int, started: float) -> None:
        """A round of each group; many of them begin one after the other rather than all at once."""
        spread_s = SPREAD * self._policy.interval_ms / 1000 if self._policy.spreads else 0
        step_s = spread_s / len(names) if len(names) > FEW_GROUPS else 0
        rounds = []
        for number, name in enumerate(names):
            if (wait_s := started + number * step_s - time.perf_counter()) > 0.01:
                await asyncio.sleep(wait_s)
            rounds.append(asyncio.ensure_future(self._probe_group(name, started_ts)))
        await asyncio.gather(*rounds)

    async def _probe_group(self, name: str, started_ts: int) -> None:
        probe = self._probes.get(name)
        if probe is None:
            probe = self._probes[name] = GroupProbe(name, self.shared)
            self.directory.record_settings(name)
        try:
            await probe.round(started_ts, self.groups.brokers_of(name))
        except Exception:
            log.exception("%s: the round of group %s failed", self._cluster, name)
        self.groups.probed(name, probe.has_members, self.clock.steady_ms())
        if not self.groups.is_watched(name):
            self._forget(name)  # long empty; should it come back, it is another to us

    def _is_revival_due(self, now: int) -> bool:
        """Brokers revive messages in clusters where groups consume by POP, or did so lately."""
        if now < self._revivals_due_ms or not self._policy.covers_revivals:
            return False
        if self.proxies.addresses or self.directory.has_popping_groups or self._has_popping_clients():
            self._popped_ms = now
        return now - self._popped_ms < self._policy.report_empty_ms

    def _has_popping_clients(self) -> bool:
        return any(probe.pops for probe in self._probes.values())

    async def _probe_revivals(self, started_ts: int) -> None:
        self._revivals_due_ms = self.clock.steady_ms() + REVIVALS_MS - self._policy.interval_ms // 2
        try:
            await self._revivals.round(started_ts, frozenset(self.brokers.addresses))
        except Exception:
            log.exception("%s: the round of group %s failed", self._cluster, REVIVE_GROUP)

    def _forget(self, name: str) -> None:
        self._probes.pop(name, None)
        self._transport.forget_group(name)
        self.directory.forget_group(name)
        self.shared.forget_group(name)

    # --- from one start to the next

    def recall(self, memory: Memory | None, slow_after_ms: int = 0) -> None:
        """Take over what was known before this start. A group that had members then may have lost them since.

        Requests whose answers may take long are not sent for ``slow_after_ms``: those of the collector before may still
        be on their way. If there may have been one, an old memory lacks groups that it reported: it has remembered them
        elsewhere, as collectors of another ``failover_topic`` do.
        """
        now = self.clock.steady_ms()
        is_old = memory is not None and slow_after_ms > 0 and now - memory.ts > self._policy.report_empty_ms
        self.groups.blind_ts = now if memory is None or is_old else memory.blind_ts
        self.shared.clients.begin_at(now + slow_after_ms)
        self.shared.offsets.begin_at(now + slow_after_ms)
        if memory is None:
            return
        self.shared.clients.recall(memory.slow, now)
        for name, remembered in memory.groups.items():
            if self.groups.recall(name, remembered.empty_since or now, now):
                self._probes[name] = GroupProbe(name, self.shared)
                self._probes[name].recall(remembered)

    def memory(self) -> Memory:
        groups = {name: probe.remembered(self.groups.members_ts(name)) for name, probe in self._probes.items()}
        now = self.clock.steady_ms()
        return Memory(now, groups, self.groups.blind_ts, self.shared.clients.slow(now))

    async def close(self) -> None:
        await self._transport.close()

    # --- what is exposed

    @property
    def silent_since_s(self) -> float | None:
        """Since when every broker has been silent, by the monotonic clock, though each was asked; None: one is not."""
        return self._transport.silent_since_s

    def not_asked(self) -> Counter[str]:
        """How many clients were due and not asked in the last round of their group, by why."""
        return sum((probe.not_asked for probe in self._probes.values()), Counter[str]())

    def load(self, policy: Policy) -> tuple[int, int, Load]:
        """Groups with members and without, as of the last round, and the requests a second that they cost."""
        groups = [probe.footprint() for probe in self._probes.values() if probe.has_members]
        return len(groups), self.groups.counts()[1], estimate(groups, self.directory.empty_groups, policy)
