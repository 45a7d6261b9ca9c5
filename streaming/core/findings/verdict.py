"""The findings that rules give: of a queue, and of a topic or the whole group."""

from msgspec import Struct

from schemas.facts import Cause, Kind, Severity
from schemas.observed import Part
from schemas.reasons import Reason
from streaming.core.evidence.listed_members import Span
from streaming.core.evidence.queue_record import QueueRecord
from streaming.core.finding_kinds import KINDS


class Verdict(Struct, frozen=True, gc=False):
    """A finding with its severity. ``oldest_ts`` and ``newest_ts`` span the reports it rests on.

    ``reason``: why it is EXCLUDED, UNKNOWN or SETTLING, or why the expected owner is not known. ``observed``: what
    shows any other finding; of a stall its alert says how much waits in all of its queues. ``by_reports``: what reports
    alone would say of a queue that stands still.
    """

    kind: Kind
    severity: Severity
    reason: Reason | None
    owners: list[int]
    expected: list[int] | None
    oldest_ts: int = 0
    newest_ts: int = 0
    by_reports: Kind | None = None
    observed: Part | None = None


class GroupFinding(Struct, frozen=True):
    """A finding of a topic (``""``: of the group), and, once it is known, since when it is found.

    ``severity``: by its own evidence; None: that of its kind.
    """

    kind: Kind
    topic: str
    observed: Part
    cause: Cause | None = None
    queues: tuple[int, ...] = ()
    clients: tuple[int, ...] = ()  # those that it is about, where it is not about all
    since_ts: int = 0
    severity: Severity | None = None


def seen(
    q: QueueRecord,
    kind: Kind,
    reason: Reason | None = None,
    observed: Part | None = None,
    severity: Severity | None = None,
) -> Verdict:
    """A verdict on the newest reports as they are."""
    return Verdict(kind, severity or KINDS[kind].severity, reason, q.owners, q.expected, observed=observed)


def proven(
    q: QueueRecord, kind: Kind, reports: Span, observed: Part | None = None, owners: list[int] | None = None
) -> Verdict:
    """A verdict that rests on ``reports`` that count."""
    owned = q.counting if owners is None else owners
    return Verdict(kind, KINDS[kind].severity, q.why_not_expected, owned, q.expected, *reports, observed=observed)
