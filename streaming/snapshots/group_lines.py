"""How ``inspect`` and ``explain`` show the same things of a group: findings, owners, styles."""

from collections.abc import Sequence

from schemas.facts import Kind
from streaming.snapshots.lines import short_ranges
from streaming.snapshots.values import QueueName, QueueSnapshot
from streaming.wording.names import named
from streaming.wording.numbers import counted

STATUS_STYLES = {"findings": "bold red", "healthy": "green", "excluded": "dim"}  # of any other: OTHER_STYLE
OTHER_STYLE = "yellow"
ALERT_STYLES = {"pending": "yellow", "firing": "bold red", "resolved": "green"}
NOT_JUDGED = (Kind.UNKNOWN, Kind.SETTLING)


def status_style(status: str) -> str:
    return STATUS_STYLES.get(status, OTHER_STYLE)


def finding_title(kind: str, topic: str | None, queues: Sequence[QueueName]) -> str:
    """``ORPHANED, 2 queues of T: broker-a 0-1``."""
    where = f"{counted(len(queues), 'queue')} of {topic}: {short_ranges(queues)}" if queues else topic or ""
    return f"{kind}, {where}" if where else kind


def queue_cells(alike: Sequence[QueueSnapshot], owner: str) -> list[str]:
    """The first cells of a row: which queues, how many, whose they are, and whose they should be."""
    first = alike[0]
    return [
        short_ranges(queue.name for queue in alike),
        str(len(alike)),
        owner,
        _should_own(first),
    ]


def _should_own(queue: QueueSnapshot) -> str:
    """Empty where it is its owner, or is not known. Two instances of one id never own a queue both by right."""
    if queue.expected is None:
        return ""
    if not queue.expected:
        return "no client"
    if queue.expected != queue.owners:
        return named(queue.expected)
    return "one of these" if queue.finding == Kind.DUPLICATED else ""
