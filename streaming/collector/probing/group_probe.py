"""One round of one group: its members from every broker, then offsets and running infos, then the marker."""

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Iterable

from schemas.identity import retry_topic
from streaming.collector.probing.asked_through import AskedThrough, broker_of
from streaming.collector.probing.cluster_view import ClusterView
from streaming.collector.probing.follow_ups import FollowUps
from streaming.collector.probing.heartbeat_schedule import HeartbeatSchedule
from streaming.collector.probing.lists import confirmed, is_about_client
from streaming.collector.probing.memory import Remembered
from streaming.collector.probing.not_asked import NO_BROKER, NotAsked, reason_of
from streaming.collector.probing.policy import KEEP_WATCHING_MS, NO_ANSWER, RUNNING_INFO_TIMEOUT_MS, SLOW_ANSWER_MS
from streaming.collector.probing.queues_beyond_read import QueuesBeyondRead
from streaming.collector.probing.request_load import Footprint
from streaming.collector.probing.unread_queues import REASON, UnreadQueues
from streaming.collector.translation.broker_view import listed as listed_ids
from streaming.collector.translation.reports import start_ts
from streaming.collector.translation.routes import KnownRoute
from streaming.collector.wire import bodies, requests
from streaming.collector.wire.answers import (
    CONSUME_MSG_TIMEOUT,
    SUCCESS,
    ConnectionsAnswer,
    ConsumerListAnswer,
    GroupAnswer,
    Meta,
    OffsetRow,
    RoundEnd,
    RunningInfoAnswer,
)
from streaming.collector.wire.bodies import Asked
from streaming.collector.wire.client import JUST_NOW, Lane, Reply
from streaming.collector.wire.requests import Request
from streaming.core.evidence.exclusions import is_proxy_client

BROADCASTING = "BROADCASTING"


