"""One round of one group: its members from every broker, then offsets and running infos, then the marker.

A simulated group gets the same rounds, over a simulated transport.
"""

from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from typing import Any

from schemas.events import ANY_QUEUE
from schemas.identity import retry_topic
from streaming.collector.probing import client_schedule
from streaming.collector.probing.asked_through import AskedThrough, broker_of
from streaming.collector.probing.broker_metrics import BrokerMetrics
from streaming.collector.probing.follow_ups import FollowUps
from streaming.collector.probing.group_schedule import KEEP_WATCHING_MS
from streaming.collector.probing.heartbeat_schedule import HeartbeatSchedule
from streaming.collector.probing.lag import Lags
from streaming.collector.probing.memory import Remembered
from streaming.collector.probing.new_queues import REASON, NewQueues
from streaming.collector.probing.offset_schedule import OffsetSchedule
from streaming.collector.probing.policy import Policy
from streaming.collector.probing.poll_schedule import PollSchedule
from streaming.collector.probing.proxies import GroupAtProxies, Proxies
from streaming.collector.probing.queues_beyond_read import QueuesBeyondRead
from streaming.collector.probing.request_load import Footprint
from streaming.collector.probing.route_probe import RouteProbe
from streaming.collector.probing.transport import Emit, Record, Transport
from streaming.collector.translation.broker_view import confirmed
from streaming.collector.translation.broker_view import listed as listed_ids
from streaming.collector.translation.cluster import ClusterTranslation
from streaming.collector.translation.reports import is_about_client, start_ts
from streaming.collector.translation.routes import KnownRoute
from streaming.collector.wire import answers
from streaming.collector.wire.client import JUST_NOW
from streaming.core.evidence.exclusions import is_proxy_client

BROADCASTING = "BROADCASTING"

Members = dict[str, tuple[str, ...]]  # of each broker that answers
RoutesOfGroup = Mapping[str, KnownRoute]  # of each topic whose route is known


class Shared:
    """The schedules, the lags and the ways out that all groups of a cluster share.

    ``addresses`` has the brokers' addresses as they are at the moment. ``emit`` gets events in the order of their
    numbers, ``record`` every answer. ``note`` gets a broker and why it does not give its lists, or None. ``is_closed``:
    whether nobody of a group can consume at a broker.
    """

    def __init__(
        self,
        translation: ClusterTranslation,
        policy: Policy,
        transport: Transport,
        addresses: Mapping[str, str],
        emit: Emit,
        record: Record = lambda _: None,
        note: Callable[[str, str | None], None] = lambda *_: None,
        proxies: Proxies | None = None,
        is_closed: Callable[[str, str, bool], bool] = lambda *_: False,
        metrics: BrokerMetrics | None = None,
    ) -> None:
        self.cluster, self.policy, self.translation = translation.cluster, policy, translation
        self.transport, self.addresses = transport, addresses
        self.emit, self.record, self.note = emit, record, note
        self.routes = RouteProbe(transport, translation.routes, policy, record)
        self.clients = client_schedule.ClientSchedule(policy)
        self.offsets, self.lags = OffsetSchedule(policy), Lags()
        self.proxies, self.is_closed = proxies or Proxies(), is_closed
        self.metrics = metrics or BrokerMetrics(translation.cluster, policy)

    async def ask_proxy(self, proxy: str, group: str) -> tuple[answers.ConsumerListAnswer, answers.ConnectionsAnswer]:
        """The members of a group at a proxy. If it is slow, it rests."""
        asked_ms = self.transport.clock.steady_ms()
        answer, connections = await self.transport.members(proxy, group)
        self.proxies.answered(proxy, asked_ms, answer.dur_ms, has_answered=answer.code is not None)
        return answer, connections

    def forget_group(self, name: str) -> None:
        for schedule in (self.clients, self.offsets, self.lags):
            schedule.forget_group(name)


