"""Alerts that come and go: the third time within hours it is one incident, which ends when it stays right."""

from streaming.core.state.group_state import Alert, EndedAlert, GroupState

TWICE_MAY_BE_CHANCE = 2
AT_REST_AFTER_MS = 3_600_000


def times_before(state: GroupState, alert: Alert) -> int:
    """How often the alert had fired when it was over last; 0 if that was long before it was found again."""
    since = alert.active_ts - AT_REST_AFTER_MS
    before = [e for e in state.ended if (e.topic, e.kind) == (alert.topic, alert.kind) and e.ended_ts >= since]
    return before[-1].times if before else 0


def comes_and_goes(alert: Alert) -> bool:
    return alert.times > TWICE_MAY_BE_CHANCE


def evidence_of(alert: Alert) -> str:
    """With how often it has come back, where that is the news."""
    return f"{alert.evidence}; it comes and goes: {alert.times} times now" if comes_and_goes(alert) else alert.evidence


def note_end(state: GroupState, alert: Alert) -> None:
    """It may come back; what was over long ago will not count."""
    oldest = state.now - AT_REST_AFTER_MS
    others = [e for e in state.ended if (e.topic, e.kind) != (alert.topic, alert.kind) and e.ended_ts >= oldest]
    state.ended = [*others, EndedAlert(alert.topic, alert.kind, state.now, alert.times)]
