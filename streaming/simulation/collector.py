"""A collector on the virtual clock: the live collector's probes and translation with a simulated transport."""

from collections.abc import Callable
from random import Random

from schemas.events import AnyEvent
from streaming.collector.probing.directory_probe import GROUPS_MS, LackingGroups
from streaming.collector.probing.group_probe import GroupProbe, Shared
from streaming.collector.probing.policy import DEFAULT_POLICY, Policy
from streaming.collector.probing.proxies import Proxies
from streaming.collector.translation.cluster import ClusterTranslation
from streaming.collector.wire.answers import SUCCESS, SubscriptionGroupAnswer
from streaming.simulation.fleet import Fleet
from streaming.simulation.transport import ASKS_MS, LIST_JITTER_MS, SimulatedTransport


class Collector:
    """A simulated collector. ``emit`` gets every event in time order. ``loses_reports``: the share that is lost."""

    def __init__(
        self,
        fleet: Fleet,
        cluster: str,
        emit: Callable[[AnyEvent], None],
        policy: Policy = DEFAULT_POLICY,
        source: str = "simulation",
        loses_reports: float = 0.0,
        list_jitter_ms: int = LIST_JITTER_MS,
    ) -> None:
        self.policy = policy
        self.is_killed = False
        self.paused_rounds: list[int] = []  # times of rounds that asked no client, because queues were new to the group
        self._fleet, self._give = fleet, emit
        self._random = Random(f"{fleet.seed}/collector{source.removeprefix('simulation')}")
        self._transport = SimulatedTransport(fleet, source, self._random, loses_reports, list_jitter_ms)
        self.lost_reports, self.timeouts = self._transport.lost_reports, self._transport.timeouts
        self._translation = ClusterTranslation(cluster, source)
        self._group = self._translation.group(fleet.group)
        addresses = {name: name for name in fleet.brokers}
        self._proxies, self._lacking = Proxies(), LackingGroups()
        self._knowing: dict[str, bool] = {}  # brokers, and whether the group was in the list that each gave last
        self._look_ts = 0
        self._shared = Shared(
            self._translation, policy, self._transport, addresses, self._emit,
            proxies=self._proxies, is_closed=self._is_closed,
        )  # fmt: skip
        self._probe = GroupProbe(fleet.group, self._shared)

    def start(self) -> None:
        self._fleet.clock.after(self._random.randrange(self.policy.interval_ms), self._begin)

    def kill(self) -> None:
        """``kill -9``. The collector emits nothing more, also not for answers that come later."""
        self.is_killed = True

    def set_clock_back(self, by_ms: int) -> None:
        """Set the collector's clock back; the collector notices between two rounds."""
        self._transport.clock.set_back(by_ms)

    def _emit(self, events: list[AnyEvent]) -> None:
        for event in events if not self.is_killed else ():
            self._give(event)

    def _begin(self) -> None:
        clock = self._fleet.clock
        clock.after(self.policy.interval_ms, self._begin)
        if self.is_killed or self._group.times.is_open:
            return
        if moved_ms := self._transport.clock.follow():
            self._translation.set_back(moved_ms)
        clock.begin(self._round())

    async def _round(self) -> None:
        """A round like ``ClusterProbe.round``, for a cluster with one group that all brokers know."""
        began_ts = self._fleet.now
        self._transport.begin_round()
        self._learn_settings()
        self._look()
        known_by = [broker.name for broker in self._fleet.brokers.values() if broker.knows_group]
        rounding = self._probe.round(self._transport.clock.now_ms(), known_by)
        await self._transport.all([self._shared.routes.learn_due(set(self._probe.topics)), rounding])
        if self._probe.is_paused:
            self.paused_rounds.append(began_ts + ASKS_MS)

    def _learn_settings(self) -> None:
        """Read the group's settings. It may consume if any broker lets it (``DirectoryProbe``)."""
        telling = [broker for broker in self._fleet.brokers.values() if broker.is_up and broker.answers_lists]
        if telling:
            answer = SubscriptionGroupAnswer(
                ts=self._transport.clock.now_ms(), broker=telling[0].name, code=SUCCESS,
                consume_enable=any(broker.consume_enable for broker in telling),
                orderly=any(broker.is_orderly for broker in telling),
            )  # fmt: skip
            self._group.take(answer)

    def _is_closed(self, broker: str, group: str, all_push: bool) -> bool:
        """``DirectoryProbe.is_closed``, by settings that are read in every round here, except whether there are any."""
        asked, now = self._fleet.brokers[broker], self._transport.clock.steady_ms()
        knows = self._knowing.get(broker) if asked.is_up and all_push else None
        if self._lacking.lacks(broker, group, knows, self._look_ts, now):
            return True
        return asked.is_up and asked.knows_group and not asked.consume_enable

    def _look(self) -> None:
        """Ask brokers which groups they know, and which proxies are connected to them. They lose one as soon as its
        process ends.
        """
        now, brokers = self._transport.clock.steady_ms(), self._fleet.brokers.values()
        if now - self._look_ts >= GROUPS_MS and any(broker.is_up for broker in brokers):
            self._look_ts = now
            self._knowing |= {broker.name: broker.knows_group for broker in brokers if broker.is_up}
            self._proxies.found((proxy.address for proxy in self._fleet.proxies.values() if proxy.is_up), now)