class GroupProbe:
    """A group as it is asked about, from round to round. ``has_members`` is as of the last round."""

    def __init__(self, name: str, shared: Shared) -> None:
        self.name = name
        self.has_members = False
        self.is_paused = False  # no client is asked, since the group has queues that are new to it
        self._had_members = False
        self._shared, self._policy, self._group = shared, shared.policy, shared.translation.group(name)
        self._transport, self._clock = shared.transport, shared.transport.clock
        self._hosted_ts: dict[str, int] = {}
        self._members: Members = {}  # of the last round
        self._message_model: str | None = None
        self._unread = NewQueues()
        self._beyond_read = QueuesBeyondRead()
        self._follow_ups = FollowUps(shared.policy.timing)
        self._asked_through = AskedThrough()
        self._heartbeats = HeartbeatSchedule()
        self._at_proxies = GroupAtProxies(shared.proxies)
        self._polls = PollSchedule()
        self._pulled_ahead: set[str] = set()  # brokers whose newest offsets of pulls are ahead of those of the group
        self._in_flight_ts: dict[str, int] = {}  # by broker: of the newest page that was taken
        self._asked: list[str] = []
        self._not_asked: dict[str, str] = {}
        self._is_new = True

    # --- what is known of it

    @property
    def topics(self) -> Iterable[str]:
        """The topics that it is known to consume, its retry topic among them."""
        return self._group.topics

    @property
    def pops(self) -> bool:
        """Returns whether the group has clients that consume by POP."""
        return self._polls.has_clients

    @property
    def not_asked(self) -> Counter[str]:
        """How many clients were due and not asked in the last round, by why."""
        return Counter(client_schedule.label_of(why) for why in self._not_asked.values())

    def footprint(self) -> Footprint:
        """The requests that the group costs, as it was in the last round."""
        clients = {client_id for ids in self._members.values() for client_id in ids}
        through = {client_id: broker_of(client_id, self._members) for client_id in sorted(clients)}
        return Footprint(
            brokers=tuple(sorted(self._group.brokers)),
            asked_through={c: broker for c, broker in through.items() if broker and not is_proxy_client(c)},
            has_offsets=not self._keeps_offsets_elsewhere,
            topics=tuple(self.topics),
            beyond_read={broker: self._beyond_read.number_on(broker) for broker in self._group.brokers},
            polls={broker: self._polls.number_on(broker) for broker in self._group.brokers},
        )

    def recall(self, remembered: Remembered) -> None:
        """Takes over what was known of it before this start."""
        self._had_members = True
        self._group.know((), remembered.topics)
        self._group.recall_turns(remembered.turns)

    def remembered(self, members_ts: int) -> Remembered:
        empty_since = 0 if self.has_members else members_ts
        return Remembered(tuple(sorted(self.topics)), empty_since, self._group.turns())

    # --- a round

    async def look(self, started_ts: int, known_by: Collection[str]) -> None:
        """A round of a group that has no members: it asks for them alone, of the brokers that know the group."""
        self._begin(started_ts, known_by)
        await self._ask_members(known_by)
        self._end(is_look=True)

    async def round(self, started_ts: int, known_by: Collection[str]) -> None:
        """Ask, emit every event as it comes, and end with the marker. ``known_by``: the brokers that know the group."""
        brokers = self._brokers_to_ask(known_by)
        watched = brokers | self._at_proxies.watched(self._clock.steady_ms())
        self._group.forget(self._group.brokers.keys() - watched)
        self._polls.keep(watched)
        self._shared.lags.keep_brokers(self.name, brokers)
        self._polls.known_by(known_by)
        self._begin(started_ts, brokers)
        members = await self._ask_members(brokers)
        await self._ask_proxies()
        await self._learn_new_topics(members)
        if more := self._brokers_to_ask(known_by) - brokers:
            members |= await self._ask_members(more)
        routes = self._shared.routes.known(self.topics)
        self._compare(members, routes)
        due = self._offsets_due(members)
        offsets = [self._transport.start(self._ask_offsets(due, members, routes))] if due else []
        # offsets say whether clients may be asked
        await self._transport.wait(offsets, client_schedule.SLOW_ANSWER_MS)
        await self._transport.all([*self._heartbeats_due(members), self._ask_clients(members)])
        for asking in offsets:
            await asking
        self._end()

    def _brokers_to_ask(self, known_by: Collection[str]) -> set[str]:
        """Those that host a topic of the group, or did so lately; before any route is known, those that know it."""
        now = self._clock.steady_ms()
        hosting = {
            broker for route in self._shared.routes.known(self.topics).values() for broker in route.read_queue_nums()
        }
        hosting = {name for name in hosting if name in self._shared.addresses or name in self._group.brokers}
        self._hosted_ts |= dict.fromkeys(hosting, now)
        self._hosted_ts = {name: ts for name, ts in self._hosted_ts.items() if now - ts <= KEEP_WATCHING_MS}
        return set(self._hosted_ts) or set(known_by)

    def _begin(self, started_ts: int, brokers: Collection[str]) -> None:
        self._group.begin_round(started_ts)
        self._asked, self._not_asked = [], {}
        if self._is_new:
            self._is_new = False
            known = {name: self._shared.addresses.get(name, "") for name in sorted(brokers)}
            topics = dict.fromkeys(self.topics)
            meta = answers.Meta(
                ts=started_ts, cluster=self._shared.cluster, group=self.name, brokers=known, topics=topics
            )
            self._shared.record(meta)

    def _end(self, is_look: bool = False) -> None:
        ts, asked, not_asked = self._clock.now_ms(), tuple(self._asked), self._not_asked
        self._follow_ups.graces.round_ended(self._clock.steady_ms())
        events = self._group.end_round(ts, asked, not_asked, is_look)
        self._shared.record(
            answers.RoundEnd(
                ts=ts, cluster=self._shared.cluster, group=self.name, asked=asked, not_asked=not_asked, look=is_look
            )
        )  # fmt: skip
        self._shared.emit(events)

    def _take(self, answer: answers.GroupAnswer) -> None:
        self._shared.record(answer)
        if events := self._group.take(answer):
            self._shared.emit(events)

    # --- its members

    async def _ask_members(self, brokers: Iterable[str]) -> Members:
        """The lists of those that answer."""
        asked = sorted(brokers)
        lists = await self._transport.all(map(self._ask_members_of, asked))
        return {broker: ids for broker, ids in zip(asked, lists, strict=True) if ids is not None}

    async def _ask_members_of(self, broker: str) -> tuple[str, ...] | None:
        listed, connections = await self._transport.members(broker, self.name)
        answer = confirmed(listed, connections)
        ids = listed_ids(answer)
        self._shared.note(broker, answer.failure if ids is None else None)
        self._take(answer)
        self._take(connections)
        self._polls.listed(broker, ids)
        self._note_connections(broker, connections, self._clock.steady_ms())
        self._follow_ups.connected(connections, self._clock.steady_ms())
        if connections.body is not None:
            self._message_model = connections.body.message_model
        return ids

    def _note_connections(self, name: str, connections: answers.ConnectionsAnswer, now: int) -> None:
        """What a broker or a proxy says of the members that it lists."""
        if connections.body is not None:
            self._polls.connected(name, connections.body.consume_type)
            self._polls.subscribed(connections.body.topics, now)

    async def _ask_proxies(self) -> None:
        """Members that no broker lists. If the one proxy that is asked lists some, so are the others, at once.

        If it does not answer, another one is asked.
        No client is asked through a proxy.
        """
        asked: set[str] = set()
        while due := [one for one in self._at_proxies.due(self._clock.steady_ms()) if one not in asked]:
            asked.update(due)
            await self._transport.all(map(self._ask_proxy, due))

    async def _ask_proxy(self, proxy: str) -> None:
        answer, connections = await self._shared.ask_proxy(proxy, self.name)
        ids = listed_ids(answer)
        self._shared.note(proxy, answer.failure if ids is None else None)
        now = self._clock.steady_ms()
        if answer.code is not None:
            self._at_proxies.answered(proxy, None if ids is None else bool(ids), now)
        self._polls.listed(proxy, ids)
        self._note_connections(proxy, connections, now)
        if proxy in self._at_proxies.watched(now):
            self._take(answer)
            self._take(connections)

    async def _learn_new_topics(self, members: Members) -> None:
        """Asks for the routes of topics that are new. Where it has no members, only its offsets name its topics."""
        if self._policy.backlogs and not self._has_members(members):
            await self._ask_offsets(self._offsets_due(members), members, self._shared.routes.known(self.topics))
        await self._shared.routes.learn_unknown(self.topics)

    def _has_members(self, members: Members) -> bool:
        return any(members.values()) or self._at_proxies.has_members

    def _compare(self, members: Members, routes: RoutesOfGroup) -> None:
        """Compares members and routes with those of the round before."""
        now, had_members = self._clock.steady_ms(), self.has_members
        self._members, self.has_members = members, self._has_members(members)
        self._had_members |= self.has_members
        if had_members and members and not self.has_members:
            self._shared.offsets.ask_by(self.name, now + self._policy.interval_ms)
        numbers = ((topic, route.read_queue_nums()) for topic, route in routes.items())
        hosted = {(broker, topic): n for topic, those in numbers for broker, n in those.items() if broker in members}
        self._unread.hosted(hosted, now)
        self._follow_ups.listed(members)
        self._follow_ups.routed(routes)
        self._beyond_read.routed(routes, now)
        self._polls.members(members)

    def _heartbeats_due(self, members: Members) -> list[Coroutine[Any, Any, None]]:
        self._heartbeats.listed(members)
        due = self._heartbeats.due(self._clock.steady_ms())
        return [self._ask_heartbeats(*due)] if due is not None else []

    async def _ask_heartbeats(self, broker: str, twice: Collection[str]) -> None:
        """Which connections are alive under ids that are listed twice."""
        answer = await self._transport.heartbeats(broker, self.name, twice)
        before = self._group.alive_twice(broker)
        self._take(answer)
        alive = self._group.alive_twice(broker)
        self._heartbeats.answered(alive)
        if alive - before:
            self._follow_ups.second_instance_alive(self._clock.steady_ms())

    # --- its offsets

    @property
    def _keeps_offsets_elsewhere(self) -> bool:
        """True of broadcasting consumers, which keep them to themselves, and of lite topics, which have their own."""
        return self._message_model == BROADCASTING or self._group.is_lite

    def _offsets_due(self, members: Members) -> list[str]:
        """A group that never had members costs nothing; where all have left, offsets say whether anybody misses it."""
        if not self._policy.offsets_ms or self._keeps_offsets_elsewhere:
            return []
        is_worth_it = self._had_members or self._policy.backlogs > 0
        brokers = frozenset(members if is_worth_it else ())
        return self._shared.offsets.choose(self.name, brokers, self._clock.steady_ms())

    async def _ask_offsets(self, due: Iterable[str], members: Members, routes: RoutesOfGroup) -> None:
        is_empty = self._policy.backlogs > 0 and not self._has_members(members)
        await self._transport.all(self._ask_offsets_of(broker, is_empty, routes) for broker in due)

    async def _ask_offsets_of(self, broker: str, is_empty: bool, routes: RoutesOfGroup) -> None:
        """All topics at once, then those for which the group has never committed an offset there.

        Where clients take messages of any queue, a broker at which they never took any is not at rest.
        """
        answer, asked_ms = await self._transport.consume_stats(broker, self.name)
        self._take(answer)
        if answer.code != answers.SUCCESS or is_empty or not self._polls.has_clients:
            self._shared.offsets.answered(self.name, broker, asked_ms, answer.table)
        if answer.code != answers.SUCCESS:
            return
        named = answer.table or ()
        committed = {row.topic for row in named}
        (self._pulled_ahead.add if any(map(_is_pulled_ahead, named)) else self._pulled_ahead.discard)(broker)
        self._note_lags(broker, named, routes)
        self._unread.stored(broker, committed)
        if is_empty:
            self._group.know((), committed)
            return  # what it never consumed does not wait for it
        hosted = {topic for topic, route in routes.items() if broker in route.read_queue_nums()}
        others: list[answers.OffsetRow] = []
        for topic in sorted(hosted - committed - {retry_topic(self.name)}):
            other = (await self._transport.consume_stats(broker, self.name, topic))[0]
            self._take(other)
            others += other.table or ()
        if self.pops:
            self._shared.offsets.answered(self.name, broker, asked_ms, (*named, *others))
            await self._ask_polls(broker, routes, named)
            self._take_in_flight(broker)
        else:
            self._shared.lags.polled(self.name, broker, {})
        await self._ask_beyond_read(broker, named, routes)

    def _note_lags(self, broker: str, named: Iterable[answers.OffsetRow], routes: RoutesOfGroup) -> None:
        """Not of static topics: a queue that is mapped to another broker by now keeps its lag for ever."""
        static = {topic for topic, route in routes.items() if route.static}
        rows = [row for row in named if row.topic not in static] if static else named
        known = (*rows, *self._beyond_read.known(broker))
        self._shared.lags.answered(self.name, broker, known, self._in_flight_at(broker))

    async def _ask_polls(self, broker: str, routes: RoutesOfGroup, named: Collection[answers.OffsetRow]) -> None:
        """Whether clients that own no queue wait for messages."""
        readable = {
            topic: route.read_queue_nums()[broker] for topic, route in routes.items() if route.lets_read(broker)
        }
        is_closed = self._shared.is_closed(broker, self.name, self._polls.all_push)
        now = self._clock.steady_ms()
        waiting: dict[str, int] = {}
        for topic, queue_id in self._polls.due(broker, readable, named, now, is_closed):
            if is_closed:
                self._take(self._no_polls(broker, topic, queue_id))
                continue
            answer = await self._transport.polls(broker, self.name, topic, queue_id)
            self._take(answer)
            if answer.code != answers.SUCCESS:
                self._polls.refused(broker, answer.code, self._clock.steady_ms())
                break
            if queue_id == ANY_QUEUE and answer.waiting is not None:
                waiting[topic] = answer.waiting
        self._shared.lags.polled(self.name, broker, waiting)

    def _no_polls(self, broker: str, topic: str, queue_id: int) -> answers.PollsAnswer:
        """Of a broker at which nobody of the group can consume. It would refuse the question, too."""
        return answers.PollsAnswer(
            ts=self._clock.now_ms(),
            cluster=self._shared.cluster,
            broker=broker,
            group=self.name,
            topic=topic,
            queue_id=queue_id,
            is_closed=True,
        )

    def _in_flight_at(self, broker: str) -> tuple[answers.InFlightAnswer, ...]:
        """Of the group's topics, by the broker's newest page of metrics, if any is read.

        POP writes no offsets of pulls. With ``popConsumerKVServiceEnable`` it does, and the broker takes the number
        in flight from them (``ConsumerLagCalculator.getInFlightMsgStats``): it lacks what was popped before the last.
        """
        if not self.pops or broker in self._pulled_ahead:
            return ()
        return self._shared.metrics.in_flight(broker, self.name, self._clock.steady_ms())

    def _take_in_flight(self, broker: str) -> None:
        newest = self._in_flight_at(broker)
        if newest and newest[0].ts > self._in_flight_ts.get(broker, 0):
            self._in_flight_ts[broker] = newest[0].ts
            for answer in newest:
                self._take(answer)

    async def _ask_beyond_read(self, broker: str, named: Collection[answers.OffsetRow], routes: RoutesOfGroup) -> None:
        """The queues that consume stats do not name, one by one. A broker answers that from its memory."""
        due = self._beyond_read.due(broker, named, self._clock.steady_ms())
        if not due:
            return
        answer = await self._transport.offsets_one_by_one(broker, self.name, due)
        rows = answer.table or ()
        self._beyond_read.answered(broker, rows)
        self._note_lags(broker, named, routes)
        if rows:
            self._take(answer)

    # --- its clients

    async def _ask_clients(self, members: Members) -> None:
        """All at once. The round waits a moment for their answers; later answers give their events as they come."""
        await self._learn_doubted_routes(members)
        now = self._clock.steady_ms()
        if members:
            self._shared.clients.know(self.name, (client_id for ids in members.values() for client_id in ids), now)
        out_of_turn = self._follow_ups.due(now)
        self._shared.clients.rest(self.name, self._follow_ups.is_at_rest(now))
        # Broadcasting clients keep their offsets at hand.
        self.is_paused = self._message_model != BROADCASTING and self._unread.are_there(now)
        chosen = self._shared.clients.choose(self.name, now, REASON if self.is_paused else "", out_of_turn)
        self._not_asked = dict(chosen.not_asked)
        asking = [self._transport.start(self._ask_client(client_id, members)) for client_id in chosen.ask]
        await self._transport.wait(asking, client_schedule.SLOW_ANSWER_MS)

    async def _learn_doubted_routes(self, members: Members) -> None:
        """A client may have read a newer route than the known one. So that is read before the clients confirm."""
        doubted = self._follow_ups.doubted_routes(self._clock.steady_ms())
        if doubted:
            await self._shared.routes.learn_since(doubted)
            self._compare(members, self._shared.routes.known(self.topics))

    async def _ask_client(self, client_id: str, members: Members) -> None:
        broker = self._asked_through.next(client_id, members)
        if broker is None:
            self._shared.clients.not_sent(client_id)
            self._not_asked[client_id] = client_schedule.NO_BROKER
            return
        self._asked.append(client_id)
        answer, asked_ms = await self._transport.running_info(broker, self.name, client_id)
        self._note_outcome(answer, asked_ms)
        if answer.code == answers.SUCCESS:
            self._asked_through.answered(client_id, broker, start_ts(answer.start_timestamp) or 0)
            self._follow_ups.reported(client_id, answer, self._clock.steady_ms())
            self._polls.reported(client_id, answer.mq_pop_table or ())
        else:
            self._asked_through.answered(client_id, broker)
        if is_about_client(answer):
            self._take(answer)

    def _note_outcome(self, answer: answers.RunningInfoAnswer, asked_ms: int) -> None:
        """An answer of the client itself, or how the broker failed to fetch one: the latter says nothing of it."""
        client_id, is_of_client = answer.client_id, is_about_client(answer)
        if answer.error == JUST_NOW:
            self._shared.clients.not_sent(client_id)
        else:
            trouble = client_schedule.NO_ANSWER if answer.code == answers.CONSUME_MSG_TIMEOUT else ""
            trouble = trouble if is_of_client else answer.failure
            self._shared.clients.answered(self.name, client_id, asked_ms, answer.dur_ms, trouble)
        if not is_of_client:
            self._asked = [one for one in self._asked if one != client_id]
            self._not_asked[client_id] = f"{answer.broker}: {answer.failure}"


def _is_pulled_ahead(row: answers.OffsetRow) -> bool:
    return (row.pull_offset or 0) > (row.consumer_offset or 0)
