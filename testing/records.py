"""Records as the job reads them."""

from schemas.events import AnyEvent
from schemas.records import Rejected, decode_record


def accepted(key: bytes | None, value: bytes, arrival_ts: int | None = None) -> list[AnyEvent]:
    """The events of a record, of which none may be rejected."""
    found = []
    for event in decode_record(key, value, len(value), arrival_ts):
        assert not isinstance(event, Rejected), event
        found.append(event)
    return found
