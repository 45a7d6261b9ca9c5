"""Rolling deploys: what is found because members differ waits while they are replaced by others that are alike."""

from collections.abc import Set

from schemas.facts import Cause
from streaming.core.causes.table import CAUSES
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.intake.deploy_tracking import patience_ms
from streaming.core.state.group import Group


def comes_of_members_that_differ(cause: str | None) -> bool:
    """Whether it is a cause that a rolling deploy may bring about: old and new members differ."""
    return cause is not None and CAUSES[Cause(cause)].members_differ


def is_rolling_deploy(evidence: GroupEvidence) -> bool:
    """Members come, others that had been there go, and it has neither stopped nor come to its end."""
    group, known = evidence.group, evidence.group.state.deploy
    if known is None or not (known.joined and known.left):
        return False
    patience = patience_ms(group, known)
    if all(member.client.since_ts >= known.began_ts for member in evidence.members.values()):
        patience = min(patience, _to_settle_ms(evidence))
    return evidence.now - known.last_ts <= patience


def _to_settle_ms(evidence: GroupEvidence) -> int:
    """How long the last share-out of a deploy may take to be seen: its grace, and once more for the reports."""
    timing = evidence.group.timing
    return 2 * timing.grace_membership_ms + (timing.grace_orderly_extra_ms if evidence.orderly else 0)


def note_mismatch(group: Group, causes: Set[str]) -> None:
    """Members were found to differ: what else is found while they are being replaced mostly follows from that."""
    if group.state.deploy is not None and any(map(comes_of_members_that_differ, causes)):
        group.state.deploy.mismatched = True


def waits_for_deploy(evidence: GroupEvidence, cause: Cause | None) -> bool:
    """Whether it is what members that differ bring about, and they are being replaced by others that are alike.

    Not only where that is the cause named: when the last of the old ones has left, nobody differs any more, but the
    queues that were nobody's have yet to be taken over.
    """
    known = evidence.group.state.deploy
    is_independent = cause is not None and CAUSES[cause].is_independent
    follows = comes_of_members_that_differ(cause) or (known is not None and known.mismatched and not is_independent)
    return follows and is_rolling_deploy(evidence)
