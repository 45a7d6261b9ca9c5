"""NO_MEMBERS: no broker and no proxy lists a member of a group that had some, and messages wait."""

from collections.abc import Iterator

from schemas.facts import Kind, Severity
from schemas.identity import is_retry_topic, proxy_address
from schemas.observed import NoMemberListed, counted
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.polls import COME_BACK_LATE_MS, come_back_ms
from streaming.core.finding_kinds import HOLD_NO_MEMBERS_MS
from streaming.core.findings.verdict import GroupFinding
from streaming.core.state.group import Group
from streaming.core.state.group_state import Broker
from streaming.core.state.members import away_before_ms, indices_of, missed_since_ts


def no_members(evidence: GroupEvidence) -> Iterator[GroupFinding]:
    """Every broker answered, and none lists a member, though there were some, they are missed, and messages wait.

    What waits in topics that the group gave up before does not count. If offsets move all the same, somebody consumes
    whom brokers do not list: clients of a proxy in cluster mode. While clients of a proxy that was away may still be
    listed again by themselves, it is info: messages wait, and nobody is called yet.
    """
    state = evidence.group.state
    if evidence.members or evidence.uncovered or not state.brokers or _is_consumed(evidence):
        return
    queues = evidence.group.subscribed_queues()
    known = [queue for queue in queues if queue.progress_ts]
    waiting = sum(queue.consumer_lag for queue in known if queue.consumer_lag > 0)
    is_missed = evidence.has_left_lately and evidence.now >= missed_since_ts(evidence.group)
    if evidence.group.rule.always_on or (waiting and is_missed):
        left = {change.client_id for change in state.membership_changes if not change.joined}
        # a retry topic may have no offsets, if no message was ever retried
        without_offsets = (evidence.group.topic_of(queue).name for queue in queues if not queue.progress_ts)
        at_least = bool(known) and not all(map(is_retry_topic, without_offsets))
        allowed_ms = evidence.group.rule.may_be_empty_ms or None
        away = _proxies_away(evidence)
        severity = Severity.INFO if _may_be_listed_again(evidence, away) else None
        observed = NoMemberListed(
            waiting=counted(waiting) if known else None,
            at_least=at_least,
            away_before_ms=None if allowed_ms else away_before_ms(evidence.group) or None,
            allowed_ms=allowed_ms,
            at_proxies=any(map(_has_listed_members, state.brokers)) or None,
            proxies_away=tuple(sorted(proxy_address(proxy.name) for proxy in away)) or None,
        )
        yield GroupFinding(Kind.NO_MEMBERS, "", observed, clients=indices_of(evidence.group, left), severity=severity)


def _is_consumed(evidence: GroupEvidence) -> bool:
    consumed_ts = evidence.group.state.consumed_unlisted_ts
    return consumed_ts > 0 and evidence.now - consumed_ts <= evidence.group.timing.progress_max_gap_ms


def _has_listed_members(broker: Broker) -> bool:
    """True of a proxy that has listed a member of the group."""
    return broker.is_proxy and broker.changed_ts > 0


def _away_ts(proxy: Broker) -> int:
    """When it came back, or stopped to answer; 0: it has always answered."""
    return proxy.lost_ts or proxy.back_ts


def _proxies_away(evidence: GroupEvidence) -> list[Broker]:
    """Proxies with members of the group that were away when it lost its members, or about that time."""
    empty_since, proxies = evidence.group.state.empty_since, filter(_has_listed_members, evidence.group.state.brokers)
    return [one for one in proxies if _away_ts(one) and abs(_away_ts(one) - empty_since) <= COME_BACK_LATE_MS]


def _may_be_listed_again(evidence: GroupEvidence, away: list[Broker]) -> bool:
    """True if clients that run may not be listed yet. An alert that is more than info does not become info again."""
    state = evidence.group.state
    alerts = ((one.kind, one.severity) for one in state.alerts)
    if not away or any(kind == Kind.NO_MEMBERS and severity != Severity.INFO for kind, severity in alerts):
        return False
    back_by_ts = min(state.empty_since, max(map(_away_ts, away))) + come_back_ms(_languages(evidence.group))
    return evidence.now < max(back_by_ts, state.empty_since + HOLD_NO_MEMBERS_MS)


def _languages(group: Group) -> set[str]:
    """Of all clients that have left."""
    heartbeats = [group.heartbeat_of(client) for client in group.state.clients]
    return {(one and one.language) or "unknown" for one in heartbeats}
