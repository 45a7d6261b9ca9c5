"""The parts of a page: what is said of alerts, one kind of thing after the other."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timezone, tzinfo

from schemas.facts import AlertClient, AlertQueue, AlertState, Cause, Kind
from streaming.core.alerts.phases import AlertReason
from streaming.notices.affected import queues_by_kind, seen_ts, waiting_in
from streaming.notices.evidence import evidence_of
from streaming.notices.language import Language
from streaming.notices.notice import OpenAlert
from streaming.wording.names import cut, cut_middle, plain
from streaming.wording.numbers import by_broker, folded
from streaming.wording.times import clock, local, moment

NAME_WIDTH = 80
CHARACTERS_AT_MOST = 200  # marks may take no room of their own
NAMES_AT_MOST = 3
RANGES_WIDTH = 120
EVIDENCE_WIDTH = 1000
KINDS_AT_MOST = 3


def shown(name: str) -> str:
    """A name that others chose, on one line, as far as it fits."""
    text = plain(name)
    if len(text) > CHARACTERS_AT_MOST:
        text = text[: CHARACTERS_AT_MOST // 2] + text[-CHARACTERS_AT_MOST // 2 :]
    return cut_middle(text, NAME_WIDTH)


def what_is_wrong(alerts: Sequence[OpenAlert], words: Language) -> str:
    """``4 queues consumed twice, 2 queues consumed by nobody``: each kind and each queue once, the worst first."""
    kinds = list(queues_by_kind(alerts).items())[:KINDS_AT_MOST]
    return words.comma.join(words.kind(shown(kind), queues) for kind, queues in kinds)


def alert_line(alert: OpenAlert, words: Language, now: int) -> str:
    """What is wrong with which topic, and whether that is still seen."""
    topic = words.of_topic.format(topic=shown(alert.topic)) if alert.topic else ""
    stale = stale_words(alert, words, now)
    kind = shown(alert.fact.kind)
    what = words.kind(kind, len(alert.fact.queues))
    return words.alert_line.format(kind=kind, what=what, topic=topic, stale=stale)


def stale_words(alert: OpenAlert, words: Language, now: int, zone: tzinfo | None = timezone.utc) -> str:
    """That what would decide it is not known now, or why it stays open though it is right for now; mostly empty."""
    fact = alert.fact
    if fact.state == AlertState.RESOLVED:
        return ""
    kept_open = {
        AlertReason.COMES_AND_GOES.value: words.at_rest,
        AlertReason.LISTS_DIFFER.value: words.lists_differ,
    }
    template, since_ts = kept_open.get(fact.kept_open or fact.reason, ""), fact.right_since_ts or alert.ts
    if not template and fact.stale:
        template, since_ts = words.stale, seen_ts(alert)
    return template.format(since=clock(since_ts, now, zone), age=words.lasting(now - since_ts))


def queue_lines(queues: Iterable[AlertQueue], kind: str, words: Language) -> Iterator[str]:
    """Queues with the same owners together, the most first. That nobody owns them is proven of ORPHANED alone."""
    alike: dict[tuple[tuple[str, ...], tuple[str, ...] | None], list[AlertQueue]] = {}
    for queue in queues:
        alike.setdefault((queue.owners, queue.expected), []).append(queue)
    for (owners, expected), those in sorted(alike.items(), key=lambda item: -len(item[1])):
        should = "" if expected is None or expected == owners else words.expected.format(owners=_named(expected, words))
        by_nobody = words.owned_by_nobody if kind == Kind.ORPHANED else words.owner_not_known
        held = words.owned_by if owners else by_nobody
        yield held.format(queues=_ranges(those), owners=_named(owners, words)) + should


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
    """What to do, and what helps until then: by the cause, or else by the kind."""
    if cause is not None:
        return words.advice(cause).do, words.advice(cause).now
    return words.do.get(kind, ""), words.now.get(kind, "")


def about(names: Iterable[str | None], words: Language, docs: str) -> str | None:
    """The part of the documentation that says more of the first of these causes and kinds."""
    name = next(filter(None, names), None)
    is_known = name in words.causes or name in words.kinds
    return f"{docs}/findings.md#{name.lower()}" if name is not None and is_known else None


def evidence_line(alert: OpenAlert, words: Language, now: int) -> str:
    said = evidence_of(alert.fact, words.evidence, lambda ts: clock(ts, now))
    return words.evidence_line.format(evidence=cut(plain(said), EVIDENCE_WIDTH), time=clock(seen_ts(alert), now))


def waiting_line(
    alerts: Sequence[OpenAlert], words: Language, now: int, zone: tzinfo | None = timezone.utc
) -> str | None:
    """How many messages wait in the queues of the alerts, and when that was read; the age of the oldest is as of then.

    None where it is not known, or none do.
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


def client_lines(
    alerts: Sequence[OpenAlert], words: Language, now: int, zone: tzinfo | None = timezone.utc
) -> list[str]:
    """Those that the causes name first; of each what matters for its cause."""
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
    """When and what, the newest first, each once."""
    changes = {(change.ts, change.what, change.subject) for alert in alerts for change in alert.fact.changes}
    return [(ts, _change(what, subject, words)) for ts, what, subject in sorted(changes, reverse=True)]


def _change(what: str, subject: str, words: Language) -> str:
    return (
        words.changes[what].format(subject=shown(subject))
        if what in words.changes
        else f"{shown(what)} {shown(subject)}"
    )


def since(ts: int, words: Language, now: int, zone: tzinfo | None) -> str:
    return words.since.format(since=moment(ts) + local(ts, zone), age=words.lasting(now - ts))


def lasted(ts: int, until: int, words: Language, zone: tzinfo | None) -> str:
    since = moment(ts) + local(ts, zone)
    return words.lasted.format(since=since, until=clock(until, ts), age=words.lasting(until - ts))
