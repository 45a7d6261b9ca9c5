"""One consumer group's answers, in the order in which they came, to its events.

Nothing here reads a clock or sends a request: the same answers give the same events, for every caller.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
    TopicInFlight,
    TopicOffsets,
    TopicPolls,
    TopicRoute,
    UnchangedList,
)
from schemas.identity import retry_topic
from streaming.collector.translation import reports
from streaming.collector.translation.broker_view import BrokerView, listed
from streaming.collector.translation.repetition import MarkerSettings, SentReports
from streaming.collector.translation.rounds import RoundTimes, in_parts
from streaming.collector.translation.routes import Routes, SentRoutes
from streaming.collector.wire import answers

KEEP_UNNAMED_TOPIC_MS = 3_600_000  # after nobody names it any more
OFFSETS_IN_A_MARKER = 1_000  # queues; offsets of more are events of their own


@dataclass
class _RoundContent:
    """The answers of a round so far, for its marker. ``reports`` and ``heartbeats`` have not changed."""

    lists: dict[str, answers.ConsumerListAnswer] = field(default_factory=dict)  # by broker
    asked: dict[str, None] = field(default_factory=dict)
    reports: list[ConfirmedReport] = field(default_factory=list)
    offsets: list[TopicOffsets] = field(default_factory=list)
    heartbeats: list[ListedClient] = field(default_factory=list)
    polls: list[TopicPolls] = field(default_factory=list)
    in_flight: list[TopicInFlight] = field(default_factory=list)


class GroupTranslation:
    """One group as one producer sees it. ``brokers`` are asked in every round, ``topics`` are those it consumes.

    ``times`` are those of its rounds. ``confirms`` false: everything is sent in full each time, as older producers do.
    """

    def __init__(self, cluster: str, group: str, source: str, routes: Routes, confirms: bool = True) -> None:
        self._confirms = confirms
        self.group = group
        self.brokers: dict[str, BrokerView] = {}
        self.topics: dict[str, None] = {retry_topic(group): None}
        self._named_ts: dict[str, int] = {}  # topics, and when they were last named
        self._common: dict[str, Any] = {"schema": SCHEMA_VERSION, "cluster": cluster, "group": group, "source": source}
        self._seq = 0
        self._routes = routes
        self.times = RoundTimes()
        self._content = _RoundContent()
        self._sent_routes = SentRoutes()
        self._sent_reports = SentReports()
        self._settings = MarkerSettings(group, confirms)

    def know(self, brokers: Iterable[str], topics: Iterable[str] = ()) -> None:
        for name in brokers:
            if name not in self.brokers:
                self.brokers[name] = BrokerView(name)
        self.topics.update(dict.fromkeys(topics))

    def turns(self) -> dict[str, list[tuple[int, tuple[str, ...]]]]:
        """Sets of topics that took turns on a broker, by its name, and since when."""
        return {name: list(view.turns) for name, view in self.brokers.items() if view.rival_subscriptions()}

    def recall_turns(self, turns: Mapping[str, Iterable[tuple[int, tuple[str, ...]]]]) -> None:
        self.know(turns)
        for name, those in turns.items():
            self.brokers[name].turns = deque(those)

    def forget(self, brokers: Iterable[str]) -> None:
        """Brokers that no longer host any of its topics."""
        for name in brokers:
            self.brokers.pop(name, None)

    def _name(self, topics: Iterable[str]) -> None:
        """Topics that the group is seen to consume."""
        named = dict.fromkeys(topics, self.times.newest_ts)
        self.topics.update(dict.fromkeys(named))
        self._named_ts |= named

    def _forget_topics(self) -> None:
        """Those that nobody has named for long, while members are there who would."""
        if not any(view.ids for view in self.brokers.values()):
            return
        oldest = self.times.ended_ts - KEEP_UNNAMED_TOPIC_MS
        unnamed = [topic for topic, ts in self._named_ts.items() if ts < oldest and topic != retry_topic(self.group)]
        for topic in unnamed:
            self.topics.pop(topic, None)
            self._sent_routes.forget(topic)
            del self._named_ts[topic]

    def set_back(self, by_ms: int) -> None:
        """The clock was set back: rounds and events go on from the time that it shows now."""
        self._named_ts = {topic: ts - by_ms for topic, ts in self._named_ts.items()}
        self.times.set_back(by_ms)
        self._sent_routes.set_back(by_ms)
        self._sent_reports.set_back(by_ms)
        self._settings.set_back(by_ms)
        for view in self.brokers.values():
            view.set_back(by_ms)

    def send_all(self) -> None:
        self._sent_routes.send_all()
        self._sent_reports.send_all()
        self._settings.send_all()
        for view in self.brokers.values():
            view.send_all()

    def begin_round(self, ts: int) -> None:
        self.times.begin(ts)

    def has_list_of(self, broker_name: str) -> bool:
        """Returns whether the broker was asked for its members in the present round itself, and that came back."""
        answer = self._content.lists.get(broker_name)
        return answer is not None and self.times.round_of(answer.ts) == self.times.started_ts

    def has_all_lists(self) -> bool:
        return all(name in self._content.lists for name in self.brokers)

    def is_outdated(self, answer: answers.ConsumerListAnswer) -> bool:
        view = self.brokers.get(answer.broker)
        return view is not None and view.is_outdated(answer)

    def take(self, answer: answers.GroupAnswer) -> list[AnyEvent]:
        """The events that an answer gives at once; it belongs to the round in which it was asked for."""
        self.times.answered(answer.end_ts)
        self.know((answer.broker,))
        if isinstance(answer, answers.ConsumerListAnswer):
            return self._take_list(answer)
        if isinstance(answer, answers.ConnectionsAnswer):
            return self._take_connections(answer)
        if isinstance(answer, answers.HeartbeatsAnswer):
            self.brokers[answer.broker].take_heartbeats(answer)
            return []
        if isinstance(answer, answers.RunningInfoAnswer):
            return self._take_running_info(answer)
        if isinstance(answer, answers.ConsumeStatsAnswer):
            return self._progress(answer)
        if isinstance(answer, answers.PollsAnswer):
            self._take_polls(answer)
            return []
        if isinstance(answer, answers.InFlightAnswer):
            in_flight = TopicInFlight(answer.broker, answer.topic, answer.end_ts, answer.messages)
            self._content.in_flight.append(in_flight)
            return []
        self._settings.take(answer)
        return []

    @property
    def is_lite(self) -> bool:
        """True if it consumes lite topics, by its settings or by its members' message model."""
        return self._settings.lite or any(view.is_lite for view in self.brokers.values())

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
        ended_ts = self.times.end(ts)
        content, self._content = self._content, _RoundContent()
        events: list[AnyEvent] = []
        for name, answer in content.lists.items():
            if answer.code == answers.SUCCESS:
                events += self._heartbeats(self.brokers[name], answer.end_ts, content)
        self._forget_topics()
        events += self._changed_routes()
        if asked is not None:
            content.asked = dict.fromkeys(asked)
        return events + in_parts(self._marker(content, ended_ts, not_asked or {}, is_look), self._next)

    def _next(self, round_ts: int | None = None) -> dict[str, Any]:
        self._seq += 1
        return {**self._common, "seq": self._seq - 1, "round": self.times.started_ts if round_ts is None else round_ts}

    def _take_list(self, answer: answers.ConsumerListAnswer) -> list[AnyEvent]:
        if self.is_outdated(answer):
            return []
        appeared, disappeared = self.brokers[answer.broker].take_list(answer)
        for client_id in disappeared:
            self._sent_reports.forget(client_id)
        self._content.lists[answer.broker] = answer
        changes: list[tuple[str, Literal["appeared", "disappeared"]]] = [(one, "disappeared") for one in disappeared]
        changes += [(one, "appeared") for one in appeared]
        common: dict[str, Any] = {"ts": answer.end_ts, "broker_name": answer.broker}
        return [ConsumerChange(**self._next(), **common, client_id=who, change=change) for who, change in changes]

    def _take_connections(self, answer: answers.ConnectionsAnswer) -> list[AnyEvent]:
        view = self.brokers[answer.broker]
        view.take_connections(answer)
        if answer.body is not None:
            self._name(answer.body.topics)
        asked = self._content.lists.get(answer.broker)
        if asked is None or asked.code != answers.SUCCESS:
            return []
        return self._heartbeats(view, answer.end_ts, self._content)

    def _heartbeats(self, view: BrokerView, ts: int, content: _RoundContent) -> list[AnyEvent]:
        """Those that say something new. The round's marker repeats the others, if one connection is all they say."""
        events: list[AnyEvent] = []
        for client_id, profile, is_news in view.send_due_heartbeats(ts):
            who = {"broker_name": view.name, "client_id": client_id, **profile._asdict()}
            if is_news or not self._confirms or len(profile.addresses) > 1:
                events.append(Heartbeat(**self._next(), ts=ts, observed="listed", **who))
            else:
                del who["alive"]
                content.heartbeats.append(ListedClient(**who))
        return events

    def _take_running_info(self, answer: answers.RunningInfoAnswer) -> list[AnyEvent]:
        """The report, or nothing where the round's marker confirms it."""
        round_ts = self.times.round_of(answer.ts)
        if self.times.is_open and round_ts == self.times.started_ts:
            self._content.asked[answer.client_id] = None
        times: dict[str, Any] = {"ts": answer.end_ts, "answered_ts": answer.end_ts, "client_id": answer.client_id}
        if answer.code != answers.SUCCESS:
            reason = reports.why_unanswered(answer)
            return [AssignmentReport(**self._next(round_ts), **times, answered=False, reason=reason)]
        content = reports.content_of(answer)
        self._name(subscription.topic for subscription in content["subscriptions"])
        owned = [queues.topic for queues in content["owned"]]
        self._name(owned)
        self._settings.named_in_events(owned)
        version, instance = reports.version_of(content), (answer.client_id, content["start_ts"] or 0)
        if self._confirms and not self._sent_reports.is_due(*instance, version, answer.end_ts):
            busy = reports.busy_places(content["owned"])
            self._content.reports.append(ConfirmedReport(answer.client_id, version, answer.end_ts, busy))
            return []
        self._sent_reports.note(*instance, version, answer.end_ts)
        return [AssignmentReport(**self._next(round_ts), **times, answered=True, data_version=version, **content)]

    def _progress(self, answer: answers.ConsumeStatsAnswer) -> list[AnyEvent]:
        """Offsets of a few queues are in the round's marker."""
        if answer.code != answers.SUCCESS:
            return []
        tables = reports.progress(answer)
        self._settings.named_in_events(topic for topic, _, _ in tables)
        if self._confirms and sum(len(queues) for _, _, queues in tables) <= OFFSETS_IN_A_MARKER:
            self._content.offsets += [
                TopicOffsets(broker_name, topic, answer.end_ts, tuple(map(reports.with_lags, queues)))
                for topic, broker_name, queues in tables
            ]
            return []
        round_ts = self.times.round_of(answer.ts)
        return [
            ConsumeProgress(
                **self._next(round_ts), ts=answer.end_ts, broker_name=broker_name, topic=topic, queues=queues
            )
            for topic, broker_name, queues in tables
        ]

    def _take_polls(self, answer: answers.PollsAnswer) -> None:
        if answer.waiting is not None or answer.is_closed:
            at = answer.broker, answer.topic, answer.queue_id
            self._content.polls.append(TopicPolls(*at, answer.end_ts, answer.waiting or 0, answer.is_closed))

    def _changed_routes(self) -> list[AnyEvent]:
        due = self._sent_routes.send_due(self.topics, self._routes)
        self._settings.named_in_events(topic for topic, _, _ in due)
        return [
            TopicRoute(
                **self._next(), ts=ts, topic=topic, brokers=route.queues, static=route.static,
                name_servers=route.name_servers, others=route.others,
            )
            for topic, route, ts in due
        ]  # fmt: skip

    def _marker(self, content: _RoundContent, ts: int, not_asked: Mapping[str, str], is_look: bool) -> Round:
        confirmed = {report.client_id for report in content.reports}
        rivals = {topics for view in self.brokers.values() for topics in view.rival_subscriptions()}
        lines = [
            view.answer(content.lists.get(name), ts, self._confirms) for name, view in sorted(self.brokers.items())
        ]
        return Round(
            **self._next(),
            ts=ts,
            brokers=tuple(one for one in lines if isinstance(one, BrokerAnswer)),
            unchanged_lists=tuple(one for one in lines if isinstance(one, UnchangedList)),
            asked=tuple(client_id for client_id in content.asked if client_id not in confirmed),
            not_asked=tuple(NotAsked(client_id, reason) for client_id, reason in sorted(not_asked.items())),
            **self._settings.send(ts, self._subscribed(content.lists)),
            rival_subscriptions=tuple(sorted(rivals)),
            pop_topics=self._settings.pop_topics,
            popped_in_part=self._settings.popped_in_part,
            routes_changed_ts=self._sent_routes.changed_ts,
            look=is_look,
            reports=tuple(content.reports),
            offsets=tuple(content.offsets),
            heartbeats=tuple(content.heartbeats),
            polls=tuple(content.polls),
            lite=self.is_lite,
            in_flight=tuple(content.in_flight),
        )

    def _subscribed(self, lists: Mapping[str, answers.ConsumerListAnswer]) -> tuple[str, ...] | None:
        """By all brokers that list a member in this round; one of them that has not shown its table may know more."""
        listing = [self.brokers[name] for name, answer in lists.items() if listed(answer)]
        shown = [view.subscribed(self.times.started_ts) for view in listing]
        topics = {topic for table in shown for topic in table or ()}
        return tuple(sorted(topics)) if topics and None not in shown else None
