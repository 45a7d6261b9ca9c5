"""How much a silence that is made of an alert silences."""

from glob import escape

from streaming.notices import OpenAlert
from streaming.notifier.silence_files import new_id
from streaming.notifier.silences import Silence

SCOPES = ("alert", "cause", "group")  # its kind of finding; all findings with its cause; everything of its group


def silence_of(alert: OpenAlert, scope: str, minutes: int, by: str, why: str, now: int) -> Silence:
    """A silence of the alert's group from ``now`` (epoch ms). No name in it is read as a pattern."""
    return Silence(
        id=new_id(),
        cluster=escape(alert.cluster),
        group=escape(alert.group),
        kind=escape(alert.fact.kind) if scope == "alert" else "*",
        cause=escape(alert.fact.cause or "") if scope == "cause" else "*",
        from_ts=now,
        until_ts=now + minutes * 60_000,
        by=by,
        why=why,
    )
