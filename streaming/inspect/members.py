"""Every member of a group as a row: its own report, and its share of the load."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from msgspec.structs import replace

from schemas.identity import is_retry_topic
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.member_evidence import MemberEvidence
from streaming.core.state.members import addresses_of
from streaming.inspect.observed_groups import ObservedGroup
from streaming.inspect.queues import BUSY_PER_S
from streaming.inspect.snapshot import InspectedMember, InspectedQueue

HOT = 1.5  # times the mean of the members that own queues


def rows_of(
    observed: ObservedGroup, evidence: GroupEvidence, queues: Sequence[InspectedQueue]
) -> list[InspectedMember]:
    """The rows of members in the order of their ids."""
    owned: dict[str, list[InspectedQueue]] = {}
    for queue in queues:
        for client_id in dict.fromkeys(queue.owners or ()):
            owned.setdefault(client_id, []).append(queue)
    rows = sorted(
        (_row(observed, evidence, member, owned) for member in evidence.members.values()), key=lambda row: row.client_id
    )
    knows_all = all(queue.in_per_s is not None for queue in queues if not is_retry_topic(queue.topic))
    return _with_hot_ones(rows) if knows_all else rows


def _row(
    observed: ObservedGroup, evidence: GroupEvidence, member: MemberEvidence, owned: dict[str, list[InspectedQueue]]
) -> InspectedMember:
    client, state = member.client, observed.group.state
    newest = member.reports[0] if member.reports else None
    heartbeat = observed.group.heartbeat_of(client)
    owns = owned.get(client.client_id, []) if newest else None
    subscriptions = evidence.subscriptions(member)
    return InspectedMember(
        client_id=client.client_id,
        instances=member.entries,
        addresses=addresses_of(client) or None,
        brokers=observed.group.brokers_that_list(client),
        answered=newest is not None and not client.unanswered_since_ts,
        why_not=None if newest and not client.unanswered_since_ts else observed.why_silent(client.client_id),
        answer_age_s=None if newest is None else round(max(0, state.now - newest.answered_ts) / 1000, 1),
        started_ts=(newest.start_ts or None) if newest else None,
        language=heartbeat.language if heartbeat else None,
        version=heartbeat.version if heartbeat else None,
        strategy=member.running.strategy if member.running else None,
        subscriptions=None if subscriptions is None else tuple(s for s in subscriptions if not is_retry_topic(s[0])),
        # Retry queues are not counted: every group has them.
        queues=None if owns is None else sum(not is_retry_topic(queue.topic) for queue in owns),
        in_per_s=None if owns is None else _of_all([queue.in_per_s for queue in owns]),
        out_per_s=None if owns is None else _of_all([queue.out_per_s for queue in owns]),
        lag=None if owns is None or any(queue.lag is None for queue in owns) else total_lag(owns),
    )


def _of_all(rates: list[float | None]) -> float | None:
    return None if None in rates else total(rates)


def total(rates: Iterable[float | None]) -> float | None:
    """The sum of the known values; None if there is none."""
    known = [rate for rate in rates if rate is not None]
    return round(sum(known), 3) if known else None


def total_lag(queues: Iterable[InspectedQueue]) -> int | None:
    """The sum of the known lags; None if there is none."""
    known = [queue.lag for queue in queues if queue.lag is not None]
    return sum(known) if known else None


def _with_hot_ones(rows: list[InspectedMember]) -> list[InspectedMember]:
    rates = [row.in_per_s or 0 for row in rows if row.queues]
    least = max(BUSY_PER_S, HOT * fmean(rates)) if len(rates) > 1 else float("inf")
    return [replace(row, hot=True) if row.queues and (row.in_per_s or 0) >= least else row for row in rows]
