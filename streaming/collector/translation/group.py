"""One consumer group's answers, in the order in which they came, to its events.

Nothing here reads a clock or sends a request: the same answers give the same events, for every caller.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from schemas.events import (
    SCHEMA_VERSION,
    AnyEvent,
    AssignmentReport,
    BrokerAnswer,
    ConfirmedReport,
    ConsumeProgress,
    ConsumerChange,
    Heartbeat,
    ListedClient,
    NotAsked,
    Round,
    TopicOffsets,
    TopicRoute,
    UnchangedList,
)
from schemas.identity import retry_topic
from streaming.collector.translation import reports
from streaming.collector.translation.broker_view import BrokerView, Profile, listed
from streaming.collector.translation.repetition import REPORTS_WITHIN_MS, Told, is_due, told_now
from streaming.collector.translation.round_parts import in_parts
from streaming.collector.translation.routes import KnownRoute, Routes
from streaming.collector.translation.told_settings import ToldSettings
from streaming.collector.wire.answers import (
    SUCCESS,
    ConnectionsAnswer,
    ConsumerListAnswer,
    ConsumeStatsAnswer,
    GroupAnswer,
    HeartbeatsAnswer,
    RunningInfoAnswer,
    SubscriptionGroupAnswer,
)

REPEAT_ROUTE_MS = 60_000
KEEP_UNNAMED_TOPIC_MS = 3_600_000  # after nobody names it any more
ROUNDS_REMEMBERED = 256
INSTANCES_REMEMBERED = 4  # under one client id
OFFSETS_IN_A_MARKER = 1_000  # queues; offsets of more are events of their own


class GroupTranslation:
    """One group as one producer sees it. ``brokers`` are asked in every round, ``topics`` are those it consumes.

    ``confirms`` false: everything is told in full each time, as older producers do.
    """

    def __init__(self, cluster: str, group: str, source: str, routes: Routes, confirms: bool = True) -> None:
        self._confirms = confirms
        self.group = group
        self.brokers: dict[str, BrokerView] = {}
        self.topics: dict[str, None] = {retry_topic(group): None}
        self._common: dict[str, Any] = {"schema": SCHEMA_VERSION, "cluster": cluster, "group": group, "source": source}
        self._routes = routes
        self._emitted_routes: dict[str, tuple[KnownRoute, int]] = {}
        self._routes_changed_ts = 0
        self._named_ts: dict[str, int] = {}  # topics, and when they were last named
        self._seq = 0
        self._starts: deque[int] = deque(maxlen=ROUNDS_REMEMBERED)
        self._ended_ts = 0
        self._consume_enable: bool | None = None
        self._orderly: bool | None = None
        self._pop_topics: tuple[str, ...] = ()
        self._told_settings = ToldSettings(group)
        self._topics_told: set[str] = set()  # those that events named
        self._told_reports: dict[str, dict[int, Told]] = {}  # by client id and start of the instance
        self._confirmed: list[ConfirmedReport] = []
        self._offsets: list[TopicOffsets] = []
        self._repeated: list[ListedClient] = []
        self._clear()

    def _clear(self) -> None:
        self._open = False
        self._newest_ts = self._ended_ts
        self._lists: dict[str, ConsumerListAnswer] = {}
        self._asked: dict[str, None] = {}

    @property
    def is_open(self) -> bool:
        """Whether a round has begun and not ended."""
        return self._open

    @property
    def started_ts(self) -> int:
        """When the present round, or the last one, began: its number."""
        return self._starts[-1]

    @property
    def newest_ts(self) -> int:
        """The moment of the newest answer so far: the end of the present round, should it end now."""
        return self._newest_ts

    def is_late(self, answer: GroupAnswer) -> bool:
        """Whether it was asked for before the last round ended: such an answer does not begin a round."""
        return bool(self._starts) and answer.ts < self._ended_ts

    def know(self, brokers: Iterable[str], topics: Iterable[str] = ()) -> None:
        for name in brokers:
            self.brokers.setdefault(name, BrokerView(name))
        self.topics.update(dict.fromkeys(topics))

    def turns(self) -> dict[str, list[tuple[int, tuple[str, ...]]]]:
        """Sets of topics that took turns on a broker, by its name, and since when."""
        return {name: view.turns() for name, view in self.brokers.items() if view.rival_subscriptions()}

    def recall_turns(self, turns: Mapping[str, Iterable[tuple[int, tuple[str, ...]]]]) -> None:
        self.know(turns)
        for name, those in turns.items():
            self.brokers[name].recall_turns(those)

    def forget(self, brokers: Iterable[str]) -> None:
        """Brokers that no longer host any of its topics."""
        for name in brokers:
            self.brokers.pop(name, None)

    def _name(self, topics: Iterable[str]) -> None:
        """Topics that the group is seen to consume."""
        named = dict.fromkeys(topics, self._newest_ts)
        self.topics.update(dict.fromkeys(named))
        self._named_ts |= named

    def _forget_topics(self) -> None:
        """Those that nobody has named for long, while members are there who would."""
        if not any(view.ids for view in self.brokers.values()):
            return
        oldest = self._ended_ts - KEEP_UNNAMED_TOPIC_MS
        for topic in [
            topic for topic, ts in self._named_ts.items() if ts < oldest and topic != retry_topic(self.group)
        ]:
            self.topics.pop(topic, None)
            self._emitted_routes.pop(topic, None)
            del self._named_ts[topic]

    def set_back(self, by_ms: int) -> None:
        """The clock was set back: rounds and events go on from the time that it shows now."""
        self._starts = deque((start - by_ms for start in self._starts), maxlen=ROUNDS_REMEMBERED)
        self._ended_ts -= by_ms
        self._newest_ts -= by_ms
        self._routes_changed_ts = max(0, self._routes_changed_ts - by_ms)
        self._emitted_routes = {topic: (route, ts - by_ms) for topic, (route, ts) in self._emitted_routes.items()}
        self._named_ts = {topic: ts - by_ms for topic, ts in self._named_ts.items()}
        self._told_reports = {
            client_id: {start: told.set_back(by_ms) for start, told in instances.items()}
            for client_id, instances in self._told_reports.items()
        }
        for view in self.brokers.values():
            view.set_back(by_ms)
        self._told_settings.set_back(by_ms)

    def tell_all(self) -> None:
        """Tell everything in full once more: something that was told is lost."""
        self._told_reports.clear()
        self._told_settings.tell_all()
        self._emitted_routes = {topic: (route, 0) for topic, (route, _) in self._emitted_routes.items()}
        for view in self.brokers.values():
            view.tell_all()

    def begin_round(self, ts: int) -> None:
        """A round begins; its number is its start, and numbers rise."""
        self._starts.append(max(ts, self._starts[-1] + 1) if self._starts else ts)
        self._open = True

    def has_list_of(self, broker_name: str) -> bool:
        """Whether the broker was asked for its members in the present round itself, and that came back."""
        answer = self._lists.get(broker_name)
        return answer is not None and self._round_of(answer.ts) == self.started_ts

    def has_all_lists(self) -> bool:
        return all(name in self._lists for name in self.brokers)

    def is_outdated(self, answer: ConsumerListAnswer) -> bool:
        view = self.brokers.get(answer.broker)
        return view is not None and view.is_outdated(answer)

    def take(self, answer: GroupAnswer) -> list[AnyEvent]:
        """The events that an answer gives at once; it belongs to the round in which it was asked for."""
        self._newest_ts = max(self._newest_ts, answer.end_ts)
        self.know((answer.broker,))
        if isinstance(answer, ConsumerListAnswer):
            return self._take_list(answer)
        if isinstance(answer, ConnectionsAnswer):
            return self._take_connections(answer)
        if isinstance(answer, HeartbeatsAnswer):
            self.brokers[answer.broker].take_heartbeats(answer)
            return []
        if isinstance(answer, RunningInfoAnswer):
            return self._take_running_info(answer)
        if isinstance(answer, ConsumeStatsAnswer):
            return self._progress(answer)
        self._take_settings(answer)
        return []

    def alive_twice(self, broker: str) -> frozenset[str]:
        """Ids of which the broker has two connections that are alive."""
        return self.brokers[broker].alive_twice() if broker in self.brokers else frozenset()

    def end_round(
        self,
        ts: int | None = None,
        asked: Iterable[str] | None = None,
        not_asked: dict[str, str] | None = None,
        is_look: bool = False,
    ) -> list[AnyEvent]:
        """The rest of the round's events and its marker, at ``ts`` or at the end of the newest answer."""
        self._ended_ts = max(self._ended_ts, self._newest_ts if ts is None else ts, self.started_ts)
        events: list[AnyEvent] = []
        for name, answer in self._lists.items():
            if answer.code == SUCCESS:
                events += self._heartbeats(self.brokers[name], answer.end_ts)
        self._forget_topics()
        events += self._changed_routes()
        marker = self._marker(self._asked if asked is None else asked, not_asked or {}, is_look)
        self._confirmed, self._offsets, self._repeated = [], [], []
        events += in_parts(marker, self._next)
        self._clear()
        return events

    def _next(self, round_ts: int | None = None) -> dict[str, Any]:
        self._seq += 1
        return {**self._common, "seq": self._seq - 1, "round": self.started_ts if round_ts is None else round_ts}

    def _round_of(self, asked_ts: int) -> int:
        """The round in which a request was made: an earlier one, if it was made before that one ended."""
        if asked_ts >= self.started_ts or asked_ts >= self._ended_ts:
            return self.started_ts
        return next((start for start in reversed(self._starts) if start <= asked_ts), self._starts[0])

    def _take_list(self, answer: ConsumerListAnswer) -> list[AnyEvent]:
        if self.is_outdated(answer):
            return []
        appeared, disappeared = self.brokers[answer.broker].take_list(answer)
        for client_id in disappeared:
            self._told_reports.pop(client_id, None)
        self._lists[answer.broker] = answer
        return [
            *(self._change(answer, client_id, "disappeared") for client_id in disappeared),
            *(self._change(answer, client_id, "appeared") for client_id in appeared),
        ]

    def _change(
        self, answer: ConsumerListAnswer, client_id: str, change: Literal["appeared", "disappeared"]
    ) -> ConsumerChange:
        return ConsumerChange(
            **self._next(), ts=answer.end_ts, broker_name=answer.broker, client_id=client_id, change=change
        )

    def _take_connections(self, answer: ConnectionsAnswer) -> list[AnyEvent]:
        view = self.brokers[answer.broker]
        view.take_connections(answer)
        if answer.body is not None:
            self._name(sorted(answer.body.subscription_table or {}))
        asked = self._lists.get(answer.broker)
        return self._heartbeats(view, answer.end_ts) if asked is not None and asked.code == SUCCESS else []

    def _heartbeats(self, view: BrokerView, ts: int) -> list[AnyEvent]:
        """Those that say something new. The round's marker repeats the others, if one connection is all they tell."""
        events: list[AnyEvent] = []
        for client_id, profile, is_news in view.due(ts):
            if is_news or not self._confirms or len(profile.addresses) > 1:
                events.append(self._heartbeat(view.name, client_id, profile, ts))
            else:
                self._repeated.append(_listed_client(view.name, client_id, profile))
        return events

    def _heartbeat(self, broker_name: str, client_id: str, profile: Profile, ts: int) -> Heartbeat:
        return Heartbeat(
            **self._next(),
            ts=ts,
            broker_name=broker_name,
            client_id=client_id,
            observed="listed",
            **profile._asdict(),
        )

    def _take_running_info(self, answer: RunningInfoAnswer) -> list[AnyEvent]:
        """The report, or nothing where the round's marker confirms it."""
        round_ts = self._round_of(answer.ts)
        if self._open and round_ts == self.started_ts:
            self._asked[answer.client_id] = None
        times: dict[str, Any] = {"ts": answer.end_ts, "answered_ts": answer.end_ts, "client_id": answer.client_id}
        if answer.code != SUCCESS:
            reason = reports.why_unanswered(answer)
            return [AssignmentReport(**self._next(round_ts), **times, answered=False, reason=reason)]
        content = reports.content_of(answer)
        self._name(subscription.topic for subscription in content["subscriptions"])
        owned = [queues.topic for queues in content["owned"]]
        self._name(owned)
        self._topics_told.update(owned)
        version = reports.version_of(content)
        if not self._is_to_tell(answer.client_id, content["start_ts"] or 0, version, answer.end_ts):
            busy = reports.busy_places(content["owned"])
            self._confirmed.append(ConfirmedReport(answer.client_id, version, answer.end_ts, busy))
            return []
        return [AssignmentReport(**self._next(round_ts), **times, answered=True, data_version=version, **content)]

    def _is_to_tell(self, client_id: str, start_ts: int, version: int, ts: int) -> bool:
        """Whether the report is told in full; it is remembered then."""
        told = self._told_reports.get(client_id, {}).get(start_ts)
        if not self._confirms or is_due(client_id, told, version, ts, REPORTS_WITHIN_MS):
            instances = self._told_reports.setdefault(client_id, {})
            instances[start_ts] = told_now(instances.pop(start_ts, None), version, ts)
            while len(instances) > INSTANCES_REMEMBERED:
                del instances[next(iter(instances))]
            return True
        return False

    def _progress(self, answer: ConsumeStatsAnswer) -> list[AnyEvent]:
        """Offsets of a few queues are told by the round's marker."""
        if answer.code != SUCCESS:
            return []
        tables = reports.progress(answer)
        self._topics_told.update(topic for topic, _, _ in tables)
        if self._confirms and sum(len(queues) for _, _, queues in tables) <= OFFSETS_IN_A_MARKER:
            self._offsets += [
                TopicOffsets(broker_name, topic, answer.end_ts, tuple(map(reports.with_lags, queues)))
                for topic, broker_name, queues in tables
            ]
            return []
        round_ts = self._round_of(answer.ts)
        return [
            ConsumeProgress(
                **self._next(round_ts), ts=answer.end_ts, broker_name=broker_name, topic=topic, queues=queues
            )
            for topic, broker_name, queues in tables
        ]

    def _take_settings(self, answer: SubscriptionGroupAnswer) -> None:
        if answer.code == SUCCESS:
            self._consume_enable = answer.consume_enable
            self._orderly = answer.orderly
            self._pop_topics = answer.pop_topics or ()

    def _changed_routes(self) -> list[AnyEvent]:
        """Copies of the routes of its topics: when first covered, on change, and every 60 s."""
        events: list[AnyEvent] = []
        for topic in self.topics:
            route, ts = self._routes.get(topic)
            if route is None:
                continue
            emitted, emitted_ts = self._emitted_routes.get(topic, (None, 0))
            if emitted == route and ts - emitted_ts < REPEAT_ROUTE_MS:
                continue
            self._emitted_routes[topic] = (route, ts)
            self._topics_told.add(topic)
            if emitted != route:
                self._routes_changed_ts = max(self._routes_changed_ts, ts)
            events.append(self._route(topic, route, ts))
        return events

    def _route(self, topic: str, route: KnownRoute, ts: int) -> TopicRoute:
        return TopicRoute(
            **self._next(),
            ts=ts,
            topic=topic,
            brokers=route.queues,
            static=route.static,
            name_servers=route.name_servers,
            others=route.others,
        )

    def _marker(self, asked: Iterable[str], not_asked: dict[str, str], is_look: bool) -> Round:
        confirmed = {report.client_id for report in self._confirmed}
        rivals = {topics for view in self.brokers.values() for topics in view.rival_subscriptions()}
        answers = [
            view.answer(self._lists.get(name), self._ended_ts, self._confirms)
            for name, view in sorted(self.brokers.items())
        ]
        return Round(
            **self._next(),
            ts=self._ended_ts,
            brokers=tuple(answer for answer in answers if isinstance(answer, BrokerAnswer)),
            unchanged_lists=tuple(answer for answer in answers if isinstance(answer, UnchangedList)),
            asked=tuple(client_id for client_id in asked if client_id not in confirmed),
            not_asked=tuple(NotAsked(client_id, reason) for client_id, reason in sorted(not_asked.items())),
            **self._settings(),
            rival_subscriptions=tuple(sorted(rivals)),
            pop_topics=self._pop_topics,
            routes_changed_ts=self._routes_changed_ts,
            look=is_look,
            reports=tuple(self._confirmed),
            offsets=tuple(self._offsets),
            heartbeats=tuple(self._repeated),
        )

    def _settings(self) -> dict[str, Any]:
        """What most markers leave out, as it holds until told otherwise.

        A disabled or an orderly group is judged by other rules. So each marker says it: a reader that has just begun
        must not judge it as any other group. ``subscribed`` is told again when events have named another topic: it says
        of each topic that a reader knows whether it is subscribed to.
        """
        subscribed = self._subscribed()
        if not self._confirms:
            return {"consume_enable": self._consume_enable, "orderly": self._orderly, "subscribed": subscribed}
        ts, told = self._ended_ts, self._told_settings
        consume_enable = told.to_tell("consume_enable", self._consume_enable, ts)
        orderly = told.to_tell("orderly", self._orderly, ts)
        return {
            "consume_enable": False if self._consume_enable is False else consume_enable,
            "orderly": self._orderly or orderly,
            "subscribed": told.to_tell("subscribed", subscribed, ts, len(self._topics_told)),
        }

    def _subscribed(self) -> tuple[str, ...] | None:
        """By all brokers that list a member in this round; one of them that has not shown its table may know more."""
        listing = [self.brokers[name] for name, answer in self._lists.items() if listed(answer)]
        shown = [view.subscribed(self.started_ts) for view in listing]
        topics = {topic for table in shown for topic in table or ()}
        return tuple(sorted(topics)) if topics and None not in shown else None


def _listed_client(broker_name: str, client_id: str, profile: Profile) -> ListedClient:
    return ListedClient(
        broker_name,
        client_id,
        profile.addresses,
        profile.language,
        profile.version,
        profile.message_model,
        profile.consume_type,
    )
