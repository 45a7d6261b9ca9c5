"""Templates with rounds further apart, so that many groups give as many events a second as a benchmark wants."""

from copy import copy
from dataclasses import replace

from streaming.simulation.load.event_template import TS
from streaming.simulation.load.group_template import GroupTemplate
from streaming.simulation.load.segment import ROUND_MS, Segment

EVENTS_A_ROUND = 164 / 12  # of a group of 20 clients at two brokers, on average


def factor_for(groups: int, events_per_s: float) -> float:
    """By how much all intervals grow, so that ``groups`` give so many events."""
    return round(1000 * groups * EVENTS_A_ROUND / events_per_s) / ROUND_MS


def slower(template: GroupTemplate, factor: float) -> GroupTemplate:
    """The same events, at times that are so many times as far apart."""
    found = copy(template)
    found.first_minute, found.idle = _slower(template.first_minute, factor), _slower(template.idle, factor)
    found.disruptions = {
        name: one._replace(segment=_slower(one.segment, factor), mended_ms=round(one.mended_ms * factor))
        for name, one in template.disruptions.items()
    }
    return found


def _slower(segment: Segment, factor: float) -> Segment:
    def later(numbers: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        return tuple((index, round(more * factor) if index == TS else more) for index, more in numbers)

    return replace(
        segment,
        rounds=tuple(tuple(one._replace(numbers=later(one.numbers)) for one in events) for events in segment.rounds),
        marker_ms=tuple(round(ms * factor) for ms in segment.marker_ms),
        duration_ms=round(segment.duration_ms * factor),
        restarts=tuple((index, round(ms * factor)) for index, ms in segment.restarts),
    )
