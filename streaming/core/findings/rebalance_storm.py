"""REBALANCE_STORM: clients of a group are started again and again."""

from collections import Counter
from collections.abc import Iterator

from schemas.facts import Kind
from schemas.observed import ClientsComeAndGo
from streaming.core.evidence.group_evidence import RESTARTS_OF_A_DEPLOY, GroupEvidence
from streaming.core.findings.verdict import GroupFinding
from streaming.core.state.group_state import MembershipChange
from streaming.core.state.members import indices_of, process_names

STORM_WINDOW_MS = 300_000  # the time in which STORM_CHANGES are counted
STORM_CHANGES = 6  # as many joins and leaves are still no storm
FLAPPING_CLIENT_MS = 3_600_000  # a client that leaves again and again, but too rarely for storm_window
NAMES_AT_MOST = 3


def rebalance_storm(evidence: GroupEvidence) -> Iterator[GroupFinding]:
    """Some process is started again and again: more often than for a crash, a deploy and its rollback, or for hours."""
    state, timing = evidence.group.state, evidence.group.timing
    changes = [c for c in state.membership_changes if c.ts >= evidence.now - timing.storm_window_ms]
    flapping_clients = _restarted_too_often(changes) if len(changes) > timing.storm_changes else set()
    lasting = {
        one.who
        for one in state.flapping_clients
        if one.times > timing.storm_changes and evidence.now - one.since_ts >= FLAPPING_CLIENT_MS
    }
    if flapping_clients:
        names, number, within_ms = flapping_clients, len(changes), timing.storm_window_ms
    elif lasting:
        names, number, within_ms = lasting, None, FLAPPING_CLIENT_MS
    else:
        return
    observed = ClientsComeAndGo(names=tuple(sorted(names)[:NAMES_AT_MOST]), changes=number, within_ms=within_ms)
    yield GroupFinding(Kind.REBALANCE_STORM, "", observed, clients=indices_of(evidence.group, names))


def _restarted_too_often(changes: list[MembershipChange]) -> set[str]:
    """Processes that have left and come back more often than for a crash, a deploy and its rollback.

    One that has left is not counted before it is back: it may have been stopped for good.
    """
    name_of = process_names(changes)
    left = Counter(name_of[change.client_id] for change in changes if not change.joined)
    back = Counter(name_of[change.client_id] for change in changes if change.joined)
    return {name for name, times in (left & back).items() if times > 1 + RESTARTS_OF_A_DEPLOY}
