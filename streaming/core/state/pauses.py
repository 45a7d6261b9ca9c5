"""Groups that have no members for a while on purpose, as a job that runs for five minutes in each hour.

This is configured (``may_be_empty``), or learned from the group's own past: it has been without members several times,
each time for about as long, and came back. A run counts if the group consumed in it, so clients that crash as soon as
they start teach nothing. If such a group is not back when it is due, that is reported.
"""

from streaming.core.finding_kinds import HOLD_NO_MEMBERS_MS
from streaming.core.settings import Settings
from streaming.core.state.group import Group

PAUSES_KEPT = 3  # as many must be alike: an outage and the next one seldom last equally long
ALIKE = 2  # times the shortest, at most
LATE = 4  # a group is missed when it has been away for a quarter longer than ever before


def away_before_ms(group: Group) -> int:
    """For how long the group has been without members at most, where it comes back by itself; 0: not known of it."""
    pauses = group.state.past_pauses
    is_regular = len(pauses) == PAUSES_KEPT and max(pauses) <= ALIKE * min(pauses)
    return max(pauses) if is_regular else 0


def missed_since_ts(group: Group) -> int:
    """From when on the group is missed, epoch ms, so that ``hold_no_members_ms`` begins; 0: it has not become empty.

    A group that is always on, or of which nothing is known, is missed as soon as its last member has left.
    """
    state, rule = group.state, group.rule
    if not state.empty_since or rule.always_on:
        return state.empty_since
    before_ms = away_before_ms(group)
    may_be_ms = rule.may_be_empty_ms or before_ms + before_ms // LATE
    return state.empty_since + max(0, may_be_ms - HOLD_NO_MEMBERS_MS)


def expected_back_by(group: Group) -> int:
    """Until when, epoch ms, nobody need be told that the group has no members; 0: it has not become empty."""
    since_ts = missed_since_ts(group)
    return since_ts and since_ts + HOLD_NO_MEMBERS_MS


def longest_empty_ms(settings: Settings) -> int:
    """How long after its last member left a group may still have to be told, or its alert be ended."""
    gone_after_ms = settings.timing.gone_after_ms
    learned_ms = gone_after_ms + gone_after_ms // LATE
    return gone_after_ms + max([learned_ms, *(rule.may_be_empty_ms for rule in settings.groups)])
