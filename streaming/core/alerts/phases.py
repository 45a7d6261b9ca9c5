"""The life of an alert as a table: its phases, what the evidence may say of it, and what follows.

PENDING, FIRING and RESOLVED have Prometheus' meaning. Facts carry only these three and whether the alert is stale.
docs/findings.md has the same table; a test compares them.
"""

from enum import Enum, StrEnum
from typing import NamedTuple

from schemas.facts import AlertState


class Phase(StrEnum):
    """The phase of an alert. The packed state holds these words."""

    PENDING = "pending"  # found, but not for long enough yet
    HELD_BACK = "held_back"  # found for long enough, but something else is waited for; a fact has said so
    FIRING = "firing"
    STALE = "stale"  # firing, and evidence that would end it is missing
    CLEARING = "clearing"  # firing, and looks right, but not for long enough yet
    KEPT_OPEN = "kept_open"  # firing, has looked right for long enough, but stays open; a fact has said why
    RESOLVED = "resolved"


PENDING_PHASES = frozenset({Phase.PENDING, Phase.HELD_BACK})
STATES: dict[Phase, AlertState] = dict.fromkeys(Phase, AlertState.FIRING)
STATES |= dict.fromkeys(PENDING_PHASES, AlertState.PENDING) | {Phase.RESOLVED: AlertState.RESOLVED}


class AlertReason(StrEnum):
    """Why an alert changed; docs/findings.md explains each."""

    FOUND = "found"
    WAITS_FOR_DEPLOY = "waits_for_deploy"
    HELD_LONG_ENOUGH = "held_long_enough"
    QUEUES_CHANGED = "queues_changed"
    CAUSE_CHANGED = "cause_changed"
    SEVERITY_CHANGED = "severity_changed"
    WAITING_CHANGED = "waiting_changed"
    EVIDENCE_LOST = "evidence_lost"
    EVIDENCE_BACK = "evidence_back"
    COMES_AND_GOES = "comes_and_goes"
    LISTS_DIFFER = "lists_differ"
    CAME_BACK = "came_back"
    RIGHT_AGAIN = "right_again"
    CLEARED_BEFORE_FIRING = "cleared_before_firing"
    GONE = "gone"
    FORGOTTEN = "forgotten"
    EXCLUDED = "excluded"


class Signal(Enum):
    """The answers that the evidence of one round can give about an alert."""

    FOUND = "found"
    MAY_FIRE = "found, and may fire"
    HELD_BACK = "found for long enough, but something else is waited for"
    NOT_JUDGED = "excluded, but not for long enough"
    UNDECIDED = "evidence that would end it is missing"
    SEEN_TO_STALL = "evidence is missing, but its queues are seen to stand still"
    RIGHT_IN_TURN = "looks right, while brokers list different members"
    RIGHT = "looks right"
    KEPT_OPEN = "has looked right for long enough, but something keeps it open"
    RIGHT_FOR_LONG = "has looked right for long enough"
    OVER = "the group is gone, excluded or forgotten"


class Transition(NamedTuple):
    """``reason``: why, as the fact says it; None: the reason that comes with the signal counts.

    HELD_BACK, KEPT_OPEN and OVER come with one. If there is neither, no fact is emitted. A transition to the same phase
    changes nothing.
    """

    to: Phase
    reason: AlertReason | None = None


TRANSITIONS: dict[Phase, dict[Signal, Transition]] = {
    Phase.PENDING: {
        Signal.MAY_FIRE: Transition(Phase.FIRING, AlertReason.HELD_LONG_ENOUGH),
        Signal.HELD_BACK: Transition(Phase.HELD_BACK),
        Signal.RIGHT: Transition(Phase.RESOLVED, AlertReason.CLEARED_BEFORE_FIRING),
        Signal.RIGHT_IN_TURN: Transition(Phase.PENDING),
        Signal.NOT_JUDGED: Transition(Phase.PENDING),
        Signal.OVER: Transition(Phase.RESOLVED),
    },
    Phase.HELD_BACK: {
        Signal.MAY_FIRE: Transition(Phase.FIRING, AlertReason.HELD_LONG_ENOUGH),
        Signal.RIGHT: Transition(Phase.RESOLVED, AlertReason.CLEARED_BEFORE_FIRING),
        Signal.RIGHT_IN_TURN: Transition(Phase.HELD_BACK),
        Signal.NOT_JUDGED: Transition(Phase.HELD_BACK),
        Signal.OVER: Transition(Phase.RESOLVED),
    },
    Phase.FIRING: {
        Signal.UNDECIDED: Transition(Phase.STALE, AlertReason.EVIDENCE_LOST),
        Signal.RIGHT: Transition(Phase.CLEARING),
        Signal.KEPT_OPEN: Transition(Phase.KEPT_OPEN),
        Signal.RIGHT_FOR_LONG: Transition(Phase.RESOLVED, AlertReason.RIGHT_AGAIN),
        Signal.NOT_JUDGED: Transition(Phase.FIRING),
        Signal.OVER: Transition(Phase.RESOLVED),
    },
    Phase.STALE: {
        Signal.FOUND: Transition(Phase.FIRING, AlertReason.EVIDENCE_BACK),
        Signal.RIGHT: Transition(Phase.CLEARING),
        Signal.KEPT_OPEN: Transition(Phase.KEPT_OPEN),
        Signal.RIGHT_FOR_LONG: Transition(Phase.RESOLVED, AlertReason.RIGHT_AGAIN),
        Signal.NOT_JUDGED: Transition(Phase.STALE),
        Signal.OVER: Transition(Phase.RESOLVED),
    },
    Phase.CLEARING: {
        Signal.FOUND: Transition(Phase.FIRING),
        Signal.SEEN_TO_STALL: Transition(Phase.FIRING),
        Signal.UNDECIDED: Transition(Phase.STALE, AlertReason.EVIDENCE_LOST),
        Signal.KEPT_OPEN: Transition(Phase.KEPT_OPEN),
        Signal.RIGHT_FOR_LONG: Transition(Phase.RESOLVED, AlertReason.RIGHT_AGAIN),
        Signal.NOT_JUDGED: Transition(Phase.CLEARING),
        Signal.OVER: Transition(Phase.RESOLVED),
    },
    Phase.KEPT_OPEN: {
        Signal.FOUND: Transition(Phase.FIRING, AlertReason.CAME_BACK),
        Signal.UNDECIDED: Transition(Phase.STALE, AlertReason.EVIDENCE_LOST),
        Signal.RIGHT_FOR_LONG: Transition(Phase.RESOLVED, AlertReason.RIGHT_AGAIN),
        Signal.NOT_JUDGED: Transition(Phase.KEPT_OPEN),
        Signal.OVER: Transition(Phase.RESOLVED),
    },
}


def after(phase: Phase, signal: Signal) -> Transition | None:
    """The transition that follows; None: the alert stays as it is."""
    transition = TRANSITIONS[phase].get(signal)
    return None if transition is None or transition.to is phase else transition
