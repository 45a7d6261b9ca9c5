"""Asks which brokers there are, and each of them which groups it knows, with their settings."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Any, NamedTuple

from streaming.collector.probing.broker_directory import BrokerDirectory, Silent
from streaming.collector.probing.group_schedule import GroupSchedule
from streaming.collector.probing.live_transport import LiveTransport
from streaming.collector.probing.policy import SYNCER_GROUP
from streaming.collector.probing.proxies import Proxies
from streaming.collector.probing.proxy_search import ProxySearch
from streaming.collector.probing.transport import Record
from streaming.collector.translation.cluster import ClusterTranslation
from streaming.collector.wire import reply_parsing, requests
from streaming.collector.wire.answers import SUCCESS, SubscriptionGroupAnswer
from streaming.collector.wire.client import Lane
from streaming.collector.wire.reply_parsing import GroupSettings

GROUPS_MS = 30_000  # groups and their settings
LACKING_MS = 90_000  # push consumers poll every broker at once, and its groups are read three times meanwhile
log = logging.getLogger(__name__)


class _Lacking(NamedTuple):
    """``read_ms``: when the list of groups was read that lacked the group first. ``since_ms``: when that was seen."""

    read_ms: int
    since_ms: int
    was_known: bool


class LackingGroups:
    """Groups that brokers are seen not to know. A broker makes a group when a client polls there, unless it may not
    make any.

    Clients that are new to a broker need time to come to it. Those of a group that was deleted poll again within 20 s.
    """

    def __init__(self) -> None:
        self._lacking: dict[tuple[str, str], _Lacking] = {}  # by broker and group
        self._known: set[tuple[str, str]] = set()

    def lacks(self, broker: str, group: str, knows: bool | None, read_ms: int, now: int) -> bool:
        """Returns whether the broker has lacked the group for so long that nobody can consume there.

        ``knows``: whether the broker's newest list, read at ``read_ms``, has it; None: nothing follows from that.
        """
        key = broker, group
        if knows is not False:
            self._lacking.pop(key, None)
            (self._known.add if knows else self._known.discard)(key)
            return False
        lacking = self._lacking.setdefault(key, _Lacking(read_ms, now, key in self._known))
        return read_ms > lacking.read_ms if lacking.was_known else now - lacking.since_ms >= LACKING_MS

    def forget_group(self, name: str) -> None:
        self._forget([key for key in (*self._lacking, *self._known) if key[1] == name])

    def forget_broker(self, name: str) -> None:
        self._forget([key for key in (*self._lacking, *self._known) if key[0] == name])

    def _forget(self, keys: Iterable[tuple[str, str]]) -> None:
        for key in keys:
            self._lacking.pop(key, None)
            self._known.discard(key)


class DirectoryProbe:
    """Belongs to one cluster. It fills ``brokers``, ``groups`` and the settings of ``translation``."""

    def __init__(
        self,
        transport: LiveTransport,
        brokers: BrokerDirectory,
        groups: GroupSchedule,
        silent: Silent,
        translation: ClusterTranslation,
        record: Record,
        proxies: Proxies | None = None,
    ) -> None:
        self._transport, self._clock, self._record = transport, transport.clock, record
        self._brokers, self._groups, self._silent, self._translation = brokers, groups, silent, translation
        self._proxies = proxies or Proxies()
        self._search = ProxySearch(transport, translation.cluster, self._proxies)
        self._settings: dict[str, dict[str, GroupSettings]] = {}  # by broker and group
        self._popping: dict[str, frozenset[tuple[str, str]]] = {}
        self._recorded_settings: dict[str, dict[str, Any]] = {}
        self._learned_ts: dict[str, int] = {}
        self._lacking = LackingGroups()

    @property
    def brokers_without_groups(self) -> tuple[str, ...]:
        """Brokers that have never told which groups they know."""
        return tuple(sorted(self._brokers.addresses.keys() - self._learned_ts.keys()))

    @property
    def has_broker(self) -> bool:
        """Returns whether any broker is known that gives what it is asked for."""
        silent = self._silent.why.keys()
        return any(silent.isdisjoint((name, _for_its_groups(name))) for name in self._brokers.addresses)

    @property
    def has_popping_groups(self) -> bool:
        """Returns whether a broker is set to hand out messages of a topic to a group itself."""
        return any(self._popping.values())

    @property
    def empty_groups(self) -> dict[str, int]:
        """How many groups without members each broker knows, of those brokers that have told their groups."""
        names = [name for name in self._brokers.addresses if name in self._settings]
        return {name: self._groups.number_empty_on(name) for name in names}

    async def learn(self) -> None:
        addresses, failure = await self._ask_who_is_where()
        self._silent.note("the name servers", failure)
        if addresses is not None:
            for news in self._brokers.take(addresses, self._clock.steady_ms()):
                log.info("%s: %s", self._translation.cluster, news)
        for name in self._settings.keys() - self._brokers.addresses.keys():
            self._forget_broker(name)
        oldest = self._clock.steady_ms() - GROUPS_MS
        due = [name for name in self._brokers.addresses if self._learned_ts.get(name, 0) <= oldest]
        await asyncio.gather(*map(self._learn_groups, due))
        for name in self._groups.watched() if due else ():
            self.record_settings(name)

    def is_closed(self, broker: str, group: str, all_push: bool) -> bool:
        """Returns whether nobody can consume at the broker for the group: by its settings there, or without any.

        ``all_push``: every client of the group polls each broker, as soon as it knows it. A SimpleConsumer may not have
        come to it yet.
        """
        now, known = self._clock.steady_ms(), self._settings.get(broker, {})
        read_ms = self._learned_ts.get(broker, -2 * GROUPS_MS)
        is_known = now - read_ms <= 2 * GROUPS_MS  # else it may be otherwise now
        if self._lacking.lacks(broker, group, group in known if is_known and all_push else None, read_ms, now):
            return True
        return is_known and group in known and known[group].consume_enable is False

    async def _ask_who_is_where(self) -> tuple[dict[str, str] | None, str | None]:
        """The brokers that any name server knows: one may lack a broker that cannot reach it. If none tells, why."""
        servers = self._transport.servers
        address, reply = await servers.ask(requests.cluster_info())
        addresses, failure = reply_parsing.broker_addresses(reply)
        others = [other for other in servers.addresses if other != address] if address else []
        for besides in (await servers.ask_besides(requests.cluster_info(), others)).values():
            addresses = {**(reply_parsing.broker_addresses(besides)[0] or {}), **(addresses or {})} or addresses
        if addresses is not None:
            return addresses, None
        return None, f"{address}: {failure}" if address else failure

    async def _learn_groups(self, broker: str) -> None:
        """A broker that does not answer is asked again in the next round."""
        reply = await self._transport.ask(broker, requests.subscription_groups(), Lane.TABLES)
        settings, failure = reply_parsing.group_settings(reply)
        self._silent.note(_for_its_groups(broker), failure if settings is None else None)
        if settings is None:
            return
        self._learned_ts[broker] = self._clock.steady_ms()
        modes = await self._transport.ask(broker, requests.message_request_modes(), Lane.TABLES)
        popping = reply_parsing.popping_groups(modes)
        if popping is not None:
            self._popping[broker] = popping
        self._settings[broker] = settings
        self._groups.know(broker, settings)
        if SYNCER_GROUP in settings and not self._proxies.are_named:
            await self._search.look(broker, requests.READER in settings)

    def record_settings(self, name: str) -> None:
        """Takes the settings of a group into its translation, where they have changed."""
        found = {broker: groups[name] for broker, groups in sorted(self._settings.items()) if name in groups}
        settings = self._combined(name, list(found.values()))
        if found and self._recorded_settings.get(name) != settings:
            self._recorded_settings[name] = settings
            ts, cluster = self._clock.now_ms(), self._translation.cluster
            answer = SubscriptionGroupAnswer(
                ts=ts, cluster=cluster, broker=next(iter(found)), group=name, code=SUCCESS, **settings
            )
            self._record(answer)
            self._translation.group(name).take(answer)

    def _combined(self, name: str, of_brokers: list[GroupSettings]) -> dict[str, Any]:
        """A group consumes if any broker lets it.

        It is orderly, pops a topic, or is bound to lite topics if any broker says so.
        """
        enabled = [one.consume_enable for one in of_brokers if one.consume_enable is not None]
        orderly = [one.consume_message_orderly for one in of_brokers if one.consume_message_orderly is not None]
        pops = {topic for pairs in self._popping.values() for topic, group in pairs if group == name}
        return {
            "consume_enable": any(enabled) if enabled else None,
            "orderly": any(orderly) if orderly else None,
            "pop_topics": tuple(sorted(pops)),
            "popped_in_part": tuple(topic for topic in sorted(pops) if self._is_popped_in_part(topic, name)),
            "lite": any(one.is_lite for one in of_brokers),
        }

    def _is_popped_in_part(self, topic: str, group: str) -> bool:
        """True if a broker that hosts the topic is not set to pop it. One that does not know modes is not asked to."""
        route, _ = self._translation.routes.get(topic)
        hosts = () if route is None else route.read_queue_nums()
        return any((topic, group) not in self._popping[host] for host in hosts if host in self._popping)

    def forget_group(self, name: str) -> None:
        self._recorded_settings.pop(name, None)
        self._lacking.forget_group(name)

    def _forget_broker(self, name: str) -> None:
        """One that has been gone for long."""
        self._groups.know(name, ())
        self._search.forget(name)
        for known in (self._settings, self._popping, self._learned_ts):
            known.pop(name, None)
        self._lacking.forget_broker(name)


def _for_its_groups(broker: str) -> str:
    return f"{broker} for its groups"
