"""How often a collector asks."""

from dataclasses import dataclass

from streaming.collector.probing.policy import Policy


@dataclass(frozen=True, slots=True)
class Pace:
    """Milliseconds, and the share of reports and of events that are lost on the way.

    ``asks_through_all``: each client is asked through every broker that lists it, as some recordings were made.
    ``spares_clients``: no client is asked twice within seconds, nor while queues are new to its group.
    """

    interval_ms: int = 5_000
    running_info_ms: int = 20_000
    offsets_ms: int = 20_000
    route_ms: int = 10_000
    asks_through_all: bool = False
    spares_clients: bool = True
    loses_reports: float = 0.0
    loses_events: float = 0.0

    @property
    def policy(self) -> Policy:
        """As the live collector's schedules take it."""
        return Policy(
            interval_ms=self.interval_ms,
            running_info_ms=self.running_info_ms,
            offsets_ms=self.offsets_ms,
            route_ms=self.route_ms,
            spreads=self.spares_clients,
        )


LIVE = Pace()
