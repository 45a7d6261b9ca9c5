"""A cluster, round after round: which groups there are, then a round of each that has members."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from streaming.collector.probing.cluster_view import ClusterView
from streaming.collector.probing.group_probe import GroupProbe
from streaming.collector.probing.memory import Memory
from streaming.collector.probing.not_asked import NotAsked
from streaming.collector.probing.offset_schedule import waits
from streaming.collector.probing.policy import GROUPS_MS, Policy
from streaming.collector.probing.request_load import Load, estimate
from streaming.collector.translation.broker_view import listed
from streaming.collector.wire import bodies, requests
from streaming.collector.wire.answers import SUCCESS, SubscriptionGroupAnswer
from streaming.collector.wire.bodies import Asked, GroupSettings
from streaming.collector.wire.client import Lane, Reply
from streaming.collector.wire.requests import Request

SPREAD = 0.5  # of the interval, over which the groups of a round are begun
FEW_GROUPS = 20  # need not be spread
log = logging.getLogger(__name__)
T = TypeVar("T")


class RoundReport(NamedTuple):
    """What a round came to. ``silent`` are brokers that did not answer, with the reason."""

    started_ts: int
    took_s: float
    groups: int
    without_members: int
    requests: int
    silent: dict[str, str]


class CombinedSettings(NamedTuple):
    """The settings of a group on all its brokers, taken together."""

    consume_enable: bool | None
    orderly: bool | None
    pop_topics: tuple[str, ...]


class ClusterProbe:
    """``round`` never raises for what RocketMQ does or does not do."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._groups: dict[str, GroupProbe] = {}
        self._settings: dict[str, dict[str, GroupSettings]] = {}
        self._popping: dict[str, frozenset[tuple[str, str]]] = {}
        self._recorded_settings: dict[str, CombinedSettings] = {}
        self._learning: asyncio.Task[None] | None = None
        self._learned_ts: dict[str, int] = {}

    async def round(self) -> RoundReport:
        """Ask everything that is due now, and tell it."""
        self._follow_the_clock()
        view, started = self._view, time.perf_counter()
        started_ts = view.clock.now_ms()
        asked_before = view.client.asked
        view.client.begin_round()
        await self._learn_cluster_in_background()
        await asyncio.gather(*map(self._look, view.groups.to_look_at(view.clock.steady_ms())))
        await asyncio.gather(*map(self._ask_backlog, view.groups.to_ask_for_backlog(view.clock.steady_ms())))
        names = view.groups.to_probe(view.clock.steady_ms())
        topics = {topic for group in self._groups.values() for topic in group.topics}
        await asyncio.gather(self._view.learn_due_routes(topics), self._probe(names, started_ts, started))
        view.client.keep_only({*view.brokers.addresses.values(), *view.name_servers.addresses})
        return RoundReport(
            started_ts=started_ts,
            took_s=time.perf_counter() - started,
            groups=len(names),
            without_members=view.groups.counts()[1],
            requests=view.client.asked - asked_before,
            silent=dict(view.silent),
        )

    @property
    def brokers_without_groups(self) -> tuple[str, ...]:
        """Brokers that have never told which groups they know."""
        return tuple(sorted(self._view.brokers.addresses.keys() - self._learned_ts.keys()))

    @property
    def has_broker(self) -> bool:
        """Whether any broker is known that gives what it is asked for."""
        silent = self._view.silent.keys()
        return any(silent.isdisjoint((name, _for_its_groups(name))) for name in self._view.brokers.addresses)

    def recall(self, memory: Memory | None) -> None:
        """Take over what was known before this start. A group that had members then may have lost them since."""
        now = self._view.clock.steady_ms()
        self._view.groups.start_without_memory(now if memory is None else memory.blind_ts)
        for name, remembered in () if memory is None else memory.groups.items():
            if self._view.groups.recall(name, remembered.empty_since or now, now):
                self._groups[name] = GroupProbe(self._view, name)
                self._groups[name].recall(remembered)

    def memory(self) -> Memory:
        """What the next start is to know."""
        members_ts = self._view.groups.members_ts
        groups = {name: group.remembered(members_ts(name)) for name, group in self._groups.items()}
        return Memory(self._view.clock.steady_ms(), groups, self._view.groups.blind_ts)

    def _follow_the_clock(self) -> None:
        """Between rounds, so that all of one round is told by one clock."""
        moved_ms = self._view.clock.follow()
        if moved_ms:
            where = "forward" if moved_ms > 0 else "back"
            log.warning("%s: the clock was set %s by %.1f s", self._view.cluster, where, abs(moved_ms) / 1000)
        if moved_ms < 0:
            self._view.translation.set_back(-moved_ms)

    def not_asked(self) -> Counter[NotAsked]:
        """How many clients were due and not asked in the last round of their group, by why."""
        found = Counter[NotAsked]()
        for group in self._groups.values():
            found.update(group.not_asked)
        return found

    def load(self, policy: Policy) -> tuple[int, int, Load]:
        """Groups with members and without, as of the last round, and the requests a second that they cost."""
        groups = [self._groups[name].footprint() for name in self._groups if self._groups[name].has_members]
        names = [name for name in self._view.brokers.addresses if name in self._settings]
        empty_on = {name: self._view.groups.number_empty_on(name) for name in names}
        return len(groups), self._view.groups.counts()[1], estimate(groups, empty_on, policy)

    async def close(self) -> None:
        await self._view.close()
        await self._view.client.close()

    async def _learn_cluster_in_background(self) -> None:
        """Brokers and groups. Once they are known, the round does not wait for whether they still are the same."""
        if self._learning is None or self._learning.done():
            self._learning = self._view.in_background(self._learn_cluster())
        if not self._view.brokers.addresses or not any(self._view.groups.counts()):
            await asyncio.wait([self._learning])

    async def _learn_cluster(self) -> None:
        addresses, failure = await self._ask_who_is_where()
        self._view.note("the name servers", failure)
        now = self._view.clock.steady_ms()
        for news in self._view.brokers.take(addresses or {}, now) if addresses is not None else ():
            log.info("%s: %s", self._view.cluster, news)
        for name in self._settings.keys() - self._view.brokers.addresses.keys():
            self._forget_broker(name)
        oldest = self._view.clock.steady_ms() - GROUPS_MS
        due = [name for name in self._view.brokers.addresses if self._learned_ts.get(name, 0) <= oldest]
        await asyncio.gather(*map(self._learn_groups, due))
        if due:
            self._record_settings()

    async def _ask_who_is_where(self) -> tuple[dict[str, str] | None, str | None]:
        """The brokers that any name server knows: one may lack a broker that cannot reach it. If none tells, why."""
        servers = self._view.name_servers
        address, reply = await servers.ask(requests.cluster_info())
        addresses, failure = bodies.broker_addresses(reply)
        others = [other for other in servers.addresses if other != address] if address else []
        for besides in (await servers.ask_besides(requests.cluster_info(), others)).values():
            addresses = {**(bodies.broker_addresses(besides)[0] or {}), **(addresses or {})} or addresses
        if addresses is not None:
            return addresses, None
        return None, f"{address}: {failure}" if address else failure

    async def _learn_groups(self, broker: str) -> None:
        """A broker that does not answer is asked again in the next round."""
        reply = await self._view.ask(broker, requests.subscription_groups(), Lane.TABLES)
        settings, failure = bodies.group_settings(reply)
        if settings is None:
            self._view.note(_for_its_groups(broker), failure)
            return
        self._learned_ts[broker] = self._view.clock.steady_ms()
        self._view.note(_for_its_groups(broker), None)
        modes = await self._view.ask(broker, requests.message_request_modes(), Lane.TABLES)
        self._popping[broker] = bodies.popping_groups(modes) or frozenset()
        self._settings[broker] = settings
        self._view.groups.know(broker, settings)

    def _record_settings(self) -> None:
        for name in self._view.groups.watched():
            self._record_settings_of(name)

    def _record_settings_of(self, name: str) -> None:
        """A group consumes if any broker lets it, and is orderly, or pops a topic, if any broker says so."""
        found = {broker: groups[name] for broker, groups in sorted(self._settings.items()) if name in groups}
        enabled = [one.consume_enable for one in found.values() if one.consume_enable is not None]
        orderly = [one.consume_message_orderly for one in found.values() if one.consume_message_orderly is not None]
        pops = tuple(sorted({topic for pairs in self._popping.values() for topic, group in pairs if group == name}))
        settings = CombinedSettings(any(enabled) if enabled else None, any(orderly) if orderly else None, pops)
        if found and self._recorded_settings.get(name) != settings:
            self._recorded_settings[name] = settings
            answer = SubscriptionGroupAnswer(
                ts=self._view.clock.now_ms(), cluster=self._view.cluster, broker=next(iter(found)), group=name,
                code=SUCCESS, consume_enable=settings.consume_enable, orderly=settings.orderly, pop_topics=pops,
            )  # fmt: skip
            self._view.record(answer)
            self._view.translation.group(name).take(answer)

    async def _look(self, name: str) -> None:
        """Whether a group without members has some now, by every broker that knows it."""
        lists = await self._ask_all(name, requests.consumer_list(name), Lane.LISTS, bodies.consumer_list)
        has_lists = bool(lists) and all(listed(one) is not None for one in lists)
        clock = self._view.clock
        has_members = any(one.ids for one in lists)
        if not has_members and self._view.groups.is_look_reported(clock.steady_ms()):
            await GroupProbe(self._view, name).look(clock.now_ms())
        self._view.groups.looked_at(name, has_members, clock.steady_ms(), has_lists)

    async def _ask_backlog(self, name: str) -> None:
        """Whether messages wait for a group without members, by every broker that knows it."""
        answers = await self._ask_all(name, requests.consume_stats(name), Lane.TABLES, bodies.consume_stats)
        messages_wait = any(waits(row) for answer in answers for row in answer.table or ())
        has_offsets = all(answer.code == SUCCESS for answer in answers)
        self._view.groups.asked_for_backlog(name, messages_wait, has_offsets, self._view.clock.steady_ms())

    async def _ask_all(self, name: str, request: Request, lane: Lane, read: Callable[[Reply, Asked], T]) -> list[T]:
        """Every broker that knows the group."""
        brokers = sorted(self._view.groups.brokers_of(name))
        replies = await asyncio.gather(*(self._view.ask(broker, request, lane) for broker in brokers))
        asked = [Asked(self._view.cluster, broker, name) for broker in brokers]
        return list(map(read, replies, asked))

    async def _probe(self, names: list[str], started_ts: int, started: float) -> None:
        """A round of each group; many of them begin one after the other rather than all at once."""
        spread_s = SPREAD * self._view.policy.interval_ms / 1000 if self._view.policy.spreads else 0
        step_s = spread_s / len(names) if len(names) > FEW_GROUPS else 0
        rounds = []
        for number, name in enumerate(names):
            if (wait_s := started + number * step_s - time.perf_counter()) > 0.01:
                await asyncio.sleep(wait_s)
            rounds.append(asyncio.ensure_future(self._probe_group(name, started_ts)))
        await asyncio.gather(*rounds)

    async def _probe_group(self, name: str, started_ts: int) -> None:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = GroupProbe(self._view, name)
            self._record_settings_of(name)
        try:
            await group.round(started_ts)
        except Exception:
            log.exception("%s: the round of group %s failed", self._view.cluster, name)
        self._view.groups.probed(name, group.has_members, self._view.clock.steady_ms())
        if name not in self._view.groups.watched():
            self._forget(name)

    def _forget_broker(self, name: str) -> None:
        """One that has been gone for long."""
        self._view.groups.know(name, ())
        for known in (self._settings, self._popping, self._learned_ts):
            known.pop(name, None)

    def _forget(self, name: str) -> None:
        """A group that has long been empty; should it come back, it is another to us."""
        del self._groups[name]
        self._recorded_settings.pop(name, None)
        self._view.clients.forget_group(name)
        self._view.offsets.forget_group(name)
        self._view.lags.forget_group(name)


def _for_its_groups(broker: str) -> str:
    return f"{broker} for its groups"
