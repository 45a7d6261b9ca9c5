"""The facts of one group, in their order, folded into a picture: of each thing what was told of it last. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from schemas.facts import (
    AlertFact,
    AlertState,
    EvaluationFailedFact,
    EventsLostFact,
    Fact,
    GroupFact,
    Kind,
    MemberFact,
    MembershipFact,
    Payload,
    QueueFact,
    RebalanceFact,
)
from streaming.core.alerts.lifecycle import Reason
from streaming.explain.reasons import is_open, why_no_alert, why_of
from streaming.explain.snapshot import Alert, Change, GroupSnapshot, Monitor, Queue, Transition, Unalerted, View
from streaming.wording.numbers import age, counted

KINDS: tuple[type[Payload], ...] = (
    QueueFact,
    AlertFact,
    MembershipFact,
    MemberFact,
    RebalanceFact,
    GroupFact,
    EvaluationFailedFact,
    EventsLostFact,
)
LATELY_MS = 3_600_000
CHANGES_AT_MOST = 20
AS_IT_SHOULD_BE = (Kind.MATCH,)
NOBODYS = (Kind.ORPHANED, Kind.NO_MEMBERS)

_QueueKey: TypeAlias = tuple[str, str, int]


class _Newest:
    """Of each queue, client, broker's list and alert what was told last."""

    def __init__(self) -> None:
        self.queues: dict[_QueueKey, tuple[int, QueueFact]] = {}
        self.members: dict[str, MemberFact] = {}
        self.entries: dict[tuple[str, str], int] = {}
        self.alerts: dict[str, list[tuple[Fact, AlertFact]]] = {}
        self.group: tuple[int, GroupFact] | None = None

    def take(self, fact: Fact) -> None:
        told = fact.payload
        if isinstance(told, QueueFact):
            self.queues[fact.topic or "", told.broker_name, told.queue_id] = (fact.ts, told)
        elif isinstance(told, MemberFact):
            self.members[told.client_id] = told
        elif isinstance(told, MembershipFact):
            self.entries[told.broker_name, told.client_id] = told.entries
        elif isinstance(told, GroupFact):
            self.group = (self.group[0] if self.group and _is_alike(self.group[1], told) else fact.ts, told)
        elif isinstance(told, AlertFact):
            if told.reason == Reason.FOUND:
                self.alerts[told.fingerprint] = []
            self.alerts.setdefault(told.fingerprint, []).append((fact, told))

    def list_as_members_say(self) -> None:
        """Who is listed where, of lists whose own facts have expired."""
        for member in self.members.values():
            for broker_name in member.brokers if member.present else ():
                self.entries.setdefault((broker_name, member.client_id), member.instances)


def _is_alike(one: GroupFact, other: GroupFact) -> bool:
    """Whether the later one was told only because an hour had gone by."""
    return (one.status, one.members, one.counts, one.brokers_covered) == (
        other.status,
        other.members,
        other.counts,
        other.brokers_covered,
    )


def snapshot_of(facts: Sequence[Fact], at: int | None = None, monitor: Monitor | None = None) -> GroupSnapshot:
    """``facts`` of one group, at least one, none told after ``at``; None: the newest time that was seen."""
    newest = _Newest()
    for fact in facts:
        newest.take(fact)
    newest.list_as_members_say()
    newest_ts = max(fact.ts for fact in facts)
    now = max(newest_ts, monitor.seen_ts if monitor else 0) if at is None else at
    status = newest.group[1] if newest.group else None
    queues = _queues(newest)
    alerts = tuple(_alert(life) for life in newest.alerts.values() if _is_of_interest(life, now))
    return GroupSnapshot(
        cluster=facts[0].cluster,
        group=facts[0].group,
        ts=now,
        newest_ts=newest_ts,
        monitor=monitor,
        status=status.status if status else None,
        status_ts=newest.group[0] if newest.group else None,
        reason=status.reason if status else None,
        counts=status.counts if status else None,
        brokers_covered=status.brokers_covered if status else None,
        brokers_known=status.brokers_known if status else None,
        members_reporting=status.members_reporting if status else None,
        members=tuple(sorted((m for m in newest.members.values() if m.present), key=lambda m: m.client_id)),
        views=_views(newest),
        queues=queues,
        alerts=tuple(sorted(alerts, key=lambda a: (not is_open(a.state), a.transitions[0].ts))),
        unalerted=_unalerted(queues, alerts),
        changes=_changes(facts, now),
    )


def _queues(newest: _Newest) -> tuple[Queue, ...]:
    return tuple(
        Queue(topic, broker_name, queue_id, q.finding, q.cause, q.reason, _owners(q), q.expected, q.since_ts, told_ts)
        for (topic, broker_name, queue_id), (told_ts, q) in sorted(newest.queues.items(), key=lambda item: item[0])
        if q.present
    )


