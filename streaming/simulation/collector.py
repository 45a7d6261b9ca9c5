"""A collector on the virtual clock. It decides when it asks whom; the live collector's translation makes the events.

Whom it asks when is decided by the live collector's own schedules. ``docs/collector.md`` says why.
"""

from collections.abc import Callable, Iterable
from random import Random

from schemas.events import AnyEvent
from schemas.identity import retry_topic
from streaming.collector.probing.asked_through import AskedThrough
from streaming.collector.probing.client_schedule import NO_ANSWER, ClientSchedule
from streaming.collector.probing.follow_ups import FollowUps
from streaming.collector.probing.group_directory import KEEP_WATCHING_MS
from streaming.collector.probing.heartbeat_schedule import HeartbeatSchedule
from streaming.collector.probing.lists import confirmed
from streaming.collector.probing.offset_schedule import OffsetSchedule
from streaming.collector.probing.policy import DEFAULT_POLICY, Policy
from streaming.collector.probing.queues_beyond_read import QueuesBeyondRead
from streaming.collector.probing.route_schedule import RouteSchedule
from streaming.collector.probing.unread_queues import REASON, UnreadQueues
from streaming.collector.translation.broker_view import listed as listed_ids
from streaming.collector.translation.cluster import ClusterTranslation
from streaming.collector.translation.reports import start_ts
from streaming.collector.translation.routes import KnownRoute
from streaming.collector.wire.answers import (
    CONSUME_MSG_TIMEOUT,
    SUCCESS,
    GroupAnswer,
    RunningInfoAnswer,
    SubscriptionGroupAnswer,
)
from streaming.simulation import answers
from streaming.simulation.broker import Broker, Client
from streaming.simulation.fleet import Fleet

TIMEOUT_MS = 10_000  # a broker gives its client so long to answer, then says 207
LISTS_MS, ASKS_MS, ENDS_MS, ENDS_LATE_MS = 20, 100, 600, 1_100  # after the start of a round
LIST_JITTER_MS = 40
BROADCASTING = "BROADCASTING"


