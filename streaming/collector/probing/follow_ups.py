"""Which clients of a group are asked out of turn: when their reports begin to count, and when reports disagree.

A finding needs a report of every client that it rests on from after the grace of the last change, and then all of them
once more. Waiting for each client's turn for both takes up to two periods. So the clients are asked as soon as the
grace has ended; and where some queue then has no owner or several, those concerned are asked again at once.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from streaming.collector.probing.disagreements import Queue, Said, disagreements, said
from streaming.collector.probing.report_graces import ReportGraces
from streaming.collector.translation.answers import RunningInfoAnswer
from streaming.collector.translation.reports import flag
from streaming.collector.translation.routes import KnownRoute
from streaming.core.default_timers import Timing


class Disagreement(NamedTuple):
    """Those ``concerned`` have reported it, the last of them at ``ts``."""

    concerned: frozenset[str]
    ts: int


class FollowUps:
    """Of one group, from round to round."""

    def __init__(self, timing: Timing) -> None:
        self._graces = ReportGraces(timing)
        self._routes: dict[str, KnownRoute] = {}
        self._members: dict[str, frozenset[str]] = {}  # by broker
        self._reports: dict[str, Said] = {}
        self._ready_ts: dict[str, int] = {}  # topic -> since when its reports count, once that is past
        self._awaited: set[str] = set()  # clients that have not reported since
        self._first: dict[Queue, Disagreement] = {}
        self._to_confirm: set[Disagreement] = set()
        self._has_news = False

    def listed(self, lists: Mapping[str, Iterable[str]]) -> None:
        """The members that brokers list, by broker, of those that answer."""
        self._graces.listed(lists)
        self._members |= {broker: frozenset(client_ids) for broker, client_ids in lists.items()}
        everybody = _all(self._members.values())
        self._has_news |= not self._reports.keys() <= everybody
        self._reports = {client_id: one for client_id, one in self._reports.items() if client_id in everybody}
        self._awaited &= everybody

    def routed(self, routes: Mapping[str, KnownRoute]) -> None:
        """The routes of the group's topics."""
        self._graces.routed(routes)
        self._has_news |= self._routes != routes
        self._routes = dict(routes)

    def reported(self, client_id: str, answer: RunningInfoAnswer, now: int) -> None:
        """What a client answered."""
        before, report = self._reports.get(client_id), said(answer, now)
        self._has_news |= client_id in self._awaited or before is None or before.owned != report.owned
        if before is not None and before.start_ts < report.start_ts:
            self._graces.restarted()
        self._reports[client_id] = report
        self._awaited.discard(client_id)
        self._graces.orderly |= flag(answer.orderly) is True

    def round_ended(self, now: int) -> None:
        self._graces.round_ended(now)

    def due(self, now: int) -> frozenset[str]:
        """The clients to ask now."""
        for topic in self._routes:
            self._await_reports(topic, now)
        if self._has_news:
            self._compare()
        self._to_confirm = {one for one in self._to_confirm if any(self._silent_since(one.ts, one.concerned))}
        return frozenset(self._awaited.union(*(self._silent_since(one.ts, one.concerned) for one in self._to_confirm)))

    def is_at_rest(self, now: int) -> bool:
        """Whether nothing has changed lately, all have reported since, and their reports agree."""
        return not (self._graces.is_under_way(now) or self._awaited or self._first)

    def _await_reports(self, topic: str, now: int) -> None:
        ready_ts = self._graces.counts_from(topic)
        if ready_ts is not None and self._ready_ts.get(topic) != ready_ts <= now:
            self._ready_ts[topic], self._has_news = ready_ts, True
            self._awaited.update(self._silent_since(ready_ts - 1, self._members_of(topic)))

    def _members_of(self, topic: str) -> frozenset[str]:
        return _all(self._members.get(queues.broker_name, frozenset()) for queues in self._routes[topic].queues)

    def _silent_since(self, ts: int, client_ids: Iterable[str]) -> Iterator[str]:
        """Those whose last answer is not later."""
        return (c for c in client_ids if c not in self._reports or self._reports[c].ts <= ts)

    def _compare(self) -> None:
        """Keeps when it was that each disagreement showed first: all of those concerned are to answer after that."""
        self._has_news = False
        found = dict(pair for topic in self._routes for pair in self._disagreements(topic))
        known = {queue: one for queue, one in self._first.items() if queue in found}
        new = {q: one for q, one in found.items() if q not in known or known[q].concerned != one.concerned}
        self._first = known | new
        self._to_confirm = (self._to_confirm & set(known.values())) | set(new.values())

    def _disagreements(self, topic: str) -> Iterator[tuple[Queue, Disagreement]]:
        """Of the reports that count, on a topic that some client subscribes to."""
        ready_ts = self._graces.counts_from(topic)
        if ready_ts is None or self._ready_ts.get(topic) != ready_ts:
            return
        members = self._members_of(topic)
        reports = {c: self._reports[c] for c in members if c in self._reports and self._reports[c].ts >= ready_ts}
        if any(topic in report.topics for report in reports.values()):
            queues = (
                (topic, b, n) for b, number in self._routes[topic].read_queue_nums().items() for n in range(number)
            )
            for queue, concerned in disagreements(queues, members, reports).items():
                yield queue, Disagreement(concerned, max(reports[c].ts for c in concerned))


def _all(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)