def _owners(told: QueueFact) -> tuple[str, ...] | None:
    """That a queue is nobody's is proven of some findings alone."""
    return told.owners if told.owners or told.finding in NOBODYS else None


def _views(newest: _Newest) -> tuple[View, ...]:
    brokers: dict[str, list[str]] = {}
    for (broker_name, client_id), entries in sorted(newest.entries.items()):
        brokers.setdefault(broker_name, []).extend([client_id] * entries)
    return tuple(View(broker_name, tuple(clients)) for broker_name, clients in brokers.items())


def _is_of_interest(life: list[tuple[Fact, AlertFact]], now: int) -> bool:
    fact, told = life[-1]
    return told.state != AlertState.RESOLVED or fact.ts >= now - LATELY_MS


def _alert(life: list[tuple[Fact, AlertFact]]) -> Alert:
    fact, told = life[-1]
    return Alert(
        told.fingerprint,
        fact.topic,
        told.kind,
        told.state,
        told.severity,
        told.cause,
        told.evidence,
        told.stale,
        tuple((queue.broker_name, queue.queue_id) for queue in told.queues),
        tuple(
            Transition(f.ts, t.state, t.reason, why_of(t.reason), t.severity, t.cause, len(t.queues), t.stale)
            for f, t in life
        ),
    )


def _unalerted(queues: Iterable[Queue], alerts: Iterable[Alert]) -> tuple[Unalerted, ...]:
    alerted = {(alert.topic, *queue) for alert in alerts if is_open(alert.state) for queue in alert.queues}
    alike: dict[tuple[str, str, str | None, str | None], list[Queue]] = {}
    for q in queues:
        if q.finding not in AS_IT_SHOULD_BE and (q.topic, q.broker_name, q.queue_id) not in alerted:
            alike.setdefault((q.topic, q.finding, q.cause, q.reason), []).append(q)
    return tuple(
        Unalerted(
            topic,
            finding,
            cause,
            reason,
            why_no_alert(topic, finding, reason),
            tuple((q.broker_name, q.queue_id) for q in those),
            max(q.told_ts for q in those),
        )
        for (topic, finding, cause, reason), those in sorted(alike.items(), key=lambda i: i[0][1] == Kind.EXCLUDED)
    )


def _changes(facts: Sequence[Fact], now: int) -> tuple[Change, ...]:
    """Those of the last hour, or as many as can be read; oldest first."""
    lately = [fact for fact in facts if fact.ts >= now - LATELY_MS]
    found = sorted([*_comings_and_goings(lately), *_other_changes(lately)], key=lambda change: change.ts)
    return tuple(found[-CHANGES_AT_MOST:])


def _comings_and_goings(facts: Iterable[Fact]) -> Iterator[Change]:
    """What several brokers say at the same time of the same client is said once.

    Who stands in a broker's first list did not come then: of those only the number is said.
    """
    alike: dict[tuple[int, str, str], list[MembershipFact]] = {}
    first: dict[int, list[MembershipFact]] = {}
    for fact in facts:
        if isinstance(told := fact.payload, MembershipFact):
            if told.first_seen:
                first.setdefault(fact.ts, []).append(told)
            else:
                alike.setdefault((fact.ts, told.client_id, _change(told)), []).append(told)
    for ts, those in first.items():
        clients = len({told.client_id for told in those})
        yield Change(ts, f"the first {_lists(those)}: {counted(clients, 'client')} there already")
    for (ts, client_id, change), those in alike.items():
        yield Change(ts, f"{client_id} {change}: {_lists(those)}")


def _lists(those: Iterable[MembershipFact]) -> str:
    brokers = sorted({told.broker_name for told in those})
    return f"{'list' if len(brokers) == 1 else 'lists'} of {', '.join(brokers)}"


def _change(told: MembershipFact) -> str:
    """``appeared (registered)``, ``appeared, 2 times``."""
    reason = f" ({told.reason})" if told.reason else ""
    return told.change + reason + (f", {told.entries} times" if told.entries > 1 else "")


def _other_changes(facts: Iterable[Fact]) -> Iterator[Change]:
    for fact in facts:
        what = _what(fact.payload)
        if what is not None:
            yield Change(fact.ts, what)


def _what(told: Payload) -> str | None:
    if isinstance(told, RebalanceFact):
        end = "converged" if told.converged else "was given up"
        fewest = "" if told.fewest_moves is None else f", {told.fewest_moves} had to"
        moved = f"{counted(told.queues_moved, 'queue')} moved{fewest}"
        return f"a rebalance ({told.trigger}) {end} after {age(told.to_ts - told.from_ts)}: {moved}"
    if isinstance(told, EventsLostFact):
        return f"events were lost on the way from {told.source}: evidence started afresh"
    if isinstance(told, EvaluationFailedFact):
        return f"evaluating the group failed ({told.error}): this is evenkeel's own fault, please report it"
    return None
