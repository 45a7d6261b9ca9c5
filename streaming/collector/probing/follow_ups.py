"""Which clients of a group are asked out of turn: when their reports begin to count, and when reports disagree.

A finding needs a report of every client that it rests on from after the grace of the last change, and then all of them
once more. Waiting for each client's turn for both takes up to two periods. So the clients are asked as soon as the
grace has ended; and where some queue then has no owner or several, those concerned are asked again at once. Before
that the route of its topic is read again: a client may have read a newer one.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from schemas.identity import MessageQueue
from streaming.collector.probing.client_schedule import FIRST_ASK_AFTER_JOIN_MS
from streaming.collector.probing.last_answers import LastAnswers, disagreements, last_answer
from streaming.collector.translation.reports import flag
from streaming.collector.translation.routes import KnownRoute
from streaming.collector.wire.answers import Connection, ConnectionsAnswer, RunningInfoAnswer
from streaming.core.settings import Timing

TRIES_AT_MOST = 4  # to hear a second instance under one id; each broker forwards a request to one of the two by chance


Change = tuple[str, str]  # "list" and a broker, or "route" and a topic


class ReportGraces:
    """From when on what clients report counts: after a change they need time to share out their queues again.

    The job computes the same of the same changes (``core.evidence.grace``). Where the two differ, a client is asked at
    a moment that is of no use, and no finding changes. It belongs to one group. Times are those at which the rounds
    ended that showed the changes, as in the job.
    """

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._lists: dict[str, list[str]] = {}
        self._routes: dict[str, KnownRoute] = {}
        self._graces: dict[Change, int] = {}  # of changes in the present round
        self._ready_ts: dict[Change, int] = {}
        self._has_ended = False
        self.orderly = False

    def listed(self, lists: Mapping[str, Iterable[str]]) -> None:
        for broker, client_ids in lists.items():
            ids = sorted(client_ids)
            if self._lists.get(broker, []) != ids:
                self._lists[broker] = ids
                self._note(("list", broker), self._timing.grace_membership_ms)

    def restarted(self) -> None:
        """A client was started again so quickly that no list was without it: it has left all lists and joined them."""
        for broker in self._lists:
            self._note(("list", broker), self._timing.grace_membership_ms)

    def routed(self, routes: Mapping[str, KnownRoute]) -> None:
        for topic in self._routes.keys() - routes.keys():
            del self._routes[topic]
        for topic, route in routes.items():
            before = self._routes.get(topic)
            if before != route:
                self._routes[topic] = route
                self._note(("route", topic), self._grace_of_route(before, route))

    def round_ended(self, now: int) -> None:
        extra_ms = self._timing.grace_orderly_extra_ms if self.orderly else 0
        for what, grace_ms in self._graces.items():
            self._ready_ts[what] = now + grace_ms + extra_ms
        self._graces.clear()
        self._has_ended = True

    def is_under_way(self, now: int) -> bool:
        """Returns whether something changed whose grace has not ended."""
        return bool(self._graces) or any(ts > now for ts in self._ready_ts.values())

    def counts_from(self, topic: str) -> int | None:
        """Since when reports on the topic count; None: something has changed in the present round."""
        route = self._routes.get(topic)
        changes = [("route", topic), *(("list", one.broker_name) for one in (route.queues if route else ()))]
        if any(what in self._graces for what in changes):
            return None
        return max(self._ready_ts.get(what, 0) for what in changes)

    def _note(self, what: Change, grace_ms: int) -> None:
        self._graces[what] = max(grace_ms, self._graces.get(what, 0))

    def _grace_of_route(self, before: KnownRoute | None, route: KnownRoute) -> int:
        """A broker that comes or goes, and name servers that differ, take longer than a new number of queues."""
        if before is None and not self._has_ended:
            return 0
        is_long = bool(route.others) or (before is not None and _brokers(before) != _brokers(route))
        return self._timing.grace_broker_ms if is_long else self._timing.grace_route_ms


def _brokers(route: KnownRoute) -> set[str]:
    return {queues.broker_name for queues in route.queues}


class Disagreement(NamedTuple):
    """Those ``concerned`` have reported it, the last of them at ``ts``."""

    concerned: frozenset[str]
    ts: int


class FollowUps:
    """Belongs to one group, from round to round."""

    def __init__(self, timing: Timing) -> None:
        self.graces = ReportGraces(timing)
        self._answers = LastAnswers()
        self._lists: dict[str, tuple[str, ...]] = {}  # by broker
        self._connected: dict[str, array[int]] = {}  # by broker: digests of client ids, and of their connections
        self._all_connected: dict[str, int] = {}  # by broker: a digest of all of these
        self._routes: dict[str, KnownRoute] = {}
        self._ready_ts: dict[str, int] = {}  # topic -> since when its reports count, once that is past
        self._awaited: dict[str, int] = {}  # clients that are to report, then or later
        self._first: dict[MessageQueue, Disagreement] = {}
        self._doubted: dict[str, int] = {}
        self._to_confirm: set[Disagreement] = set()
        self._has_news = False

    def listed(self, lists: Mapping[str, tuple[str, ...]]) -> None:
        """The members that brokers list, by broker, of those that answer."""
        if all(self._lists.get(broker) == client_ids for broker, client_ids in lists.items()):
            return
        self.graces.listed(lists)
        self._lists |= lists
        self._has_news |= self._answers.listed(self._lists.values())
        everybody = {c for client_ids in self._lists.values() for c in client_ids}
        self._awaited = {c: ready_ts for c, ready_ts in self._awaited.items() if c in everybody}

    def connected(self, answer: ConnectionsAnswer, now: int) -> None:
        """The connections that a broker has. A client with another address may have been started again under its id."""
        connections = answer.body.connection_set if answer.body is not None else None
        if connections is None:
            return
        digest = hash(frozenset(connections))  # they come in another order each time
        if self._all_connected.get(answer.broker) == digest:
            return
        self._all_connected[answer.broker] = digest
        before, now_connected = self._connected.get(answer.broker), array("q", sorted(_digests(connections)))
        self._connected[answer.broker] = now_connected
        if before is not None and now_connected != before:
            known = {one.client_id for one in connections if hash(one.client_id) in before}
            still = {one.client_id for one in connections if _digest(one) in before}
            self._awaited |= dict.fromkeys(known - still, now + FIRST_ASK_AFTER_JOIN_MS)

    def routed(self, routes: Mapping[str, KnownRoute]) -> None:
        if self._routes != routes:
            self.graces.routed(routes)
            self._routes, self._has_news = dict(routes), True

    def reported(self, client_id: str, answer: RunningInfoAnswer, now: int) -> None:
        is_new, was_restarted = self._answers.add(client_id, last_answer(answer, now))
        self._has_news |= is_new or client_id in self._awaited
        if was_restarted:
            self.graces.restarted()
        if not any(self._answers.silent_since(self._awaited.get(client_id, 0) - 1, (client_id,))):
            self._awaited.pop(client_id, None)
        self.graces.orderly |= flag(answer.orderly) is True

    def second_instance_alive(self, now: int) -> None:
        """Two instances are proven to share an id. What follows for its queues is to be said once more, by all."""
        self._awaited |= {c: now for client_ids in self._lists.values() for c in client_ids}

    def doubted_routes(self, now: int) -> Mapping[str, int]:
        """Topics with queues on which reports disagree, and when the last of these disagreements showed first."""
        self._follow(now)
        return self._doubted

    def due(self, now: int) -> frozenset[str]:
        self._follow(now)
        silent = self._answers.silent_since
        self._to_confirm = {one for one in self._to_confirm if any(silent(one.ts, one.concerned))}
        again = {c for one in self._to_confirm for c in silent(one.ts, one.concerned)}
        awaited = {client_id for client_id, ts in self._awaited.items() if ts <= now}
        return frozenset(awaited | again | self._second_instances(now))

    def is_at_rest(self, now: int) -> bool:
        """Returns whether nothing has changed lately, all have reported since, and their reports agree."""
        return not (self.graces.is_under_way(now) or self._awaited or self._first)

    def _follow(self, now: int) -> None:
        for topic in self._routes:
            self._await_reports(topic, now)
        if self._has_news:
            self._compare()

    def _await_reports(self, topic: str, now: int) -> None:
        ready_ts = self.graces.counts_from(topic)
        if ready_ts is not None and self._ready_ts.get(topic) != ready_ts <= now:
            self._ready_ts[topic], self._has_news = ready_ts, True
            silent = self._answers.silent_since(ready_ts - 1, self._members_of(topic))
            self._awaited |= {client_id: max(ready_ts, self._awaited.get(client_id, 0)) for client_id in silent}

    def _second_instances(self, now: int) -> set[str]:
        """Ids listed twice are asked through another broker each time, which may know the other instance."""
        if self.graces.is_under_way(now):
            return set()
        return set(self._answers.may_have_another_instance(min(len(self._lists), TRIES_AT_MOST)))

    def _members_of(self, topic: str) -> frozenset[str]:
        return frozenset(c for hosting in self._routes[topic].queues for c in self._lists.get(hosting.broker_name, ()))

    def _compare(self) -> None:
        """Keeps when it was that each disagreement showed first: all of those concerned are to answer after that."""
        self._has_news = False
        found = dict(pair for topic in self._routes for pair in self._disagreements(topic))
        known = {queue: one for queue, one in self._first.items() if queue in found}
        new = {q: one for q, one in found.items() if q not in known or known[q].concerned != one.concerned}
        self._first = known | new
        self._doubted = {}
        for queue, one in self._first.items():
            self._doubted[queue.topic] = max(one.ts, self._doubted.get(queue.topic, 0))
        self._to_confirm = (self._to_confirm & set(known.values())) | set(new.values())

    def _disagreements(self, topic: str) -> Iterator[tuple[MessageQueue, Disagreement]]:
        """Compares the reports that count, on a topic that some client subscribes to."""
        ready_ts = self.graces.counts_from(topic)
        if ready_ts is None or self._ready_ts.get(topic) != ready_ts:
            return
        members = self._members_of(topic)
        reports = self._answers.since(ready_ts, members)
        if not any(topic in one.topics for those in reports.values() for one in those):
            return
        numbers = self._routes[topic].read_queue_nums()
        queues = (MessageQueue(topic, broker, n) for broker, number in numbers.items() for n in range(number))
        for queue, concerned in disagreements(queues, members, reports).items():
            yield queue, Disagreement(concerned, max(one.ts for c in concerned for one in reports[c]))


def _digests(connections: Iterable[Connection]) -> Iterator[int]:
    """A hash of each client id and of each connection: names and addresses of all clients would take much memory."""
    for one in connections:
        yield hash(one.client_id)
        yield _digest(one)


def _digest(connection: Connection) -> int:
    return hash((connection.client_id, connection.address))
