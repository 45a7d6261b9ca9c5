"""Flapping alerts: one that fires for the third time within hours stays open until it stays right."""

from streaming.core.state.group import Group
from streaming.core.state.group_state import Alert, EndedAlert

ALERT_RETURNS_WITHIN_MS = 3_600_000  # an alert that fires again within this time is the same incident
TWICE_MAY_BE_CHANCE = 2


def times_before(group: Group, alert: Alert) -> int:
    """How often the alert had fired when it was last resolved; 0 if that was too long before it was found again."""
    since = alert.active_ts - ALERT_RETURNS_WITHIN_MS
    before = [
        e for e in group.state.ended_alerts if (e.topic, e.kind) == (alert.topic, alert.kind) and e.ended_ts >= since
    ]
    return before[-1].times if before else 0


def is_flapping(alert: Alert) -> bool:
    """True if it has fired so often that it stays open until it stays right."""
    return alert.times > TWICE_MAY_BE_CHANCE


def note_end(group: Group, alert: Alert) -> None:
    """Notes that the alert was resolved, because it may come back, and drops what was resolved long ago."""
    state = group.state
    oldest = state.now - ALERT_RETURNS_WITHIN_MS
    others = [e for e in state.ended_alerts if (e.topic, e.kind) != (alert.topic, alert.kind) and e.ended_ts >= oldest]
    state.ended_alerts = [*others, EndedAlert(alert.topic, alert.kind, state.now, alert.times)]
