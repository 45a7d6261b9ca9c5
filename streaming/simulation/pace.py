"""How often a collector asks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """Milliseconds, and the share of reports and of events that are lost on the way.

    ``asks_through_all``: each client is asked through every broker that lists it, as some recordings were made.
    """

    interval_ms: int = 5_000
    running_info_ms: int = 20_000
    offsets_ms: int = 20_000
    route_ms: int = 10_000
    asks_through_all: bool = False
    loses_reports: float = 0.0
    loses_events: float = 0.0


LIVE = Pace()
