"""A collector on the virtual clock: rounds, and the events that evenkeel's own makes of what it is answered.

Whom it asks when is decided by the live collector's own schedules. ``docs/collector.md`` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random
from typing import Any
from zlib import crc32

from msgspec import structs

from schemas.events import (
    SCHEMA_VERSION,
    AnyEvent,
    AssignmentReport,
    BrokerAnswer,
    ConsumeProgress,
    ConsumerChange,
    Heartbeat,
    NotAsked,
    QueueProgress,
    Round,
    RouteQueues,
    Subscription,
    TopicRoute,
)
from schemas.identity import retry_topic
from streaming.collector.probing.client_schedule import ClientSchedule
from streaming.collector.probing.offset_schedule import OffsetSchedule
from streaming.collector.probing.policy import RETRY_ROUTE_MS, STAYS_WATCHED_MS
from streaming.collector.probing.unread_queues import REASON, UnreadQueues
from streaming.core.allocation import class_of_strategy
from streaming.simulation.answers import addresses_by_id, offsets_of, owned_queues, table_of, version_of
from streaming.simulation.broker import Broker
from streaming.simulation.consumer import Consumer
from streaming.simulation.fleet import Fleet
from streaming.simulation.name_server import Routing, TopicRouteData
from streaming.simulation.pace import LIVE, Pace
from streaming.simulation.views import BrokerView, visible

TIMEOUT_MS = 10_000  # a broker gives its client so long to answer, then says 207
TELL_ROUTE_MS = 60_000
LISTS_MS, ASKS_MS, ENDS_MS, ENDS_LATE_MS = 20, 100, 600, 1_100  # after the start of a round


class Collector:
    """``tell`` gets every event as it is made, in the order of the clock."""

    def __init__(
        self,
        fleet: Fleet,
        cluster: str,
        tell: Callable[[AnyEvent], None],
        pace: Pace = LIVE,
        source: str = "simulation",
    ) -> None:
        self._fleet, self._tell, self.pace, self._source = fleet, tell, pace, source
        self._random = Random(f"{fleet.seed}/collector{source.removeprefix('simulation')}")
        self._retry = retry_topic(fleet.group)
        common = {"schema": SCHEMA_VERSION, "cluster": cluster, "group": fleet.group, "source": source}
        self._common: dict[str, Any] = common
        self._seq = 0
        self._round = 0
        self._views: dict[str, BrokerView] = {}
        self._answers: dict[str, BrokerAnswer] = {}
        self._languages: dict[str, dict[str, str]] = {}  # of each broker's connections, by client
        self._versions: dict[str, dict[str, str]] = {}
        self._consume_types: dict[str, str] = {}
        self._clients, self._offsets = ClientSchedule(pace.policy), OffsetSchedule(pace.policy)
        self._unread = UnreadQueues()
        self._had_members = False
        self._asked_now: dict[str, None] = {}
        self._not_asked: dict[str, str] = {}
        self._hosted_ts: dict[str, int] = {}
        self._topics: dict[str, None] = {self._retry: None}
        self._routes: dict[str, tuple[TopicRouteData | None, int]] = {}
        self._routes_told: dict[str, tuple[tuple[RouteQueues, ...], int]] = {}
        self._routes_changed_ts = 0
        self.lost_reports: list[int] = []  # when, as those that no client answered
        self.silences: list[tuple[int, str]] = []  # and who
        self.spared: list[int] = []  # rounds in which no client was asked, for queues that were new to the group
        self.is_off = False

    def start(self) -> None:
        self._fleet.agenda.after(self._random.randrange(self.pace.interval_ms), self._begin)

    def kill(self) -> None:
        """``kill -9``: it says nothing any more, whatever is still on its way to it."""
        self.is_off = True
        self._tell = lambda _: None

    # --- a round

    def _begin(self) -> None:
        agenda = self._fleet.agenda
        agenda.after(self.pace.interval_ms, self._begin)
        if self.is_off:
            return
        self._round, self._answers, self._asked_now, self._not_asked = agenda.now, {}, {}, {}
        for name in self._brokers_to_ask():
            agenda.after(LISTS_MS + self._random.randrange(40), self._ask_members, name)
        agenda.after(ASKS_MS, self._ask_clients)

    def _name_server(self) -> Routing:
        return self._fleet.name_servers.of(self._source, self._fleet.now)

    def _brokers_to_ask(self) -> list[str]:
        now = self._fleet.now
        name_server = self._name_server()
        routes = [name_server.route(topic) for topic in self._topics]
        hosting = {name for route in routes if route is not None for name in route.broker_names}
        self._hosted_ts.update(dict.fromkeys(hosting, now))
        self._hosted_ts = {name: ts for name, ts in self._hosted_ts.items() if now - ts <= STAYS_WATCHED_MS}
        return sorted(self._hosted_ts)

    def _ask_members(self, name: str) -> None:
        broker = self._fleet.brokers[name]
        if not (broker.is_up and broker.answers_lists):
            self._answers[name] = BrokerAnswer(name, answered=False, error="no answer")
            return
        ids = broker.client_ids(self._fleet.group)
        view = self._views.setdefault(name, BrokerView())
        appeared, disappeared = view.take_list(ids)
        self._answers[name] = BrokerAnswer(name, answered=True, client_ids=ids)
        for change, changed in (("disappeared", disappeared), ("appeared", appeared)):
            for client_id in changed:
                self._say(ConsumerChange, broker_name=name, client_id=client_id, change=change)
        group = broker.groups.get(self._fleet.group)
        if group is not None and broker.answers_connections:
            self._topics.update(dict.fromkeys(group.subscriptions))
            self._languages[name] = {c.client.client_id: c.client.manner.sdk.language for c in group.channels}
            self._versions[name] = {c.client.client_id: version_of(c.client) for c in group.channels}
            self._consume_types[name] = group.consume_type
            view.take_connections(addresses_by_id(group.channels), visible(group.subscriptions), self._fleet.now)

    def _ask_clients(self) -> None:
        now, agenda, group = self._fleet.now, self._fleet.agenda, self._fleet.group
        members = {name: answer.client_ids for name, answer in self._answers.items() if answer.answered}
        listed = {client_id for ids in members.values() for client_id in ids}
        self._had_members |= bool(listed)
        self._learn_routes()
        self._unread.hosted(self._read_queue_nums(members), now)
        for name in self._offsets.choose(group, frozenset(members if self._had_members else ()), now):
            agenda.after(self._random.randrange(60), self._ask_offsets, self._fleet.brokers[name])
        if members:
            self._clients.know(group, listed, now)
        chosen = self._clients.choose(group, now, self._why_nobody(now))
        self._not_asked = dict(chosen.not_asked)
        is_late = [client_id for client_id in chosen.ask if self._ask(client_id)]
        agenda.after((ENDS_LATE_MS if is_late else ENDS_MS) - ASKS_MS, self._end, self._round)

    def _read_queue_nums(self, members: Collection[str]) -> dict[tuple[str, str], int]:
        routes = ((topic, route) for topic, (route, _) in self._routes.items() if route is not None)
        queue_datas = ((topic, data) for topic, route in routes for data in route.queue_datas)
        return {(d.broker_name, topic): d.read_queue_nums for topic, d in queue_datas if d.broker_name in members}

    def _why_nobody(self, now: int) -> str:
        is_broadcasting = any(self._fleet.group in broker.broadcasting for broker in self._fleet.brokers.values())
        if is_broadcasting or not self.pace.spares_clients or not self._unread.are_there(now):
            return ""
        self.spared.append(now)
        return REASON

    # --- running info

    def _ask(self, client_id: str) -> bool:
        """Whether its answer will be late."""
        now, agenda = self._fleet.now, self._fleet.agenda
        names = sorted(name for name, answer in self._answers.items() if client_id in answer.client_ids)
        if not names:
            self._clients.not_sent(client_id)
            self._not_asked[client_id] = "no broker that answers lists it"
            return False
        through = names[crc32(client_id.encode()) % len(names)]
        if self.pace.asks_through_all:
            through = names[self._round // self.pace.interval_ms % len(names)]
        if self.pace.loses_reports and self._random.random() < self.pace.loses_reports:
            self._not_asked[client_id] = f"{through}: no answer"
            self._clients.answered(self._fleet.group, client_id, now, 0, "no answer")
            self.lost_reports.append(now)
            return False
        self._asked_now[client_id] = None
        client = self._instance(client_id, through)
        if client is not None and client.is_running and not client.is_paused and client.manner.sdk.answers:
            agenda.after(self._random.randrange(5, 250), self._take_report, client, self._round, now)
            return False
        agenda.after(TIMEOUT_MS, self._take_silence, client_id, self._round, now)
        return True

    def _instance(self, client_id: str, through: str) -> Consumer | None:
        """Of several connections with one id a broker always uses the same, whichever it is."""
        group = self._fleet.brokers[through].groups.get(self._fleet.group)
        channels = [] if group is None else [c for c in group.channels if c.client.client_id == client_id]
        if not channels:
            return None
        chosen = min(channels, key=lambda c: crc32(f"{c.address} {through}".encode()))
        is_dead = chosen.number != max(c.number for c in channels if c.client is chosen.client)
        return None if is_dead else chosen.client

    def _take_silence(self, client_id: str, round_ts: int, asked_ts: int) -> None:
        now = self._fleet.now
        self._clients.answered(self._fleet.group, client_id, asked_ts, now - asked_ts, "no answer within 10 s")
        self.silences.append((now, client_id))
        self._say(
            AssignmentReport, round_ts, client_id=client_id, answered=False, answered_ts=now, reason="timeout",
        )  # fmt: skip

    def _take_report(self, client: Consumer, round_ts: int, asked_ts: int) -> None:
        now, is_there = self._fleet.now, client.is_running and not client.is_paused
        trouble = "" if is_there else "no answer"
        self._clients.answered(self._fleet.group, client.client_id, asked_ts, now - asked_ts, trouble)
        if not is_there:
            return
        self._topics.update(dict.fromkeys(sorted(client.topics)))
        manner, sdk = client.manner, client.manner.sdk
        model = "BROADCASTING" if manner.broadcasting else "CLUSTERING"
        self._say(
            AssignmentReport,
            round_ts,
            client_id=client.client_id,
            answered=True,
            answered_ts=self._fleet.now,
            start_ts=client.start_ts + client.clock_is_off_ms,
            strategy=class_of_strategy(manner.strategy.name) if sdk.tells_strategy else None,
            orderly=client.orderly if sdk.tells_queues else None,
            client_rebalance=True if sdk.tells_strategy and sdk.tells_queues else None,
            message_model=model if sdk.tells_model else None,
            subscriptions=tuple(Subscription(t, e) for t, e in sorted(client.topics.items())),
            owned=owned_queues(client) if sdk.tells_queues else (),
            consume_type=sdk.consume_type,
        )

    # --- offsets and routes

    def _ask_offsets(self, broker: Broker) -> None:
        now, group = self._fleet.now, self._fleet.group
        if group in broker.broadcasting:
            return
        if not broker.is_up:
            self._offsets.answered(group, broker.name, now, None)
            return
        found: dict[str, tuple[QueueProgress, ...]] = {}
        for topic, progresses in broker.progresses_by_topic(group, now).items():
            found[topic] = tuple(offsets_of(one, now, broker.tells_pull_offsets) for one in progresses)
        stored = broker.stored_topics(group) & found.keys()
        self._offsets.answered(group, broker.name, now, table_of({topic: found[topic] for topic in stored}))
        self._unread.stored(broker.name, stored)
        for topic, rows in sorted(found.items()):
            self._say(ConsumeProgress, broker_name=broker.name, topic=topic, queues=rows)

    def _learn_routes(self) -> None:
        now, name_server = self._fleet.now, self._name_server()
        for topic in self._topics:
            period = RETRY_ROUTE_MS if topic == self._retry else self.pace.route_ms
            _, asked_ts = self._routes.get(topic, (None, -period))
            if now - asked_ts >= period:
                self._routes[topic] = (name_server.route(topic), now)

    def _say_routes(self) -> None:
        for topic, (route, ts) in self._routes.items():
            queues = () if route is None else tuple(RouteQueues(*data) for data in route.queue_datas)
            told, told_ts = self._routes_told.get(topic, (None, 0))
            if told == queues and ts - told_ts < TELL_ROUTE_MS:
                continue
            self._routes_told[topic] = (queues, ts)
            if told != queues:
                self._routes_changed_ts = max(self._routes_changed_ts, ts)
            self._say(TopicRoute, at=ts, topic=topic, brokers=queues, others=())

    # --- telling

    def _end(self, round_ts: int) -> None:
        now = self._fleet.now
        for name, answer in sorted(self._answers.items()):
            if answer.answered:
                for client_id, addresses in self._views[name].due(now):
                    self._say_heartbeat(name, client_id, addresses)
        self._say_routes()
        rivals = {topics for view in self._views.values() for topics in view.rival_subscriptions()}
        self._say(
            Round,
            round_ts,
            brokers=tuple(self._since(answer) for _, answer in sorted(self._answers.items())),
            started_ts=round_ts,
            asked=tuple(self._asked_now),
            not_asked=tuple(NotAsked(client_id, why) for client_id, why in sorted(self._not_asked.items())),
            consume_enable=self._fleet.consume_enable,
            orderly=False,
            rival_subscriptions=tuple(sorted(rivals)),
            routes_changed_ts=self._routes_changed_ts,
        )

    def _since(self, answer: BrokerAnswer) -> BrokerAnswer:
        if not answer.answered:
            return answer
        return structs.replace(answer, listed_since=self._views[answer.broker_name].listed_since(self._fleet.now))

    def _say_heartbeat(self, name: str, client_id: str, addresses: tuple[str, ...]) -> None:
        model = "BROADCASTING" if self._fleet.group in self._fleet.brokers[name].broadcasting else "CLUSTERING"
        language = self._languages.get(name, {}).get(client_id)
        is_told = language is not None
        self._say(
            Heartbeat,
            broker_name=name,
            client_id=client_id,
            observed="listed",
            addresses=addresses,
            language=language,
            version=self._versions[name][client_id] if is_told else None,
            message_model=model if is_told else None,
            consume_type=self._consume_types[name] if is_told else None,
        )

    def _say(
        self, event_type: type[AnyEvent], round_ts: int | None = None, at: int | None = None, **fields: Any
    ) -> None:
        self._seq += 1
        if self.pace.loses_events and self._random.random() < self.pace.loses_events:
            self.lost_reports.append(self._fleet.now)
            return
        ts = self._fleet.now if at is None else at
        number = self._round if round_ts is None else round_ts
        self._tell(event_type(**self._common, seq=self._seq, round=number, ts=ts, **fields))
