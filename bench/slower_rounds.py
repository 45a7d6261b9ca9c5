"""Templates with longer intervals between rounds, so that many groups give the few rounds a second that are wanted."""

from copy import copy
from dataclasses import replace

from streaming.simulation.load.event_template import TS
from streaming.simulation.load.group_template import GroupTemplate
from streaming.simulation.load.segment import ROUND_MS, Segment


def slower(template: GroupTemplate, round_s: float) -> GroupTemplate:
    """The template with a round every ``round_s``; all intervals grow by the same factor."""
    factor, found = round(1000 * round_s) / ROUND_MS, copy(template)
    found.first_minutes = _slower(template.first_minutes, factor)
    found.idle = tuple(_slower(minute, factor) for minute in template.idle)
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
