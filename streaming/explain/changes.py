"""The changes in a group within the hour before: joins, leaves, rebalances, and faults of evenkeel itself. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from schemas.facts import EvaluationFailedFact, EventsLostFact, Fact, MembershipFact, Payload, RebalanceFact
from streaming.explain.snapshot import GroupChange
from streaming.wording.lists import grouped
from streaming.wording.numbers import counted
from streaming.wording.times import age

LATELY_MS = 3_600_000
MOST_CHANGES = 20


def changes_before(facts: Sequence[Fact], now: int) -> tuple[GroupChange, ...]:
    """The changes of the last hour, oldest first; if there are too many, the newest."""
    lately = [fact for fact in facts if fact.ts >= now - LATELY_MS]
    others = [GroupChange(fact.ts, what) for fact in lately if (what := _what(fact.payload)) is not None]
    found = sorted([*_joins_and_leaves(lately), *others], key=lambda change: change.ts)
    return tuple(found[-MOST_CHANGES:])


def _joins_and_leaves(facts: Iterable[Fact]) -> Iterator[GroupChange]:
    """Joins and leaves. Equal changes in several brokers' lists make one line.

    Clients in a broker's first list did not join then: only their number is shown.
    """
    listed = [(fact.ts, fact.payload) for fact in facts if isinstance(fact.payload, MembershipFact)]
    first = [(ts, member) for ts, member in listed if member.first_seen]
    later = [(ts, member) for ts, member in listed if not member.first_seen]
    for ts, those in grouped(first, lambda one: one[0]).items():
        clients = len({member.client_id for _, member in those})
        yield GroupChange(ts, f"the first {_lists(those)}: {counted(clients, 'client')} there already")
    for (ts, what), those in grouped(later, lambda one: (one[0], f"{one[1].client_id} {_change(one[1])}")).items():
        yield GroupChange(ts, f"{what}: {_lists(those)}")


def _lists(those: Iterable[tuple[int, MembershipFact]]) -> str:
    brokers = sorted({member.broker_name for _, member in those})
    return f"{'list' if len(brokers) == 1 else 'lists'} of {', '.join(brokers)}"


def _change(membership: MembershipFact) -> str:
    """``appeared (registered)``, ``appeared, 2 times``."""
    reason = f" ({membership.reason})" if membership.reason else ""
    return membership.change + reason + (f", {membership.entries} times" if membership.entries > 1 else "")


def _what(payload: Payload) -> str | None:
    if isinstance(payload, RebalanceFact):
        end = "converged" if payload.converged else "was given up"
        fewest = "" if payload.fewest_moves is None else f", {payload.fewest_moves} had to"
        moved = f"{counted(payload.queues_moved, 'queue')} moved{fewest}"
        return f"a rebalance ({payload.trigger}) {end} after {age(payload.to_ts - payload.from_ts)}: {moved}"
    if isinstance(payload, EventsLostFact):
        return f"events were lost on the way from {payload.source}: evidence started afresh"
    if isinstance(payload, EvaluationFailedFact):
        return f"evaluating the group failed ({payload.error}): this is evenkeel's own fault, please report it"
    return None
