"""A collector on the virtual clock: rounds, and the events that evenkeel's own makes of what it is answered.

It keeps the live collector's times: a round every 5 s, each client asked every 20 s in a phase of its own, offsets
every 20 s, routes every 10 s and told when they change and every 60 s. ``docs/collector.md`` says why.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any
from zlib import crc32

from schemas.events import (
    SCHEMA_VERSION,
    AnyEvent,
    AssignmentReport,
    BrokerAnswer,
    ConsumeProgress,
    ConsumerChange,
    Heartbeat,
    NotAsked,
    Round,
    RouteQueues,
    Subscription,
    TopicRoute,
)
from schemas.identity import retry_topic
from streaming.simulation.answers import addresses_by_id, class_of, offsets_of, owned_queues
from streaming.simulation.broker import Broker
from streaming.simulation.consumer import Consumer
from streaming.simulation.fleet import Fleet
from streaming.simulation.message_queue import Progress
from streaming.simulation.name_server import TopicRouteData
from streaming.simulation.pace import LIVE, Pace
from streaming.simulation.views import BrokerView, visible

TIMEOUT_MS = 10_000  # a broker gives its client so long to answer, then says 207
SETTLE_IN_MS = 5_000
LONGEST_BACK_OFF_MS = 60_000
STAYS_WATCHED_MS = 600_000
ROUTE_AGAIN_MS = 60_000
LISTS_MS, ASKS_MS, ENDS_MS, ENDS_LATE_MS = 20, 100, 600, 1_100  # after the start of a round


class _Asked:
    """A client as it is asked: when next, and how often in vain."""

    __slots__ = ("due_ts", "is_busy", "steps")

    def __init__(self, due_ts: int) -> None:
        self.due_ts, self.is_busy, self.steps = due_ts, False, 0


class Collector:
    """``tell`` gets every event as it is made, in the order of the clock."""

    def __init__(self, fleet: Fleet, cluster: str, tell: Callable[[AnyEvent], None], pace: Pace = LIVE) -> None:
        self._fleet, self._tell, self.pace = fleet, tell, pace
        self._random = Random(f"{fleet.seed}/collector")
        self._retry = retry_topic(fleet.group)
        common = {"schema": SCHEMA_VERSION, "cluster": cluster, "group": fleet.group, "source": "simulation"}
        self._common: dict[str, Any] = common
        self._seq = 0
        self._round = 0
        self._views: dict[str, BrokerView] = {}
        self._answers: dict[str, BrokerAnswer] = {}
        self._asked: dict[str, _Asked] = {}
        self._asked_now: dict[str, None] = {}
        self._not_asked: dict[str, str] = {}
        self._hosted_ts: dict[str, int] = {}
        self._topics: dict[str, None] = {self._retry: None}
        self._offsets_due: dict[str, int] = {}
        self._routes: dict[str, tuple[TopicRouteData | None, int]] = {}
        self._routes_told: dict[str, tuple[tuple[RouteQueues, ...], int]] = {}
        self.lost_reports: list[int] = []  # when, as those that no client answered
        self.silences: list[int] = []
        self.is_off = False

    def start(self) -> None:
        self._fleet.agenda.after(self._random.randrange(self.pace.interval_ms), self._begin)

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

    def _brokers_to_ask(self) -> list[str]:
        now = self._fleet.now
        routes = [self._fleet.name_server.route(topic) for topic in self._topics]
        hosting = {name for route in routes if route is not None for name in route.broker_names}
        self._hosted_ts.update(dict.fromkeys(hosting, now))
        self._hosted_ts = {name: ts for name, ts in self._hosted_ts.items() if now - ts <= STAYS_WATCHED_MS}
        return sorted(self._hosted_ts)

    def _ask_members(self, name: str) -> None:
        broker = self._fleet.brokers[name]
        if not broker.is_up:
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
        if group is not None:
            self._topics.update(dict.fromkeys(group.subscriptions))
            view.take_connections(addresses_by_id(group.channels), visible(group.subscriptions), self._fleet.now)

    def _ask_clients(self) -> None:
        agenda, is_late = self._fleet.agenda, False
        listed = {client_id for answer in self._answers.values() for client_id in answer.client_ids}
        self._know(listed)
        for client_id in sorted(listed):
            asked = self._asked[client_id]
            if asked.is_busy or asked.due_ts > agenda.now:
                if asked.is_busy or asked.steps:
                    self._not_asked[client_id] = "backing off after no answer within 10 s"
                continue
            is_late |= self._ask(client_id, asked)
        for name in sorted(self._answers) if listed else ():
            if self._answers[name].answered and self._offsets_due.setdefault(name, self._phase(name)) <= agenda.now:
                self._offsets_due[name] = agenda.now + self.pace.offsets_ms
                agenda.after(self._random.randrange(60), self._ask_offsets, self._fleet.brokers[name])
        agenda.after((ENDS_LATE_MS if is_late else ENDS_MS) - ASKS_MS, self._end, self._round)

    def _know(self, listed: set[str]) -> None:
        now, period = self._fleet.now, self.pace.running_info_ms
        for client_id in self._asked.keys() - listed:
            del self._asked[client_id]
        for client_id in listed - self._asked.keys():
            phase = crc32(client_id.encode())
            wait = SETTLE_IN_MS + phase % max(1, period - SETTLE_IN_MS) if self._routes_told else phase % period
            self._asked[client_id] = _Asked(now + wait)

    def _phase(self, name: str) -> int:
        return self._fleet.now + crc32(f"{self._fleet.group} {name}".encode()) % self.pace.offsets_ms

    # --- running info

    def _ask(self, client_id: str, asked: _Asked) -> bool:
        """Whether its answer will be late."""
        now, agenda = self._fleet.now, self._fleet.agenda
        names = sorted(name for name, answer in self._answers.items() if client_id in answer.client_ids)
        through = names[crc32(client_id.encode()) % len(names)]
        if self.pace.asks_through_all:
            through = names[self._round // self.pace.interval_ms % len(names)]
        if self.pace.loses_reports and self._random.random() < self.pace.loses_reports:
            self._not_asked[client_id] = f"{through}: no answer"
            asked.due_ts = now + self.pace.running_info_ms
            self.lost_reports.append(now)
            return False
        self._asked_now[client_id] = None
        client = self._instance(client_id, through)
        if client is not None and client.is_running and not client.is_paused:
            asked.due_ts, asked.steps = now + self.pace.running_info_ms, 0
            agenda.after(self._random.randrange(5, 250), self._take_report, client, through, self._round)
            return False
        asked.is_busy = True
        agenda.after(TIMEOUT_MS, self._take_silence, client_id, asked, through, self._round)
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

    def _take_silence(self, client_id: str, asked: _Asked, through: str, round_ts: int) -> None:
        now, period = self._fleet.now, self.pace.running_info_ms
        asked.is_busy, asked.steps = False, min(asked.steps + 1, 3)
        self.silences.append(now)
        asked.due_ts = now + min(period << asked.steps, LONGEST_BACK_OFF_MS)
        self._say(
            AssignmentReport, round_ts, client_id=client_id, answered=False, answered_ts=now, asked_through=through,
            reason="timeout",
        )  # fmt: skip

    def _take_report(self, client: Consumer, through: str, round_ts: int) -> None:
        if not client.is_running or client.is_paused:
            return
        self._say(
            AssignmentReport,
            round_ts,
            client_id=client.client_id,
            answered=True,
            answered_ts=self._fleet.now,
            asked_through=through,
            start_ts=client.start_ts + client.clock_is_off_ms,
            strategy=class_of(client.manner.strategy),
            orderly=client.orderly,
            client_rebalance=True,
            message_model="BROADCASTING" if client.manner.broadcasting else "CLUSTERING",
            version="V5_3_3" if client.manner.version >= 5 else "V4_9_7",
            subscriptions=tuple(Subscription(t, e, "TAG") for t, e in sorted(client.topics.items())),
            owned=owned_queues(client),
        )

    # --- offsets and routes

    def _ask_offsets(self, broker: Broker) -> None:
        found: dict[str, list[Progress]] = {}
        if not broker.is_up or self._fleet.group in broker.broadcasting:
            return
        for progress in broker.progresses(self._fleet.group):
            progress.settle(self._fleet.now)
            found.setdefault(progress.log.queue.topic, []).append(progress)
        for topic, progresses in sorted(found.items()):
            data = broker.topics.get(topic)
            count = 0 if data is None else max(data.read_queue_nums, data.write_queue_nums)
            rows = [offsets_of(one, self._fleet.now) for one in progresses if one.log.queue.queue_id < count]
            rows.sort(key=lambda row: row.queue_id)
            self._say(ConsumeProgress, broker_name=broker.name, topic=topic, queues=tuple(rows))

    def _learn_routes(self) -> None:
        now = self._fleet.now
        for topic in self._topics:
            period = ROUTE_AGAIN_MS if topic == self._retry else self.pace.route_ms
            _, asked_ts = self._routes.get(topic, (None, -period))
            if now - asked_ts >= period:
                self._routes[topic] = (self._fleet.name_server.route(topic), now)

    def _say_routes(self) -> None:
        for topic, (route, ts) in self._routes.items():
            queues = () if route is None else tuple(RouteQueues(*data) for data in route.queue_datas)
            told, told_ts = self._routes_told.get(topic, (None, 0))
            if told == queues and ts - told_ts < ROUTE_AGAIN_MS:
                continue
            self._routes_told[topic] = (queues, ts)
            conf = None if route is None else route.order_topic_conf
            self._say(TopicRoute, at=ts, topic=topic, brokers=queues, order_topic_conf=conf)

    # --- telling

    def _end(self, round_ts: int) -> None:
        now = self._fleet.now
        for name, answer in sorted(self._answers.items()):
            if answer.answered:
                for client_id, addresses in self._views[name].due(now):
                    self._say_heartbeat(name, client_id, addresses)
        self._learn_routes()
        self._say_routes()
        rivals = {topics for view in self._views.values() for topics in view.rival_subscriptions()}
        self._say(
            Round,
            round_ts,
            brokers=tuple(answer for _, answer in sorted(self._answers.items())),
            started_ts=round_ts,
            asked=tuple(self._asked_now),
            not_asked=tuple(NotAsked(client_id, why) for client_id, why in sorted(self._not_asked.items())),
            consume_enable=self._fleet.consume_enable,
            orderly=False,
            rival_subscriptions=tuple(sorted(rivals)),
        )

    def _say_heartbeat(self, name: str, client_id: str, addresses: tuple[str, ...]) -> None:
        model = "BROADCASTING" if self._fleet.group in self._fleet.brokers[name].broadcasting else "CLUSTERING"
        self._say(
            Heartbeat,
            broker_name=name,
            client_id=client_id,
            observed="listed",
            addresses=addresses,
            language="JAVA",
            version="475",
            message_model=model,
            consume_type="CONSUME_PASSIVELY",
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
