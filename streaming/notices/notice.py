"""What is to be told to a person: one incident of one cluster, as values. Times are epoch milliseconds, UTC."""

from typing import Literal, NamedTuple

from msgspec import Struct

from schemas.facts import AlertFact, Severity


class OpenAlert(Struct, frozen=True):
    """One alert: the newest fact of its fingerprint, with the row's ``ts`` and ``seq``."""

    cluster: str
    group: str
    topic: str | None
    ts: int
    seq: int
    fact: AlertFact


class MonitorTrouble(Struct, frozen=True):
    """evenkeel itself does not see: no facts arrive (``monitor_blind``), or late ones only (``monitor_late``).

    Or it does not see one ``group``, whose events are refused (``group_blind``).
    """

    kind: Literal["monitor_blind", "monitor_late", "group_blind"]
    cluster: str
    since_ts: int
    detail: str
    group: str = ""


class Notice(Struct, frozen=True, kw_only=True):
    """One incident. ``key`` is the same from its first notice to its last; two incidents never share one.

    ``groups`` is one name, or many in a storm; ``cause`` is None where there are several causes or none.
    ``severity`` is the worst of the alerts; ``since_ts`` the earliest moment since which any of them holds.
    """

    key: str
    status: Literal["firing", "resolved"]
    severity: Severity
    cluster: str
    groups: tuple[str, ...]
    cause: str | None
    alerts: tuple[OpenAlert, ...]
    trouble: MonitorTrouble | None = None
    since_ts: int


class Text(NamedTuple):
    """Plain text, not yet escaped for any channel: a title of one line, and a body of at most 20 lines."""

    title: str
    body: str
