"""Rolling deploys: alerts about members that differ wait while these members are being replaced."""

from collections.abc import Set

from schemas.facts import Cause
from streaming.core.causes.table import CAUSES
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.finding_kinds import HOLD_MEMBERS_SPLIT_MS
from streaming.core.state.group import Group
from streaming.core.state.members import is_to_be_replaced, patience_ms


def comes_of_members_that_differ(cause: str | None) -> bool:
    """True if a rolling deploy may bring about the cause, because old and new members differ."""
    return cause is not None and CAUSES[Cause(cause)].members_differ


def is_rolling_deploy(evidence: GroupEvidence) -> bool:
    """Members join, others that were there before leave, and the deploy has neither stopped nor ended."""
    group, known = evidence.group, evidence.group.state.deploy
    if known is None or not (known.joined and (known.left or known.restarted)):
        return False
    patience = patience_ms(group, known)
    members = evidence.members.values()
    are_all_new = not any(is_to_be_replaced(group, known, member.client) for member in members)
    have_reported = all(member.as_of > known.last_ts for member in members)
    run_alike = have_reported and len({member.running for member in members}) == 1
    if are_all_new or run_alike:  # the old ones have left, or all run as the new ones do
        # until the last rebalance of a deploy is seen: its grace, and as long again for the reports
        extra_ms = group.timing.grace_orderly_extra_ms if evidence.orderly else 0
        patience = min(patience, 2 * group.timing.grace_membership_ms + extra_ms)
    return evidence.now - known.last_ts <= patience


def are_members_moving(evidence: GroupEvidence) -> bool:
    """Members joined and left a short while ago. Proxies may list those of them still that have gone over to brokers.

    Also where nobody who left was there before: what is known of that may be lost.
    """
    known = evidence.group.state.deploy
    if known is None or not known.joined or not known.steps:
        return False
    return evidence.now - known.last_ts <= HOLD_MEMBERS_SPLIT_MS


def note_mismatch(group: Group, causes: Set[str]) -> None:
    """Notes that members differ: other findings during the deploy mostly follow from this."""
    if group.state.deploy is not None and any(map(comes_of_members_that_differ, causes)):
        group.state.deploy.mismatched = True


def waits_for_deploy(evidence: GroupEvidence, cause: Cause | None) -> bool:
    """True if the finding follows from members that differ, and a rolling deploy is replacing them.

    Not only if that is its cause: when the last of the old members has left, none differ any more, but queues without
    an owner have yet to be taken over. Where no member reports, none says that it differs: what nothing else explains
    may follow from that.
    """
    known = evidence.group.state.deploy
    is_independent = cause is not None and CAUSES[cause].is_independent
    follows = comes_of_members_that_differ(cause) or (known is not None and known.mismatched and not is_independent)
    may_follow = cause is Cause.UNEXPLAINED and not evidence.has_reports
    return (follows or may_follow) and is_rolling_deploy(evidence)
