"""The producers of markers: which may send them, which one the group follows, and which contradict that one.

An operator may list who may send rounds and forget groups; without a list every producer may.

Two collectors side by side are legitimate: their markers have about the same times, and their lists the same clients.
What no two collectors with clocks in order can say:

- **Times.** Each goes on beside the other, again and again, more than ``contradicts_ms`` apart, and does not catch up.
  (A collector that sends what waited while Kafka was away does catch up.)
- **Lists.** The same broker listed these clients, and other ones, for the same ``contradicts_ms``.

Who is right is not known. So the group goes on to follow the producer that it has followed, and refuses the markers of
the other until that one is alone.
"""

from fnmatch import fnmatchcase
from functools import lru_cache

from schemas.events import AnyEvent, Forget, Round
from schemas.facts import Contradiction
from schemas.records import Rejected
from streaming.core.intake import clock
from streaming.core.state.group import Group
from streaming.core.state.group_state import ListClaim, MarkerSource
from streaming.core.state.members import digest_of

CONTRADICTS_MS = 60_000  # rounds of two producers, by their times, or for so long by their lists
TURNS_TO_CONTRADICT = 3  # markers out of step, between each two of which the followed producer has spoken
MARKERS_TO_FOLLOW = 12  # in a row, with none of the followed producer between them
MARKERS_TO_FORGET = 60  # of the followed producer, with none of the others between them
SOURCES_AT_MOST = 4


def not_trusted(event: AnyEvent, trusted: tuple[str, ...]) -> Rejected | None:
    """Why the event is refused; None: it may be taken. ``trusted`` are shell patterns; none: every producer may."""
    if not trusted or not isinstance(event, Round | Forget) or _matches(event.source, trusted):
        return None
    return Rejected("not_trusted", f"source {event.source[:200]!r} is not in source.trusted_sources")


@lru_cache(maxsize=1_024)
def _matches(source: str, trusted: tuple[str, ...]) -> bool:
    return any(fnmatchcase(source, pattern) for pattern in trusted)


def take_source(group: Group, event: Round) -> Contradiction | None:
    """Notes the marker's producer. Returns how it contradicts the one that is followed: such a marker is refused."""
    sources = group.state.marker_sources
    if not sources:
        sources.append(MarkerSource(event.source, event.ts))
    if event.source == sources[0].source:
        _note_followed(sources, event)
        return None
    rival = _rival(sources, event)
    rival.alone += 1
    sources[0].alone = 0
    found = _other_time(group, rival, event) or _other_list(group, rival, event)
    if rival.alone >= MARKERS_TO_FOLLOW:
        group.state.marker_sources = [MarkerSource(event.source, event.ts)]
        return None
    return found


def follow(group: Group, event: Round) -> None:
    """The marker has moved the clock where only its producer is: the group follows it from now on."""
    sources = group.state.marker_sources
    if not sources or sources[0].source == event.source:
        return
    before = sources[0]
    now = next((one for one in sources if one.source == event.source), None) or MarkerSource(event.source, event.ts)
    before.turns, before.first_gap_ms, before.alone = now.turns + 1, abs(event.ts - before.ts), 0
    now.turns = now.alone = 0
    group.state.marker_sources = [now, *(one for one in sources if one is not now)]


def _note_followed(sources: list[MarkerSource], event: Round) -> None:
    followed = sources[0]
    followed.ts = event.ts
    if len(sources) == 1:
        return
    _note_lists(followed, event)
    followed.alone += 1
    for rival in sources[1:]:
        rival.alone = 0
    if followed.alone >= MARKERS_TO_FORGET:
        del sources[1:]
        followed.alone, followed.lists = 0, {}


def _rival(sources: list[MarkerSource], event: Round) -> MarkerSource:
    for one in sources[1:]:
        if one.source == event.source:
            return one
    if len(sources) >= SOURCES_AT_MOST:
        del sources[1]
    sources.append(MarkerSource(event.source, event.ts))
    return sources[-1]


def _other_time(group: Group, rival: MarkerSource, event: Round) -> Contradiction | None:
    state = group.state
    gap_ms, limit_ms = event.ts - state.now, CONTRADICTS_MS
    if -limit_ms <= gap_ms <= clock.horizon(state, group.timing) - state.now + limit_ms:
        rival.turns = 0
        return None
    if rival.alone == 1:  # the followed producer has spoken since
        rival.turns += 1
        rival.first_gap_ms = abs(gap_ms) if rival.turns == 1 else rival.first_gap_ms
    if rival.turns < TURNS_TO_CONTRADICT or 2 * abs(gap_ms) < rival.first_gap_ms:
        return None
    return Contradiction(state.group, state.marker_sources[0].source, event.source, ahead_ms=gap_ms)


def _other_list(group: Group, rival: MarkerSource, event: Round) -> Contradiction | None:
    state, rival.ts = group.state, event.ts
    followed = state.marker_sources[0]
    _note_lists(rival, event)
    for broker_name, theirs in rival.lists.items():
        ours = followed.lists.get(broker_name)
        if ours is not None and ours.digest != theirs.digest:
            both_ms = min(rival.ts, followed.ts) - max(ours.since_ts, theirs.since_ts)
            if both_ms > max(CONTRADICTS_MS, TURNS_TO_CONTRADICT * state.interval):
                return Contradiction(state.group, followed.source, event.source, broker_name, both_ms)
    return None


def _note_lists(source: MarkerSource, event: Round) -> None:
    """Which clients each broker lists by the marker, and since when: a marker that confirms a list says of which."""
    before, source.lists = source.lists, {}
    for answer in event.brokers:
        known = before.get(answer.broker_name)
        if answer.answered and not answer.unchanged:
            digest = digest_of(sorted(answer.client_ids))
            since_ts = known.since_ts if known is not None and known.digest == digest else event.ts
            claim = ListClaim(digest, answer.data_version, answer.listed_since or since_ts)
            source.lists[answer.broker_name] = claim
        elif answer.answered and known is not None and 0 != known.version == answer.data_version:
            source.lists[answer.broker_name] = known
    for told in event.unchanged_lists:
        known = before.get(told.broker_name)
        if known is not None and known.version == told.data_version:
            source.lists[told.broker_name] = known
