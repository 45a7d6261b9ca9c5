"""A consumer group as a timeline of events, so that a test reads like the rule it states. Values only: time is counted.

    fleet = Fleet()                   # topic T, queues a0..a3 on broker a and b0..b3 on broker b
    fleet.join("x", "y")              # clients that share the queues out as RocketMQ does
    fleet.run(60)                     # a round every 5 s, each client asked every 20 s, offsets every 10 s
    fleet.own("y", "a0 b0-3")         # now y says that it owns these, whatever the others own
    fleet.run(60)
    assert fleet.firing() == {("T", "DUPLICATED")}

A client is an instance: ``join`` an id twice and two instances carry it. Seconds are counted from ``T0``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from schemas.events import (
    AnyEvent,
    AssignmentReport,
    BrokerAnswer,
    ConsumeProgress,
    Heartbeat,
    OwnedQueue,
    OwnedQueues,
    QueueProgress,
    Round,
    RouteCopy,
    RouteQueues,
    Subscription,
    TopicPolls,
    TopicRoute,
    encode_event,
)
from schemas.facts import AlertFact, Fact, GroupFact, Payload, QueueFact, Severity
from schemas.identity import MessageQueue
from streaming.core.alerts.phases import STATES, AlertReason, Phase
from streaming.core.allocation.averagely import Averagely
from streaming.core.allocation.strategy import AllocationError, Strategy
from streaming.core.allocation.together import sort_client_ids, sort_queues
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.settings import Settings
from streaming.core.shard import Record
from streaming.core.state.group import Group
from streaming.core.state.group_state import GroupState, new_state
from streaming.core.state.packing import pack, unpack
from streaming.core.step import take
from streaming.notices.evidence_english import english_evidence

T0 = 1_700_000_000_000
CLASSES = {
    "AVG": "AllocateMessageQueueAveragely",
    "AVG_BY_CIRCLE": "AllocateMessageQueueAveragelyByCircle",
    "CONFIG": "AllocateMessageQueueByConfig",
    "MACHINE_ROOM": "AllocateMessageQueueByMachineRoom",
    "CONSISTENT_HASH": "AllocateMessageQueueConsistentHash",
}


def queues(text: str, topic: str = "T") -> list[MessageQueue]:
    """``"a0 b1-3"``: queue 0 on broker a and queues 1, 2 and 3 on broker b."""
    found = []
    for word in text.split():
        broker = word.rstrip("-0123456789")
        first, _, last = word[len(broker) :].partition("-")
        found += [MessageQueue(topic, broker, queue_id) for queue_id in range(int(first), int(last or first) + 1)]
    return found


@dataclass(eq=False)
class Instance:
    """One JVM of one client id. ``brokers`` list it (None: all); ``asks`` is the broker whose list it goes by."""

    client_id: str
    index: int
    start_ts: int
    topics: dict[str, str]
    strategy: Strategy
    brokers: tuple[str, ...] | None = None
    asks: str | None = None
    report: dict[str, Any] = field(default_factory=dict)
    answers: bool = True
    consumes: bool = True
    is_ghost: bool = False  # a connection without a JVM
    knows_route: bool = True
    is_pinned: bool = False
    owned: set[MessageQueue] = field(default_factory=set)
    busy: int = 0  # messages in hand, per queue
    heartbeat: dict[str, Any] = field(default_factory=dict)  # what heartbeats say of it

    @property
    def address(self) -> str:
        return f"10.0.0.{self.index + 1}:5000"


@dataclass
class Offsets:
    broker: int = 100
    consumer: int = 100
    consumed_ts: int = 0
    pulled: int = 100


class Fleet:
    """The group and everything said about it; ``facts`` is what the core made of it so far."""

    def __init__(
        self,
        topics: dict[str, dict[str, int]] | None = None,
        settings: Settings | None = None,
        *,
        every: float = 5,
        report_every: float = 20,
        progress_every: float = 10,
        rate: int = 4,
        cluster: str = "c",
        group: str = "g",
    ) -> None:
        self.group = Group(new_state(cluster, group), settings or DEFAULT_SETTINGS)
        self.every, self.report_every, self.progress_every, self.rate = every, report_every, progress_every, rate
        self.now = 0.0
        self.rounds = self.seq = self.joined = 0
        self.source = "test"
        self.instances: list[Instance] = []
        self.routes: dict[str, dict[str, tuple[int, int, int]]] = {}
        self.offsets: dict[MessageQueue, Offsets] = {}
        self.down: set[str] = set()
        self.no_lists: set[str] = set()  # brokers that serve their clients, and give no list of them
        self.no_offsets: set[str] = set()
        self.proxies: dict[str, tuple[str, ...]] = {}  # the ids that each lists, by its name in events
        self.proxy_heartbeat: dict[str, Any] = {}  # of the clients at proxies
        self.closed: set[str] = set()  # brokers that let nobody of the group consume
        self.polls: dict[str, int] = {}  # that wait for messages of T, by broker, or by queue as "a0"
        self.popped: set[str] = set()  # brokers, or queues as "a0", whose messages are taken by clients that own none
        self.come_back: dict[str, int] = {}  # messages of T that do so each round, by broker; they are taken again
        self.forgetful: set[str] = set()  # brokers that know no members
        self.stuck: set[MessageQueue] = set()
        self.hung: set[MessageQueue] = set()
        self.behind = 0  # so many messages of each queue are consumed later than they are written
        self.asked_one_by_one: set[MessageQueue] = set()  # though the route has them no more
        self.without_offset: set[MessageQueue] = set()  # queues of which brokers know no offset of the group
        self.reports_pull_offsets = True  # brokers of the 4.x line do not
        self.static_topics: set[str] = set()
        self.round_fields: dict[str, Any] = {}
        self.events: list[AnyEvent] = []
        self.facts: list[Fact] = []
        self.says_routes = True
        self.asks_all_name_servers = True
        self.other_copies: dict[str, list[dict[str, int]]] = {}  # of a topic, by name servers n2, n3, ...
        self.tells_changes = True  # as the collector's markers do; False: those of another producer
        self._routes_changed_ts = 0
        self._known_routes: dict[str, object] = {}
        self._known_lists: dict[str, tuple[list[str], int]] = {}
        self._told_routes: dict[str, float] = {}
        self._told_profiles: dict[tuple[str, str], tuple[object, float]] = {}
        for topic, brokers in (topics or {"T": {"a": 4, "b": 4}}).items():
            self.route(topic, **brokers)

    @property
    def state(self) -> GroupState:
        return self.group.state

    @state.setter
    def state(self, state: GroupState) -> None:
        self.group = Group(state, self.settings)

    @property
    def settings(self) -> Settings:
        return self.group.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self.group = Group(self.state, settings)

    # --- what happens

    def join(self, *client_ids: str, strategy: Strategy | None = None, **fields: Any) -> list[Instance]:
        """Clients start. ``fields`` are those of Instance; ``report`` overrides what their reports say."""
        made = []
        for client_id in client_ids:
            topics = fields.get("topics") or dict.fromkeys(self.routes, "*")
            given = {name: value for name, value in fields.items() if name != "topics"}
            start_ts = T0 + round(self.now * 1000) - 3_600_000 + self.joined
            one = Instance(client_id, self.joined, start_ts, topics, strategy or Averagely(), **given)
            self.joined += 1
            made.append(one)
        self.instances += made
        self.balance()
        return made

    def leave(self, *client_ids: str) -> None:
        self.instances = [one for one in self.instances if one.client_id not in client_ids]
        self.balance()

    def ghost(self, client_id: str) -> Instance:
        """A dead connection of a client that lives: the brokers list its id once more."""
        (one,) = self.join(client_id, is_ghost=True, answers=False)
        return one

    def drop(self, one: Instance) -> None:
        """One instance, or dead connection, goes away."""
        self.instances.remove(one)
        self.balance()

    def pause(self, client_id: str) -> None:
        """SIGSTOP: listed, silent, not consuming, and it learns nothing."""
        for one in self.of(client_id):
            one.answers = one.consumes = False
            one.is_pinned = True

    def resume(self, client_id: str) -> None:
        for one in self.of(client_id):
            one.answers = one.consumes = True
            one.is_pinned = False
        self.balance()

    def freeze(self) -> None:
        """From now on everybody keeps what it owns, whoever comes and goes."""
        for one in self.instances:
            one.is_pinned = True

    def thaw(self) -> None:
        """Everybody computes its share again."""
        for one in self.instances:
            one.is_pinned = False
        self.balance()

    def own(self, client_id: str, text: str, topic: str = "T") -> None:
        """From now on it owns these queues of the topic, whatever its strategy says."""
        for one in self.of(client_id):
            one.is_pinned = True
            one.owned = {q for q in one.owned if q.topic != topic} | set(queues(text, topic))

    def stick(self, text: str = "a0-3 b0-3", topic: str = "T") -> None:
        """From now on nobody consumes these queues; ``stick("")``: all are consumed again."""
        self.stuck = set(queues(text, topic))

    def hang(self, text: str = "a0-3 b0-3", topic: str = "T") -> None:
        """From now on listeners hang on these queues: they are pulled, up to 1,000 messages ahead, and not consumed."""
        self.hung = set(queues(text, topic))

    def of(self, client_id: str) -> list[Instance]:
        return [one for one in self.instances if one.client_id == client_id]

    def route(self, topic: str = "T", **brokers: int | tuple[int, int, int]) -> None:
        """Queues per broker: a number, or (read, write, perm)."""
        self.routes[topic] = {name: n if isinstance(n, tuple) else (n, n, 6) for name, n in brokers.items()}
        self._told_routes.pop(topic, None)
        self.balance()

    def balance(self) -> None:
        """Everybody computes its share from what it sees, at once."""
        for one in self.instances:
            if not (one.is_pinned or one.is_ghost):
                one.owned = {queue for topic in one.topics for queue in self._share(one, topic)}

    def _share(self, one: Instance, topic: str) -> Iterable[MessageQueue]:
        if not one.knows_route:
            return [queue for queue in one.owned if queue.topic == topic]
        readable = sort_queues(self._readable(topic))
        if one.report.get("message_model") == "BROADCASTING":
            return readable
        asked = one.asks or next(iter(self.routes.get(topic, {})), None)
        ids = sort_client_ids(self.listed(asked)) if asked is not None else []
        try:
            return one.strategy.allocate(one.client_id, readable, ids) if readable and ids else ()
        except AllocationError:
            return ()

    def _readable(self, topic: str) -> list[MessageQueue]:
        hosts = self.routes.get(topic, {})
        return [MessageQueue(topic, b, i) for b, (read, _, perm) in hosts.items() if perm & 4 for i in range(read)]

    def listed(self, broker: str) -> list[str]:
        """The broker's list: an id stands as often as it has connections."""
        known = [] if broker in self.forgetful else self.instances
        return [one.client_id for one in known if one.brokers is None or broker in one.brokers]

    # --- what is said

    @property
    def brokers(self) -> list[str]:
        return sorted({broker for hosts in self.routes.values() for broker in hosts} | self.down)

    def idle(self, seconds: float) -> "Fleet":
        """The same as ``run``, with a round every 20 s: for hours in which nothing happens."""
        kept, self.every = self.every, 20
        self.run(seconds)
        self.every = kept
        return self

    def run(self, seconds: float) -> "Fleet":
        """Rounds until ``seconds`` later."""
        until = self.now + seconds
        while self.now + self.every <= until + 1e-9:
            self.round()
        return self

    def round(self, **fields: Any) -> "Fleet":
        """One round: heartbeats, routes, reports, offsets, and the marker that ends it."""
        self.now += self.every
        self._move_offsets()
        self._say_heartbeats()
        for topic in self.routes if self.says_routes else ():
            if topic not in self._told_routes or self.now - self._told_routes[topic] >= 60:
                self.say_route(topic)
        self._say_reports()
        if self._is_time_for(self.progress_every):
            self.say_progress()
        self.mark(**fields)
        self.rounds += 1
        return self

    def _is_time_for(self, interval: float, index: int = 0) -> bool:
        return interval > 0 and (self.rounds + index) % max(1, round(interval / self.every)) == 0

    def _ts(self, at: float | None = None) -> int:
        return T0 + round((self.now if at is None else at) * 1000)

    def say(self, event_type: type[Any], at: float | None = None, **fields: Any) -> list[Fact]:
        """One event, numbered, at second ``at`` (default: now)."""
        common = {"schema": 1, "cluster": self.state.cluster, "group": self.state.group, "source": self.source}
        common |= {"round": self._ts(), "seq": self.seq, "ts": self._ts(at)}
        self.seq += 1
        return self.take(event_type(**(common | fields)))

    def take(self, event: AnyEvent) -> list[Fact]:
        self.events.append(event)
        take(self.group, event)
        new, self.group.facts = self.group.facts, []
        self.facts += new
        return new

    def mark(self, at: float | None = None, **fields: Any) -> list[Fact]:
        """The round's marker with every broker's list."""
        answers = tuple(
            BrokerAnswer(name, answered=False, error="no answer")
            if name in self.down | self.no_lists
            else self._answer(name, self._ts(at))
            for name in [*self.brokers, *self.proxies]
        )
        given = {"brokers": answers, "polls": self._polls(), **self.round_fields, **fields}
        if self.tells_changes:
            given["routes_changed_ts"] = self._routes_changed_ts
        return self.say(Round, at, **given)

    def _polls(self) -> tuple[TopicPolls, ...]:
        if not self._is_time_for(self.progress_every):
            return ()
        places = {place: place.rstrip("0123456789") for place in sorted(self.polls)}
        return tuple(
            TopicPolls(
                broker, "T", int(place[len(broker) :] or -1), self._ts(), self.polls[place], broker in self.closed
            )
            for place, broker in places.items()
            if broker not in self.down
        )

    def _answer(self, name: str, marker_ts: int) -> BrokerAnswer:
        ids = list(self.proxies[name]) if name in self.proxies else self.listed(name)
        known, since = self._known_lists.get(name, (sorted(ids), 0))
        since = marker_ts if known != sorted(ids) else since
        self._known_lists[name] = (sorted(ids), since)
        since = since if self.tells_changes else 0
        return BrokerAnswer(name, answered=True, client_ids=tuple(ids), listed_since=since)

    def say_route(self, topic: str = "T", at: float | None = None) -> None:
        brokers = tuple(RouteQueues(name, *numbers) for name, numbers in sorted(self.routes[topic].items()))
        others = tuple(
            RouteCopy((f"n{number}",), tuple(RouteQueues(name, n, n, 6) for name, n in sorted(copy.items())))
            for number, copy in enumerate(self.other_copies.get(topic, ()), 2)
        )
        asked = {"name_servers": ("n1",) if others else (), "others": others} if self.asks_all_name_servers else {}
        if self._known_routes.get(topic) != (brokers, others):
            self._routes_changed_ts = max(self._routes_changed_ts, self._ts(at))
        self._known_routes[topic] = (brokers, others)
        self.say(TopicRoute, at, topic=topic, brokers=brokers, static=topic in self.static_topics, **asked)
        self._told_routes[topic] = self.now if at is None else at

    def lose_sight_of(self, lister: str, seconds: float) -> None:
        """A broker or proxy gives no list of its clients for so long."""
        self.no_lists = {lister}
        self.run(seconds)
        self.no_lists = set()

    def restart_brokers(self, *names: str) -> "Fleet":
        """They are back, and know nobody for one round: then come the clients' heartbeats."""
        self.down -= set(names)
        self.forgetful = set(names)
        self.round()
        self.forgetful = set()
        return self

    def _say_heartbeats(self) -> None:
        for broker in self.brokers:
            if broker not in self.down | self.no_lists:
                for client_id in dict.fromkeys(self.listed(broker)):
                    self._say_heartbeat(broker, client_id)
        for proxy in self.proxies.keys() - self.no_lists if self.proxy_heartbeat and self._is_time_for(30) else ():
            for client_id in self.proxies[proxy]:
                said = {"broker_name": proxy, "client_id": client_id, "observed": "listed", **self.proxy_heartbeat}
                self.say(Heartbeat, **said)

    def _say_heartbeat(self, broker: str, client_id: str) -> None:
        listed = [one for one in self.of(client_id) if one.brokers is None or broker in one.brokers]
        said = {"message_model": listed[0].report.get("message_model", "CLUSTERING"), **listed[0].heartbeat}
        profile = (tuple(one.address for one in listed), said)
        told, told_at = self._told_profiles.get((broker, client_id), (None, 0.0))
        if told == profile and self.now - told_at < 30:
            return
        self._told_profiles[broker, client_id] = (profile, self.now)
        self.say(
            Heartbeat,
            broker_name=broker,
            client_id=client_id,
            observed="listed",
            addresses=profile[0],
            **said,
        )

    def _say_reports(self) -> None:
        """Each id is asked in its own round of the interval; of two instances, one after the other."""
        seen: set[str] = set()
        for one in self.instances:
            if one.client_id in seen:
                continue
            seen.add(one.client_id)
            if self._is_time_for(self.report_every, one.index):
                living = [i for i in self.of(one.client_id) if not i.is_ghost]
                turn = int(self.rounds * self.every // max(self.report_every, self.every))
                self.report(living[turn % len(living)] if living else one, self.now - 1)

    def report(self, one: Instance | str, at: float | None = None, **fields: Any) -> None:
        """What a client answers, or that it does not."""
        if isinstance(one, str):
            (one,) = self.of(one)
        common: dict[str, Any] = {"client_id": one.client_id, "answered_ts": self._ts(at)}
        if not one.answers:
            self.say(AssignmentReport, at, **(common | {"answered": False, "reason": "timeout"} | fields))
            return
        given = {
            "answered": True,
            "start_ts": one.start_ts,
            "strategy": CLASSES.get(one.strategy.name, one.strategy.name),
            "orderly": False,
            "message_model": "CLUSTERING",
            "subscriptions": tuple(Subscription(topic, expr) for topic, expr in sorted(one.topics.items())),
            "owned": _owned(one, self.hung),
        }
        self.say(AssignmentReport, at, **(common | given | one.report | fields))

    def _move_offsets(self) -> None:
        consumed = {q for one in self.instances if one.consumes for q in one.owned} - self.stuck
        for topic, hosts in self.routes.items():
            for broker, (_, write, _) in hosts.items():
                for queue_id in range(write):
                    queue = MessageQueue(topic, broker, queue_id)
                    offsets = self.offsets.setdefault(queue, Offsets())
                    if broker not in self.down:
                        offsets.broker += round(self.rate * self.every)
                        if queue in consumed:
                            self._consume(queue, offsets)
                        elif queue not in self.stuck and not self.popped.isdisjoint((broker, f"{broker}{queue_id}")):
                            offsets.pulled = offsets.consumer = offsets.broker

        for broker, number in self.come_back.items():
            queue = MessageQueue(f"%RETRY%{self.state.group}_T", broker, 0)
            self.asked_one_by_one.add(queue)
            offsets = self.offsets.setdefault(queue, Offsets())
            offsets.broker += number
            offsets.pulled = offsets.consumer = offsets.broker

    def _consume(self, queue: MessageQueue, offsets: Offsets) -> None:
        if queue in self.hung:
            offsets.pulled = max(offsets.pulled, min(offsets.broker, offsets.consumer + 1_000))
        else:
            offsets.pulled = offsets.consumer = max(offsets.consumer, offsets.broker - self.behind)
            offsets.consumed_ts = self._ts()

    def say_progress(self, at: float | None = None) -> None:
        """Every broker's offsets."""
        by_host: dict[tuple[str, str], list[QueueProgress]] = {}
        for queue, o in self.offsets.items():
            numbers = self.routes.get(queue.topic, {}).get(queue.broker_name, (0, 0, 0))
            if queue.broker_name in self.down | self.no_offsets:
                continue
            if queue.queue_id < max(numbers[:2]) or queue in self.asked_one_by_one:
                pulled = max(o.pulled, o.consumer) if self.reports_pull_offsets else -1
                progress = QueueProgress(queue.queue_id, o.broker, o.consumer, pulled, o.consumed_ts)
                if queue in self.without_offset:
                    progress = QueueProgress(queue.queue_id, o.broker, -1, -1)
                by_host.setdefault((queue.topic, queue.broker_name), []).append(progress)
        for (topic, broker), progress in by_host.items():
            self.say(ConsumeProgress, at, topic=topic, broker_name=broker, queues=tuple(progress))

    # --- what came of it

    def told(self, payload: type[Payload]) -> list[Fact]:
        return [fact for fact in self.facts if isinstance(fact.payload, payload)]

    def finding(self, queue: str, topic: str = "T") -> QueueFact:
        """The newest fact of a queue."""
        (wanted,) = queues(queue, topic)
        return [
            fact.payload
            for fact in self.told(QueueFact)
            if (fact.topic, fact.payload.broker_name, fact.payload.queue_id) == wanted
        ][-1]

    def findings(self, topic: str = "T") -> dict[str, str]:
        """Queue -> the newest finding, of queues that exist."""
        newest = {
            f"{fact.payload.broker_name}{fact.payload.queue_id}": fact.payload
            for fact in self.told(QueueFact)
            if fact.topic == topic
        }
        return {queue: payload.finding for queue, payload in sorted(newest.items()) if payload.present}

    def alerts(self, kind: str | None = None, topic: str | None = None) -> list[tuple[float, str, str]]:
        """(second, state, reason) of every alert fact that says more than a new number of messages."""
        return [
            ((fact.ts - T0) / 1000, fact.payload.state, fact.payload.reason)
            for fact in self.told(AlertFact)
            if kind in (None, fact.payload.kind)
            and topic in (None, fact.topic)
            and fact.payload.reason != AlertReason.WAITING_CHANGED
        ]

    def alert(self, kind: str, topic: str | None = "T") -> AlertFact:
        """The newest fact of an alert."""
        return [f.payload for f in self.told(AlertFact) if (f.payload.kind, f.topic) == (kind, topic)][-1]

    def firing(self) -> set[tuple[str, str]]:
        """(topic, kind) of the alerts that fire now; the topic of one about the whole group is ""."""
        return {(alert.topic, alert.kind) for alert in self.state.alerts if STATES[Phase(alert.phase)] == "firing"}

    def fired(self) -> set[tuple[str, str]]:
        """The same, of all that ever fired."""
        return {(f.topic or "", f.payload.kind) for f in self.told(AlertFact) if f.payload.state == "firing"}

    def called(self) -> set[tuple[str, str]]:
        """The same, of those for which somebody is called."""
        calling = [(f.topic or "", f.payload) for f in self.told(AlertFact) if f.payload.severity != Severity.INFO]
        return {(topic, alert.kind) for topic, alert in calling if alert.state == "firing"}

    def status(self) -> GroupFact:
        return self.told(GroupFact)[-1].payload

    def restart(self) -> None:
        """What a checkpoint does to the state."""
        self.state = unpack(pack(self.state))


def _owned(one: Instance, hung: set[MessageQueue]) -> tuple[OwnedQueues, ...]:
    by_host: dict[tuple[str, str], list[OwnedQueue]] = {}
    for queue in sort_queues(one.owned):
        owned = OwnedQueue(queue.queue_id, cached_msg_count=one.busy or 9 * (queue in hung))
        by_host.setdefault((queue.topic, queue.broker_name), []).append(owned)
    return tuple(OwnedQueues(topic, broker, tuple(owned)) for (topic, broker), owned in by_host.items())


def record_of(event: AnyEvent, offset: int = 0) -> Record:
    """The event as a line of a file."""
    value = encode_event(event)
    return Record(None, value, len(value), None, None, "file", None, offset)


def said(alert: AlertFact) -> str:
    """The alert's evidence as a person reads it."""
    return english_evidence(alert, str)


def running(
    seconds: float = 60, clients: Iterable[str] = ("x", "y"), how: Mapping[str, Any] | None = None, **fields: Any
) -> Fleet:
    """A group whose clients have run for so many seconds, ``how`` its clients do; ``fields`` of the fleet."""
    fleet = Fleet(**fields)
    fleet.join(*clients, **(how or {}))
    return fleet.run(seconds)


def not_taken_over() -> Fleet:
    """z leaves at 60 s, and nobody takes its queues over."""
    fleet = running(clients=("x", "y", "z"))
    fleet.freeze()
    fleet.leave("z")
    return fleet