class Collector:
    """``emit`` gets every event as it is made, in the order of the clock. ``loses_reports``: a share of them.

    ``list_jitter_ms``: lists are asked for up to so much later in one round than in another, but for 1.
    """

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
        self._fleet, self._emit, self.policy, self._source = fleet, emit, policy, source
        self._loses_reports, self._list_jitter_ms = loses_reports, list_jitter_ms
        self._random = Random(f"{fleet.seed}/collector{source.removeprefix('simulation')}")
        self._translation = ClusterTranslation(cluster, source)
        self._group = self._translation.group(fleet.group)
        self._clients, self._offsets, self._unread = ClientSchedule(policy), OffsetSchedule(policy), UnreadQueues()
        self._beyond_read = QueuesBeyondRead()
        self._routes = RouteSchedule(policy)
        self._follow_ups = FollowUps(policy.timing)
        self._asked_through = AskedThrough()
        self._heartbeats = HeartbeatSchedule()
        self._message_model: str | None = None
        self._hosted_ts: dict[str, int] = {}
        self._has_members = self._had_members = False
        self._members: dict[str, tuple[str, ...]] = {}  # of each broker that answers
        self._asked: list[str] = []
        self._not_asked: dict[str, str] = {}
        self.lost_reports: list[int] = []  # when, as those that no client answered
        self.timeouts: list[tuple[int, str]] = []  # and who
        self.paused_rounds: list[int] = []  # in which no client was asked, for queues that were new to the group
        self._clock_is_back_ms = self._goes_back_ms = 0
        self.is_killed = False

    def start(self) -> None:
        self._fleet.clock.after(self._random.randrange(self.policy.interval_ms), self._begin)

    def kill(self) -> None:
        """``kill -9``: it emits nothing any more, also not for answers that are still on their way."""
        self.is_killed = True
        self._emit = lambda _: None

    def set_clock_back(self, by_ms: int) -> None:
        """Its clock; it notices between two rounds."""
        self._goes_back_ms += by_ms

    def _follow_the_clock(self) -> None:
        if self._goes_back_ms:
            self._translation.set_back(self._goes_back_ms)
            self._clock_is_back_ms, self._goes_back_ms = self._clock_is_back_ms + self._goes_back_ms, 0

    def _now(self) -> int:
        """As its clock shows it. Schedules go by time that always goes on."""
        return self._fleet.now - self._clock_is_back_ms

    # --- a round

    def _begin(self) -> None:
        clock = self._fleet.clock
        clock.after(self.policy.interval_ms, self._begin)
        if self.is_killed or self._group.is_open:
            return
        self._follow_the_clock()
        self._members, self._asked, self._not_asked = {}, [], {}
        self._learn_routes(self._routes.choose(self._group.topics, clock.now))
        brokers = self._brokers_to_ask()
        self._group.forget(self._group.brokers.keys() - brokers)
        self._group.begin_round(self._now())
        for name in sorted(brokers):
            delay_ms = LISTS_MS + self._random.randrange(self._list_jitter_ms)
            clock.after(delay_ms, self._ask_members, self._fleet.brokers[name])
        clock.after(ASKS_MS, self._ask_clients)

    def _brokers_to_ask(self) -> set[str]:
        now = self._fleet.now
        self._hosted_ts.update({broker: now for broker, _ in self._read_queue_nums()})
        self._hosted_ts = {name: ts for name, ts in self._hosted_ts.items() if now - ts <= KEEP_WATCHING_MS}
        return set(self._hosted_ts)

    def _ask_members(self, broker: Broker) -> None:
        group, now = self._fleet.group, self._now()
        connections = answers.connections(broker, group, now)
        members = confirmed(answers.consumer_list(broker, group, now), connections)
        self._take(members)
        ids = listed_ids(members)
        if ids is not None:
            self._members[broker.name] = ids
        self._take(connections)
        self._follow_ups.connected(connections, self._fleet.now)
        if connections.body is not None:
            self._message_model = connections.body.message_model

    def _ask_clients(self) -> None:
        now, clock, group = self._fleet.now, self._fleet.clock, self._fleet.group
        listed = {client_id for ids in self._members.values() for client_id in ids}
        if self._has_members and self._members and not listed:
            self._offsets.ask_by(group, now + self.policy.interval_ms)
        self._has_members = bool(listed)
        self._had_members |= self._has_members
        self._learn_settings()
        self._learn_routes([topic for topic in self._group.topics if not self._routes.is_known(topic)])
        hosted = {place: number for place, number in self._read_queue_nums().items() if place[0] in self._members}
        self._unread.hosted(hosted, now)
        self._follow_ups.listed(self._members)
        self._follow_ups.routed(self._known_routes())
        self._beyond_read.routed(self._known_routes(), now)
        for name in self._offsets.choose(group, frozenset(self._members if self._had_members else ()), now):
            clock.after(self._random.randrange(60), self._ask_offsets, self._fleet.brokers[name])
        self._heartbeats.listed(self._members)
        due = self._heartbeats.due(now)
        if due is not None:
            clock.after(self._random.randrange(60), self._ask_heartbeats, *due)
        if self._members:
            self._clients.know(group, listed, now)
        out_of_turn = self._follow_ups.due(now)
        self._clients.rest(group, self._follow_ups.is_at_rest(now))
        chosen = self._clients.choose(group, now, self._why_nobody(now), out_of_turn)
        self._not_asked = dict(chosen.not_asked)
        is_late = [client_id for client_id in chosen.ask if self._ask(client_id)]
        clock.after((ENDS_LATE_MS if is_late else ENDS_MS) - ASKS_MS, self._end)

    def _read_queue_nums(self) -> dict[tuple[str, str], int]:
        """By broker and topic."""
        numbers = {topic: route.read_queue_nums() for topic, route in self._known_routes().items()}
        return {(broker, topic): number for topic, those in numbers.items() for broker, number in those.items()}

    def _known_routes(self) -> dict[str, KnownRoute]:
        routes = {topic: self._translation.routes.get(topic)[0] for topic in self._group.topics}
        return {topic: route for topic, route in routes.items() if route}

    def _why_nobody(self, now: int) -> str:
        if self._message_model == BROADCASTING or not self.policy.spreads or not self._unread.are_there(now):
            return ""
        self.paused_rounds.append(now)
        return REASON

    def _end(self) -> None:
        self._follow_ups.round_ended(self._fleet.now)
        for event in self._group.end_round(self._now(), self._asked, self._not_asked):
            self._emit(event)

    def _take(self, answer: GroupAnswer) -> None:
        for event in self._group.take(answer):
            self._emit(event)

    def _ask_heartbeats(self, broker_name: str, client_ids: frozenset[str]) -> None:
        before = self._group.alive_twice(broker_name)
        self._take(answers.heartbeats(self._fleet.brokers[broker_name], self._fleet.group, client_ids, self._now()))
        alive = self._group.alive_twice(broker_name)
        self._heartbeats.answered(alive)
        if alive - before:
            self._follow_ups.second_instance_alive(self._fleet.now)

    # --- running info

    def _ask(self, client_id: str) -> bool:
        """Whether its answer will be late."""
        now, clock, group = self._fleet.now, self._fleet.clock, self._fleet.group
        broker_name = self._asked_through.next(client_id, self._members)
        if broker_name is None:
            self._clients.not_sent(client_id)
            self._not_asked[client_id] = "no broker that answers lists it"
            return False
        if self._loses_reports and self._random.random() < self._loses_reports:
            self._not_asked[client_id] = f"{broker_name}: no answer"
            self._clients.answered(group, client_id, now, 0, "no answer")
            self.lost_reports.append(now)
            return False
        self._asked.append(client_id)
        client = self._fleet.brokers[broker_name].find_client(group, client_id)
        if client is not None and client.answers:
            clock.after(self._random.randrange(5, 250), self._take_running_info, client, broker_name, now, self._now())
            return False
        clock.after(TIMEOUT_MS, self._take_timeout, client_id, broker_name, now, self._now())
        return True

    def _take_timeout(self, client_id: str, broker_name: str, asked_ts: int, ts: int) -> None:
        self._clients.answered(self._fleet.group, client_id, asked_ts, TIMEOUT_MS, NO_ANSWER)
        self._asked_through.answered(client_id, broker_name)
        self.timeouts.append((self._fleet.now, client_id))
        answer = RunningInfoAnswer(
            ts=ts, dur_ms=TIMEOUT_MS, broker=broker_name, client_id=client_id, code=CONSUME_MSG_TIMEOUT
        )
        self._take(answer)

    def _take_running_info(self, client: Client, broker_name: str, asked_ts: int, ts: int) -> None:
        client_id, dur_ms = client.client_id, self._fleet.now - asked_ts
        trouble = "" if client.answers else "no answer"
        self._clients.answered(self._fleet.group, client.client_id, asked_ts, dur_ms, trouble)
        if client.answers:
            answer = client.running_info(broker_name, ts, dur_ms)
            self._asked_through.answered(client_id, broker_name, start_ts(answer.start_timestamp) or 0)
            self._follow_ups.reported(client_id, answer, self._fleet.now)
            self._take(answer)

    # --- offsets, routes, settings

    def _ask_offsets(self, broker: Broker) -> None:
        """All topics at once, then those for which the group has never committed an offset there."""
        now, group = self._fleet.now, self._fleet.group
        if self._message_model == BROADCASTING:
            return
        stats = answers.consume_stats(broker, group, now, self._now())
        self._take(stats)
        self._offsets.answered(group, broker.name, now, stats.table)
        if stats.code != SUCCESS:
            return
        committed = {row.topic for row in stats.table or ()}
        self._unread.stored(broker.name, committed)
        hosted = {topic for name, topic in self._read_queue_nums() if name == broker.name}
        for topic in sorted(hosted - committed - {retry_topic(group)}):
            self._take(answers.consume_stats(broker, group, now, self._now(), topic))
        due = self._beyond_read.due(broker.name, stats.table or (), now)
        if due:
            self._take(answers.offsets_one_by_one(broker, group, now, self._now(), due))

    def _learn_routes(self, topics: Iterable[str]) -> None:
        now = self._fleet.now
        for topic in topics:
            route = self._fleet.name_servers.route(self._source, topic, now)
            self._translation.routes.take(answers.topic_route(topic, route, self._now()))
            self._routes.answered(topic, now, is_known=True)

    def _learn_settings(self) -> None:
        if self._members:
            broker = next(iter(self._members))
            answer = SubscriptionGroupAnswer(
                ts=self._now(),
                broker=broker,
                code=SUCCESS,
                consume_enable=self._fleet.brokers[broker].consume_enable,
                orderly=False,
            )
            self._take(answer)
