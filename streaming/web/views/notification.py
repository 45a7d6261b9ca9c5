"""What became of a page at one destination."""

from msgspec import Struct


class Notification(Struct, frozen=True, kw_only=True):
    """A row of the table ``notifications``; ``ts`` in epoch milliseconds."""

    ts: int
    sink: str
    outcome: str
    detail: str | None
    status: str
    title: str
    key: str
