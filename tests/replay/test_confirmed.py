"""What rounds confirm counts as much as what is told in full: both ways give the same facts."""

from collections import Counter
from pathlib import Path

import pytest
from msgspec import structs

from schemas.events import AnyEvent, AssignmentReport, Heartbeat, Round
from schemas.facts import Fact, GroupFact
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.step import take
from streaming.demo import RECORDINGS
from streaming.replay.input_lines import read_lines
from streaming.replay.recording import RecordingTranslation, decode_line

CLUSTERS = Path(__file__).parent / "clusters"
FILES = sorted([*RECORDINGS.glob("*.jsonl.gz"), *CLUSTERS.glob("*.jsonl.gz")])


def told(path: Path, confirms: bool) -> list[AnyEvent]:
    translation = RecordingTranslation("c", "s", confirms)
    lines = (line for line, _, _ in map(decode_line, (one.text for one in read_lines(path, pytest.fail))))
    events = [event for line in lines if line is not None for event in translation.feed(line)]
    return [*events, *translation.finish()]


def facts_of(events: list[AnyEvent]) -> dict[str, list[str]]:
    """What is found of each group. Queues are numbered as they are first named, so facts of one round have no order,
    and the reason of a group may be that of another queue.
    """
    groups: dict[str, Group] = {}
    for event in events:
        if event.group not in groups:
            groups[event.group] = Group(new_state(event.cluster, event.group), DEFAULT_SETTINGS)
        assert not take(groups[event.group], event)
    return {name: sorted(map(_without_number, group.facts)) for name, group in groups.items()}


def _without_number(fact: Fact) -> str:
    payload = fact.payload
    if isinstance(payload, GroupFact):
        payload = structs.replace(payload, reason=None, reason_details=None)
    return f"{fact.ts} {fact.topic} {payload}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.slow("a recording is folded many times")
def test_what_is_confirmed_gives_the_facts_of_what_is_told(path: Path) -> None:
    in_full, confirmed = told(path, confirms=False), told(path, confirms=True)
    assert facts_of(confirmed) == facts_of(in_full)


@pytest.mark.slow("a recording is folded")
def test_most_of_what_has_not_changed_is_confirmed_told_in_short_or_left_out() -> None:
    in_full, confirmed = (told(CLUSTERS / "rocketmq-5.3.3.jsonl.gz", confirms) for confirms in (False, True))
    counts = Counter(map(type, confirmed))
    assert counts[AssignmentReport] < Counter(map(type, in_full))[AssignmentReport] / 2
    markers = [event for event in confirmed if isinstance(event, Round)]
    assert sum(len(marker.unchanged_lists) for marker in markers) > len(markers)
    assert sum(len(marker.heartbeats) for marker in markers) > counts[Heartbeat]
    for field in ("consume_enable", "orderly", "subscribed"):
        assert 0 < sum(getattr(marker, field) is not None for marker in markers) < len(markers) / 10