class GroupProbe:
    """A group as it is asked about, from round to round. ``has_members`` is as of the last round."""

    def __init__(self, view: ClusterView, name: str) -> None:
        self.name = name
        self.has_members = False
        self._had_members = False
        self._view = view
        self._group = view.translation.group(name)
        self._hosted_ts: dict[str, int] = {}
        self._members: dict[str, tuple[str, ...]] = {}
        self._message_model: str | None = None
        self._unread = UnreadQueues()
        self._beyond_read = QueuesBeyondRead()
        self._follow_ups = FollowUps(view.policy.timing)
        self._asked_through = AskedThrough()
        self._heartbeats = HeartbeatSchedule()
        self._asked: list[str] = []
        self._not_asked: dict[str, str] = {}
        self._is_new = True

    @property
    def topics(self) -> Iterable[str]:
        """The topics that it is known to consume, its retry topic among them."""
        return self._group.topics

    @property
    def not_asked(self) -> Counter[NotAsked]:
        """How many clients were due and not asked in the last round, by why."""
        return Counter(reason_of(why) for why in self._not_asked.values())

    def footprint(self) -> Footprint:
        """What the group, as it was in the last round, costs in requests."""
        clients = {client_id for ids in self._members.values() for client_id in ids}
        through = {client_id: broker_of(client_id, self._members) for client_id in sorted(clients)}
        return Footprint(
            brokers=tuple(sorted(self._group.brokers)),
            asked_through={c: broker for c, broker in through.items() if broker and not is_proxy_client(c)},
            has_offsets=self._message_model != BROADCASTING,
            topics=tuple(self.topics),
            beyond_read={broker: self._beyond_read.number_on(broker) for broker in self._group.brokers},
        )

    def recall(self, remembered: Remembered) -> None:
        """What was known of it before this start."""
        self._had_members = True
        self._group.know((), remembered.topics)
        self._group.recall_turns(remembered.turns)

    def remembered(self, members_ts: int) -> Remembered:
        """What is to be known of it after another start."""
        empty_since = 0 if self.has_members else members_ts
        return Remembered(tuple(sorted(self.topics)), empty_since, self._group.turns())

    async def look(self, started_ts: int) -> None:
        """A round of a group that has no members: it asks for them alone, of the brokers that know the group."""
        self._group.begin_round(started_ts)
        brokers = self._view.groups.brokers_of(self.name)
        self._record_meta(started_ts, brokers)
        await self._ask_members(brokers)
        self._end(is_look=True)

    async def round(self, started_ts: int) -> None:
        """Ask, tell every event as it comes, and end with the marker."""
        brokers = self._brokers_to_ask()
        self._group.forget(self._group.brokers.keys() - brokers)
        self._view.lags.keep_brokers(self.name, brokers)
        self._group.begin_round(started_ts)
        self._members, self._asked, self._not_asked = {}, [], {}
        self._record_meta(started_ts, brokers)
        await self._ask_members(brokers)
        if self._view.policy.backlogs and not any(self._members.values()):
            await self._ask_offsets()  # nobody else names its topics
        await self._view.learn_routes(topic for topic in self.topics if not self._view.routing.is_known(topic))
        await self._ask_members(self._brokers_to_ask() - brokers)
        listed = [client_id for ids in self._members.values() for client_id in ids]
        if self.has_members and self._members and not listed:
            self._view.offsets.ask_by(self.name, self._view.clock.steady_ms() + self._view.policy.interval_ms)
        self.has_members = bool(listed)
        self._had_members |= self.has_members
        hosted = {place: n for place, n in self._read_queue_nums().items() if place[0] in self._members}
        self._unread.hosted(hosted, self._view.clock.steady_ms())
        self._follow_ups.listed(self._members)
        self._follow_ups.routed(self._known_routes())
        self._beyond_read.routed(self._known_routes(), self._view.clock.steady_ms())
        offsets = asyncio.ensure_future(self._ask_offsets())
        await asyncio.wait([offsets], timeout=SLOW_ANSWER_MS / 1000)  # they say whether clients may be asked
        await asyncio.gather(offsets, self._ask_heartbeats(), self._ask_clients(listed))
        self._end()

    def _brokers_to_ask(self) -> set[str]:
        """Those that host a topic of the group, or did so lately; before any route is known, those that know it."""
        now = self._view.clock.steady_ms()
        hosting = {broker for broker, _ in self._read_queue_nums()}
        hosting = {name for name in hosting if name in self._view.brokers.addresses or name in self._group.brokers}
        self._hosted_ts |= dict.fromkeys(hosting, now)
        self._hosted_ts = {name: ts for name, ts in self._hosted_ts.items() if now - ts <= KEEP_WATCHING_MS}
        return set(self._hosted_ts) or set(self._view.groups.brokers_of(self.name))

    async def _ask_members(self, brokers: Iterable[str]) -> None:
        await asyncio.gather(*map(self._ask_members_of, sorted(brokers)))

    async def _ask_members_of(self, broker: str) -> None:
        asked = Asked(self._view.cluster, broker, self.name)
        listed, connected = await asyncio.gather(
            self._view.ask(broker, requests.consumer_list(self.name)),
            self._view.ask(broker, requests.connections(self.name)),
        )
        connections = bodies.connections(connected, asked)
        answer = confirmed(bodies.consumer_list(listed, asked), connections)
        self._view.note(broker, answer.failure if listed_ids(answer) is None else None)
        self._take_list(broker, answer)
        self._take_connections(connections)

    def _take_list(self, broker: str, answer: ConsumerListAnswer) -> None:
        self._take(answer)
        ids = listed_ids(answer)
        if ids is not None:
            self._members[broker] = ids

    def _take_connections(self, answer: ConnectionsAnswer) -> None:
        self._take(answer)
        self._follow_ups.connected(answer, self._view.clock.steady_ms())
        if answer.body is not None:
            self._message_model = answer.body.message_model

    async def _ask_heartbeats(self) -> None:
        """Which connections are alive under ids that are listed twice."""
        self._heartbeats.listed(self._members)
        due = self._heartbeats.due(self._view.clock.steady_ms())
        if due is None:
            return
        broker, twice = due
        reply, channels = await self._view.last_heartbeats.of(broker)
        asked = Asked(self._view.cluster, broker, self.name)
        answer = bodies.heartbeats(
            reply, asked, [one for client_id in sorted(twice) for one in channels.get(client_id, ())]
        )
        before = self._group.alive_twice(broker)
        self._take(answer)
        alive = self._group.alive_twice(broker)
        self._heartbeats.answered(alive)
        if alive - before:
            self._follow_ups.second_instance_alive(self._view.clock.steady_ms())

    async def _ask_offsets(self) -> None:
        """Broadcasting consumers keep their offsets to themselves. A group that never had members costs nothing; where
        all have left, offsets say whether anybody misses it."""
        if not self._view.policy.offsets_ms or self._message_model == BROADCASTING:
            return
        is_worth_it = self._had_members or self._view.policy.backlogs > 0
        brokers = frozenset(self._members if is_worth_it else ())
        due = self._view.offsets.choose(self.name, brokers, self._view.clock.steady_ms())
        await asyncio.gather(*map(self._ask_offsets_of, due))

    async def _ask_offsets_of(self, broker: str) -> None:
        """All topics at once, then those for which the group has never committed an offset there."""
        asked = Asked(self._view.cluster, broker, self.name)
        reply = await self._view.ask(broker, requests.consume_stats(self.name), Lane.TABLES)
        answer = bodies.consume_stats(reply, asked)
        self._take(answer)
        self._view.offsets.answered(self.name, broker, reply.steady_ms, answer.table)
        if answer.code != SUCCESS:
            return
        named = answer.table or ()
        committed = {row.topic for row in named}
        self._view.lags.answered(self.name, broker, (*named, *self._beyond_read.known(broker)))
        self._unread.stored(broker, committed)
        if self._view.policy.backlogs and not any(self._members.values()):
            self._group.know((), committed)
            return  # what it never consumed does not wait for it
        for topic in sorted(self._hosted_by(broker) - committed - {retry_topic(self.name)}):
            reply = await self._view.ask(broker, requests.consume_stats(self.name, topic), Lane.TABLES)
            self._take(bodies.consume_stats(reply, asked, topic))
        await self._ask_beyond_read(broker, named)

    async def _ask_beyond_read(self, broker: str, named: Collection[OffsetRow]) -> None:
        """The queues that consume stats do not name, one by one. A broker answers that from its memory."""
        due = self._beyond_read.due(broker, named, self._view.clock.steady_ms())
        if not due:
            return
        began = time.perf_counter()
        consumed = await self._ask_all(broker, [requests.consumer_offset(self.name, *queue) for queue in due])
        ends = await self._ask_all(broker, [requests.max_offset(*queue) for queue in due])
        rows = [
            OffsetRow(topic, queue_id, broker, newest, bodies.offset(consumer))
            for (topic, queue_id), consumer, end in zip(due, consumed, ends, strict=True)
            if (newest := bodies.offset(end)) is not None
        ]
        self._beyond_read.answered(broker, rows)
        self._view.lags.answered(self.name, broker, (*named, *self._beyond_read.known(broker)))
        if rows:
            took_ms, whom = (time.perf_counter() - began) * 1000, Asked(self._view.cluster, broker, self.name)
            self._take(bodies.offsets_one_by_one(consumed[0], whom, rows, took_ms))

    async def _ask_all(self, broker: str, asked: Iterable[Request]) -> list[Reply]:
        return await asyncio.gather(*(self._view.ask(broker, request, Lane.TABLES) for request in asked))

    def _hosted_by(self, broker: str) -> set[str]:
        return {topic for name, topic in self._read_queue_nums() if name == broker}

    def _read_queue_nums(self) -> dict[tuple[str, str], int]:
        """By broker and topic."""
        numbers = {topic: route.read_queue_nums() for topic, route in self._known_routes().items()}
        return {(broker, topic): number for topic, those in numbers.items() for broker, number in those.items()}

    def _known_routes(self) -> dict[str, KnownRoute]:
        routes = {topic: self._view.translation.routes.get(topic)[0] for topic in self.topics}
        return {topic: route for topic, route in routes.items() if route}

    async def _ask_clients(self, listed: Iterable[str]) -> None:
        """All at once. The round waits a moment for their answers; later answers give their events as they come."""
        clients, now = self._view.clients, self._view.clock.steady_ms()
        if self._members:
            clients.know(self.name, listed, now)
        out_of_turn = self._follow_ups.due(now)
        clients.rest(self.name, self._follow_ups.is_at_rest(now))
        chosen = clients.choose(self.name, now, self._why_nobody(now), out_of_turn)
        self._not_asked = dict(chosen.not_asked)
        asking = [self._view.in_background(self._ask_client(client_id)) for client_id in chosen.ask]
        if asking:
            await asyncio.wait(asking, timeout=SLOW_ANSWER_MS / 1000)

    def _why_nobody(self, now: int) -> str:
        """Why none of its clients may be asked now. Broadcasting ones keep their offsets at hand."""
        return REASON if self._message_model != BROADCASTING and self._unread.are_there(now) else ""

    async def _ask_client(self, client_id: str) -> None:
        broker = self._asked_through.next(client_id, self._members)
        if broker is None:
            self._view.clients.not_sent(client_id)
            self._not_asked[client_id] = NO_BROKER
            return
        request = requests.running_info(self.name, client_id)
        self._asked.append(client_id)
        reply = await self._view.ask(broker, request, Lane.CLIENTS, RUNNING_INFO_TIMEOUT_MS)
        answer = bodies.running_info(reply, Asked(self._view.cluster, broker, self.name), client_id)
        self._note(client_id, answer, reply)
        if answer.code == SUCCESS:
            self._asked_through.answered(client_id, broker, start_ts(answer.start_timestamp) or 0)
            self._follow_ups.reported(client_id, answer, self._view.clock.steady_ms())
        else:
            self._asked_through.answered(client_id, broker)
        if is_about_client(answer):
            self._take(answer)

    def _note(self, client_id: str, answer: RunningInfoAnswer, reply: Reply) -> None:
        """An answer of the client itself, or how the broker failed to fetch one: the latter says nothing of it."""
        if reply.error == JUST_NOW:
            self._view.clients.not_sent(client_id)
        else:
            trouble = NO_ANSWER if answer.code == CONSUME_MSG_TIMEOUT else ""
            trouble = trouble if is_about_client(answer) else answer.failure
            self._view.clients.answered(self.name, client_id, reply.steady_ms, reply.dur_ms, trouble)
        if not is_about_client(answer):
            self._asked = [one for one in self._asked if one != client_id]
            self._not_asked[client_id] = f"{answer.broker}: {answer.failure}"

    def _take(self, answer: GroupAnswer) -> None:
        self._view.record(answer)
        self._view.emit(self._group.take(answer))

    def _record_meta(self, ts: int, brokers: Iterable[str]) -> None:
        if self._is_new:
            self._is_new = False
            known = {name: self._view.brokers.addresses.get(name, "") for name in sorted(brokers)}
            topics = dict.fromkeys(self.topics)
            self._view.record(Meta(ts=ts, cluster=self._view.cluster, group=self.name, brokers=known, topics=topics))

    def _end(self, is_look: bool = False) -> None:
        ts, asked, not_asked = self._view.clock.now_ms(), tuple(self._asked), self._not_asked
        self._follow_ups.round_ended(self._view.clock.steady_ms())
        events = self._group.end_round(ts, asked, not_asked, is_look)
        cluster = self._view.cluster
        self._view.record(
            RoundEnd(ts=ts, cluster=cluster, group=self.name, asked=asked, not_asked=not_asked, look=is_look)
        )
        self._view.emit(events)
