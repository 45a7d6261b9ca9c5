"""CONSUMED_AGAIN: messages come back all the time, because clients refuse them or do not acknowledge them in time."""

from collections.abc import Iterable, Iterator

from schemas.facts import Kind, Severity
from schemas.observed import ConsumedAgain, counted
from streaming.core.evidence.exclusions import PULLS
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.findings.verdict import GroupFinding
from streaming.core.state.group_state import Polls, Redelivered, Topic
from streaming.core.state.members import is_listed

# A message that its listener refuses comes back up to six times in ten minutes, and five such messages are no news.
LEAST_MESSAGES = 30
SOME = 10  # one in so many came back: more than a healthy listener refuses
MOST = 2  # more than one in so many
# The application chooses how long its SimpleConsumer's messages are invisible, and that is hardly longer than this.
LEFT_IN_FLIGHT_SIMPLE_MS = 600_000


def consumed_again(evidence: GroupEvidence) -> Iterator[GroupFinding]:
    """INFO for some of the messages: a listener may refuse them. A warning once most have come back for long.

    In FIFO groups no message comes back: HEAD_BLOCKED is found there.
    """
    for topic in evidence.group.state.topics:
        known = {one.broker: one.redelivered for one in topic.polls if one.redelivered is not None}
        steady = {broker: one for broker, one in known.items() if _is_steady(evidence, one)}
        if not steady or not evidence.may_subscribe(topic.name):
            continue
        observed = _observed(evidence, topic, steady)
        if observed.again >= LEAST_MESSAGES and observed.again * SOME >= observed.taken:
            is_most = observed.again * MOST > observed.taken and _lasts(evidence, steady.values())
            severity = Severity.WARNING if is_most or _was_warned_of(evidence, topic) else Severity.INFO
            yield GroupFinding(Kind.CONSUMED_AGAIN, topic.name, observed, severity=severity)


def _observed(evidence: GroupEvidence, topic: Topic, steady: dict[int, Redelivered]) -> ConsumedAgain:
    state, counts = evidence.group.state, steady.values()
    retry_topics = (one.name for one in state.topics if evidence.group.taken_with(one) is topic)
    return ConsumedAgain(
        again=counted(sum(one.again + one.again_before for one in counts)),
        taken=counted(sum(one.taken + one.taken_before for one in counts)),
        counted_ms=max(one.read_ts - (one.before_ts or one.period_ts) for one in counts),
        since_ts=min(one.began_ts for one in counts),
        broker_names=tuple(sorted(state.brokers[broker].name for broker in steady)),
        retry_topics=tuple(sorted(retry_topics)),
    )


def is_counted_again(evidence: GroupEvidence, topic_name: str) -> bool:
    """True if it is not known whether messages of the topic still come back: counting has begun again, or has ended."""
    return any(
        not (_is_old(evidence, one) or (_is_steady(evidence, one) and _is_counted(evidence, one)))
        for one in _redelivered(_polls_of(evidence, topic_name))
    )


def is_read_no_more(evidence: GroupEvidence, topic_name: str) -> bool:
    """True if on no broker the offsets that show whether messages come back have been read for long."""
    polls = _polls_of(evidence, topic_name)
    known = _redelivered(polls)
    return not polls or (bool(known) and all(_is_old(evidence, one) for one in known))


def _polls_of(evidence: GroupEvidence, topic_name: str) -> list[Polls]:
    topic = evidence.group.known_topic(topic_name)
    return [] if topic is None else topic.polls


def _redelivered(polls: Iterable[Polls]) -> list[Redelivered]:
    return [one.redelivered for one in polls if one.redelivered is not None]


def _is_old(evidence: GroupEvidence, one: Redelivered) -> bool:
    """True if the retry topic has not been read for so long that nobody waits for it any more."""
    return evidence.now - one.read_ts > evidence.group.timing.gone_after_ms


def _is_steady(evidence: GroupEvidence, one: Redelivered) -> bool:
    """True if it has gone on for longer than what was in flight of a client comes back, by offsets that are recent."""
    timing = evidence.group.timing
    is_recent = evidence.now - one.read_ts <= timing.progress_max_gap_ms
    return is_recent and one.grown_ts - one.began_ts >= timing.stall_ms and one.grown_ts > one.counted_ts


def _is_counted(evidence: GroupEvidence, one: Redelivered) -> bool:
    """True if it has been counted for long enough to say that hardly any message comes back."""
    return one.read_ts - one.counted_ts >= evidence.group.timing.stall_ms


def _lasts(evidence: GroupEvidence, steady: Iterable[Redelivered]) -> bool:
    """What a SimpleConsumer had taken before it left may come back for as long as that is invisible."""
    if evidence.consumes == PULLS and _has_left_lately(evidence):
        return False
    return max(one.grown_ts - one.counted_ts for one in steady) >= evidence.group.timing.consume_stall_ms


def _has_left_lately(evidence: GroupEvidence) -> bool:
    oldest = evidence.now - LEFT_IN_FLIGHT_SIMPLE_MS
    return any(client.since_ts > oldest for client in evidence.group.state.clients if not is_listed(client))


def _was_warned_of(evidence: GroupEvidence, topic: Topic) -> bool:
    """True if people were called for it: it goes on until hardly any message comes back."""
    alerts = (one for one in evidence.group.state.alerts if one.topic == topic.name)
    return any((one.kind, one.severity) == (Kind.CONSUMED_AGAIN, Severity.WARNING) for one in alerts)
