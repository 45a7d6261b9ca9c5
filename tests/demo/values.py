"""What is played, as records that the core reads."""

from collections.abc import Iterable

from schemas.events import encode_event
from streaming.demo.recording_schedule import Scheduled


def values(played: Iterable[Scheduled]) -> list[bytes]:
    """One record for each event."""
    return [encode_event(event) for one in played for event in one.events]
