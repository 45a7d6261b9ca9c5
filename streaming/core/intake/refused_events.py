"""A group whose events are refused, so that none of its rounds is taken: it is UNKNOWN, and a fact says so."""

from schemas.facts import GroupFact, Kind
from schemas.reasons import ReasonDetails, ReasonKind
from schemas.records import Rejected
from streaming.core.state.group import Group

UNKNOWN_AFTER_REFUSED_MS = 35_000  # as long as a cluster may be without a round
OF_THEIR_GROUP = frozenset(
    {"too_long", "bad_field", "bad_json", "bad_utf8", "absurd_time", "too_many"}
)  # the key is to be trusted


def note_refused(group: Group, why: Rejected, arrival_ts: int) -> None:
    """A record under the group's key was refused. Emits one fact if that goes on while no round is taken."""
    state = group.state
    if not state.refused_since or arrival_ts < state.refused_since:
        state.refused_since = arrival_ts
    shown = f"{ReasonKind.EVENTS_REFUSED} {why.reason}"
    if arrival_ts - state.refused_since < UNKNOWN_AFTER_REFUSED_MS or state.status == shown:
        return
    state.status = shown
    queues = len(state.queues)
    group.emit(
        GroupFact(
            status="unknown",
            members=0,
            queues=queues,
            counts={Kind.UNKNOWN.value: queues} if queues else {},
            brokers_covered=0,
            brokers_known=len(state.brokers),
            members_reporting=0,
            reason=ReasonKind.EVENTS_REFUSED.value,
            reason_details=ReasonDetails(refused_as=why.reason, error=why.detail),
            refused_since=state.refused_since,
        ),
        ts=arrival_ts,
    )


def note_round(group: Group) -> None:
    """A round was taken: all findings are emitted again."""
    if group.state.refused_since:
        group.state.refused_since = 0
        group.request_evaluation()
