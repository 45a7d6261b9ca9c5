"""The parts of a notification: functions that make the lines about alerts, one for each kind of line."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, tzinfo

from schemas.facts import AlertClient, AlertFact, AlertQueue, Cause, Kind
from streaming.core.alerts.phases import AlertReason
from streaming.core.finding_kinds import BY_POLLS
from streaming.notices.affected import queues_by_kind, seen_ts, waiting_in
from streaming.notices.evidence import evidence_of
from streaming.notices.language import Language
from streaming.notices.notice import OpenAlert
from streaming.wording.lists import grouped
from streaming.wording.names import cut, cut_middle, plain
from streaming.wording.numbers import by_broker, folded
from streaming.wording.times import clock, local, moment

NAME_WIDTH = 80
CHARACTERS_AT_MOST = 200  # combining marks may take no width
NAMES_AT_MOST = 3
RANGES_WIDTH = 120
EVIDENCE_WIDTH = 1000
KINDS_AT_MOST = 3


def shown(name: str) -> str:
    """A name that others chose, on one line, cut to its width."""
    text = plain(name)
    if len(text) > CHARACTERS_AT_MOST:
        text = text[: CHARACTERS_AT_MOST // 2] + text[-CHARACTERS_AT_MOST // 2 :]
    return cut_middle(text, NAME_WIDTH)


def what_is_so(alerts: Sequence[OpenAlert], words: Language, now: int) -> str:
    """The current findings. If all is right for now: the former findings, and until when they lasted."""
    wrong = [alert for alert in alerts if not is_right_for_now(alert)]
    if wrong or not alerts:
        return what_is_wrong(wrong, words)
    return _right_since(alerts, what_is_wrong(alerts, words), words, now, UTC)


def what_is_wrong(alerts: Sequence[OpenAlert], words: Language) -> str:
    """``4 queues consumed twice, 2 queues consumed by nobody``: each kind and each queue once, the worst first."""
    kinds = list(queues_by_kind(alerts).items())[:KINDS_AT_MOST]
    return words.comma.join(words.kind(shown(kind), queues) for kind, queues in kinds)


def alert_line(alert: OpenAlert, words: Language, now: int) -> str:
    """The finding and its topic, and if it is still seen."""
    topic = words.of_topic.format(topic=shown(alert.topic)) if alert.topic else ""
    stale = state_words(alert, words, now)
    kind = shown(alert.fact.kind)
    return words.alert_line.format(kind=kind, what=headline(alert, words, now), topic=topic, stale=stale)


def headline(alert: OpenAlert, words: Language, now: int, zone: tzinfo | None = UTC) -> str:
    """The finding; if the alert is right for now, until when it lasted."""
    what = words.kind(shown(alert.fact.kind), len(alert.fact.queues))
    return _right_since([alert], what, words, now, zone) if is_right_for_now(alert) else what


def is_right_for_now(alert: OpenAlert) -> bool:
    """True if the alert fires though all is right: mostly because the finding comes and goes."""
    is_kept_open = alert.fact.kept_open or alert.fact.reason in (AlertReason.COMES_AND_GOES, AlertReason.LISTS_DIFFER)
    return alert.is_firing and bool(is_kept_open)


def _right_since(alerts: Sequence[OpenAlert], what: str, words: Language, now: int, zone: tzinfo | None) -> str:
    """``4 queues consumed by nobody until 23:28:05``."""
    since_ts = max(alert.fact.right_since_ts or alert.ts for alert in alerts)
    return words.right_since.format(what=what, since=clock(since_ts, now, zone))


def state_words(alert: OpenAlert, words: Language, now: int, zone: tzinfo | None = UTC) -> str:
    """The reason why an alert does not fire yet and until when, is only a warning, or is open though right for now.

    It may also be that the deciding evidence is not known now. Mostly empty.
    """
    fact = alert.fact
    if not alert.is_open:
        return ""
    if fact.waits_for is not None:
        template = words.waits.get(fact.waits_for, "")
        return template.format(until=clock(fact.waits_until_ts or alert.ts, now, zone))
    stale = _stale_words(alert, words, now, zone)
    if fact.deploy_since_ts is None:
        return stale
    return words.deploy_goes_on.format(since=clock(fact.deploy_since_ts, now, zone)) + stale


def note_on(alert: OpenAlert, words: Language, now: int, zone: tzinfo | None = UTC) -> str:
    """The text of ``state_words`` for a separate line."""
    return state_words(alert, words, now, zone).lstrip(" -—")


def _stale_words(alert: OpenAlert, words: Language, now: int, zone: tzinfo | None) -> str:
    fact = alert.fact
    kept_open = {AlertReason.COMES_AND_GOES.value: words.at_rest, AlertReason.LISTS_DIFFER.value: words.lists_differ}
    template, since_ts = kept_open.get(fact.kept_open or fact.reason, ""), fact.right_since_ts or alert.ts
    if not template and fact.stale:
        template, since_ts = words.stale, seen_ts(alert)
    return template.format(since=clock(since_ts, now, zone), age=words.lasting(now - since_ts))


def queue_lines(alert: OpenAlert, words: Language, now: int, zone: tzinfo | None = UTC) -> Iterator[str]:
    """The lines of queues: queues with the same owners together, the most first."""
    fact = alert.fact
    alike = grouped(fact.queues, lambda queue: (queue.owners, queue.expected, queue.reason))
    for those in sorted(alike.values(), key=len, reverse=True):
        owners = those[0].owners
        by_nobody = words.owner_not_known if owners is None else words.owned_by_nobody
        by_nobody = words.of_no_client if fact.kind in BY_POLLS else by_nobody
        by_nobody = words.of_its_broker if fact.kind == Kind.REVIVE_STUCK else by_nobody
        held = words.owned_by if owners else by_nobody
        should = _should_own(those[0], fact, words, lambda ts: clock(ts, now, zone))
        yield held.format(queues=_ranges(those), owners=_named(owners or (), words)) + should


def _should_own(queue: AlertQueue, fact: AlertFact, words: Language, written: Callable[[int], str]) -> str:
    """The expected owner; empty if it is the owner, or if no owner is expected."""
    if queue.expected is None:
        if queue.reason is None:
            return ""
        why = words.reason(queue.reason, queue.reason_details, written)
        return words.expected_not_known.format(why=plain(why))
    if queue.owners and queue.expected == queue.owners and fact.kind != Kind.DUPLICATED:
        return ""
    return words.expected.format(owners=who_should_own(queue.expected, queue.owners, fact.kind, fact.cause, words))


def who_should_own(
    expected: Sequence[str], owners: Sequence[str] | None, kind: str, cause: str | None, words: Language
) -> str:
    """The expected owners; one of two instances of one id; for a queue that no client should own, what is missing."""
    if not expected:
        lacks = words.expected_of_none
        return lacks.get(cause or "") or lacks.get(kind) or lacks[""]
    is_of_one_id = kind == Kind.DUPLICATED and len(set(expected)) == 1 and expected[0] in (owners or ())
    if is_of_one_id and (owners or ()).count(expected[0]) > 1:
        return words.one_instance.format(client=shown(expected[0]))
    return _named(expected, words)


def _ranges(queues: Iterable[AlertQueue]) -> str:
    """``broker-a: 0-3, 7; broker-b: 1``."""
    brokers = by_broker((queue.broker_name, queue.queue_id) for queue in queues)
    return cut("; ".join(f"{shown(name)}: {', '.join(folded(ids))}" for name, ids in brokers.items()), RANGES_WIDTH)


def _named(client_ids: Iterable[str], words: Language) -> str:
    counts = Counter(client_ids)
    names = [shown(one) if n == 1 else f"{shown(one)} ({words.instances(n)})" for one, n in counts.items()]
    return _first(names, words) or words.nobody


def _first(names: Sequence[str], words: Language) -> str:
    more = f" {words.more_names(len(names) - NAMES_AT_MOST)}" if len(names) > NAMES_AT_MOST else ""
    return ", ".join(names[:NAMES_AT_MOST]) + more


def cause_line(cause: str, words: Language, is_over: bool = False) -> str:
    template = words.cause_was if is_over else words.cause_line
    return template.format(sentence=words.advice(cause).sentence, cause=shown(cause))


def advice_on(cause: str | None, kind: str, words: Language) -> tuple[str, str]:
    """The advice, and what helps until then: by the cause, or else by the kind, also if no known cause fits."""
    if cause is not None and not (cause == Cause.UNEXPLAINED and kind in words.do):
        return words.advice(cause).do, words.advice(cause).now
    return words.do.get(kind, ""), words.now.get(kind, "")


def about(names: Iterable[str | None], words: Language, docs: str) -> str | None:
    """The part of the documentation that explains the first of these causes and kinds."""
    name = next(filter(None, names), None)
    is_known = name in words.causes or name in words.kinds
    return f"{docs}/{words.findings_doc}#{name.lower()}" if name is not None and is_known else None


def evidence_line(alert: OpenAlert, words: Language, now: int) -> str:
    said = evidence_of(alert.fact, words.evidence, lambda ts: clock(ts, now))
    return words.evidence_line.format(evidence=cut(plain(said), EVIDENCE_WIDTH), time=clock(seen_ts(alert), now))


def waiting_line(alerts: Sequence[OpenAlert], words: Language, now: int, zone: tzinfo | None = UTC) -> str | None:
    """The messages that wait in the queues of the alerts, and when that was read, with the age of the oldest then.

    None if the number is not known or 0.
    """
    waiting = waiting_in(alerts)
    if waiting is None or not waiting.messages:
        return None
    oldest = ""
    if waiting.oldest_ts is not None:
        age = words.lasting(waiting.read_ts - waiting.oldest_ts)
        oldest = words.oldest.format(since=clock(waiting.oldest_ts, now, zone), age=age)
    messages, time = words.messages(waiting.messages), clock(waiting.read_ts, now, zone)
    return words.waiting_line.format(messages=messages, time=time, oldest=oldest)


def client_lines(alerts: Sequence[OpenAlert], words: Language, now: int, zone: tzinfo | None = UTC) -> list[str]:
    """The lines of clients, those that the causes name first; each shows what matters for its cause."""
    lines: dict[str, str] = {}
    for alert in alerts:
        for client in alert.fact.clients:
            details = words.semicolon.join(_of_client(client, alert, words, lambda ts: clock(ts, now, zone)))
            if details:
                lines.setdefault(
                    client.client_id, words.client_line.format(client=shown(client.client_id), details=details)
                )
    return list(lines.values())


def _of_client(client: AlertClient, alert: OpenAlert, words: Language, said: Callable[[int], str]) -> Iterator[str]:
    cause, kind = alert.fact.cause, alert.fact.kind
    if client.addresses:
        yield _first([shown(address) for address in client.addresses], words)
    if client.version:
        yield words.version.format(version=shown(client.version))
    if cause == Cause.STRATEGY_MISMATCH and client.strategy:
        yield shown(client.strategy.rpartition(".")[2])
    if cause == Cause.VIEW_DIVERGENCE and client.brokers:
        yield words.listed.format(brokers=_first([shown(name) for name in client.brokers], words))
    if (cause == Cause.SUBSCRIPTION_MISMATCH or kind == Kind.INCONSISTENT_SUBSCRIPTION) and client.subscriptions:
        yield words.subscribes.format(topics=_first([shown(topic) for topic in client.subscriptions], words))
    if client.start_ts:
        yield words.started.format(times=_first([said(ts) for ts in client.start_ts], words))
    if cause == Cause.CLIENT_STALLED and client.answered_ts is not None:
        yield words.answered.format(time=said(client.answered_ts))


def change_lines(alerts: Sequence[OpenAlert], words: Language, now: int) -> list[str]:
    return [words.change_line.format(time=clock(ts, now), change=what) for ts, what in changes_before(alerts, words)]


def changes_before(alerts: Iterable[OpenAlert], words: Language) -> list[tuple[int, str]]:
    """The time and text of each change before, the newest first, each once."""
    changes = {(change.ts, change.what, change.subject) for alert in alerts for change in alert.fact.changes}
    return [
        (ts, words.changes.get(what, "{what} {subject}").format(what=shown(what), subject=shown(subject)))
        for ts, what, subject in sorted(changes, reverse=True)
    ]


def since(ts: int, words: Language, now: int, zone: tzinfo | None) -> str:
    return words.since.format(since=moment(ts) + local(ts, zone), age=words.lasting(now - ts))


def lasted(ts: int, until: int, words: Language, zone: tzinfo | None) -> str:
    since = moment(ts) + local(ts, zone)
    return words.lasted.format(since=since, until=clock(until, ts), age=words.lasting(until - ts))
