"""The fast path for queues that are plainly right gives what the rules give, for every record that there can be."""

from collections.abc import Iterator
from random import Random
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.facts import Kind, Severity
from schemas.reasons import Reason, ReasonKind
from streaming.core.evidence.queue_evidence import QueueEvidence
from streaming.core.evidence.queue_record import QueueRecord, is_plainly_right, record_of
from streaming.core.evidence.stalls import InHand
from streaming.core.findings import queue_findings, queue_rules
from streaming.core.findings.queue_rules import judge
from streaming.core.findings.verdict import Verdict, seen
from tests.core.fleet import running
from tests.core.test_queue_rules import TABLE, Change

REASONS = [Reason(ReasonKind.NO_ANSWER), Reason(ReasonKind.ROUTE_CHANGED)]
MEMBERS: list[list[int]] = [[], [1], [2], [1, 1], [1, 2]]
VALUES: dict[Any, list[Any]] = {
    bool: [False, True],
    int: [0, 1, 10**13],
    Kind: list(Kind),
    Kind | None: [None, *Kind],
    Severity: list(Severity),
    InHand: list(InHand),
    Reason: REASONS,
    Reason | None: [None, *REASONS],
    list[int]: MEMBERS,
    list[int] | None: [None, *MEMBERS],
    tuple[str, ...]: [(), ("a",), ("a", "b")],
    tuple[int, int]: [(0, 0), (1, 2)],
}
FIELDS = {name: VALUES[hint] for name, hint in get_type_hints(QueueRecord).items()}
# What the fast path asks for. All other fields of a record may have any value.
PLAIN: dict[str, Any] = {
    "owners": [1],
    "expected": [1],
    "is_doubtful": False,
    "is_complete": True,
    "not_reported": None,
    "is_model_known": True,
    "uncovered": (),
    "silent": (),
    "stands_still": False,
}


def record(fields: dict[str, Any]) -> QueueRecord:
    """The record with these fields, as far as they do not contradict one another; the others are plain."""
    drawn = {name: values[0] for name, values in FIELDS.items()} | PLAIN | fields
    owners = drawn["owners"]
    if drawn["is_complete"] and drawn["non_reporting"] is None:
        drawn["counting"] = owners  # every member has reported in time
    else:
        drawn["counting"] = [one for one in owners if one in drawn["counting"]]
    drawn["repeated"] = [one for one in owners if one in drawn["repeated"]] if len(owners) > 1 else []
    if drawn["expected"] is not None:
        drawn["why_not_expected"] = None
    return QueueRecord(**drawn)


def records(seed: int) -> Iterator[QueueRecord]:
    """Records that are plainly right, but for one or two of the conditions in some of them."""
    random = Random(seed)
    for _ in range(200):
        fields = {name: random.choice(values) for name, values in FIELDS.items()}
        met = random.sample(sorted(PLAIN), len(PLAIN) - random.choice((0, 0, 1, 2)))
        yield record(fields | {name: PLAIN[name] for name in met})


def is_found_right(q: QueueRecord) -> bool:
    return judge(q) == Verdict(Kind.MATCH, Severity.NONE, None, q.owners, q.expected)


def plainly_right(seed: int) -> list[QueueRecord]:
    return [q for q in records(seed) if is_plainly_right(q)]


@pytest.mark.slow("minutes and hours of a group are folded")
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_no_rule_applies_to_a_queue_that_is_plainly_right(seed: int) -> None:
    right = plainly_right(seed)
    assert len(right) > 50
    assert next((q for q in right if not is_found_right(q)), None) is None


def is_noticed() -> bool:
    """Whether the test above would fail. It is not called itself: Hypothesis would look for a smaller failure first."""
    return any(not is_found_right(q) for seed in range(25) for q in plainly_right(seed))


@pytest.mark.slow("minutes and hours of a group are folded")
def test_nothing_is_noticed_with_the_rules_of_today() -> None:
    assert not is_noticed()


@pytest.mark.parametrize(
    "is_wrong",
    [
        lambda q: q.may_follow_a_newer_route,
        lambda q: not q.is_broker_covered,
        lambda q: q.is_overdue,
        lambda q: q.non_reporting is not None and q.was_owned,
        lambda q: q.found is Kind.PHANTOM,
    ],
)
def test_a_new_rule_that_the_fast_path_does_not_cover_is_noticed(
    is_wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def new_rule(q: QueueRecord) -> Verdict | None:
        return seen(q, Kind.UNKNOWN) if is_wrong(q) else None

    monkeypatch.setattr(queue_rules, "THE_REST", (*queue_rules.THE_REST, new_rule))
    assert is_noticed()


@pytest.mark.parametrize("name", sorted(PLAIN.keys() - {"owners", "expected", "is_complete"}))
def test_a_condition_that_the_fast_path_lacks_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules of today, and a fast path that asks for less. What is complete has been reported since the last change."""

    asks_all = is_plainly_right

    def asks_less(q: QueueRecord) -> bool:
        return asks_all(QueueRecord(**{f: getattr(q, f) for f in FIELDS} | {name: PLAIN[name]}))

    monkeypatch.setitem(globals(), "is_plainly_right", asks_less)
    assert is_noticed()


@pytest.mark.parametrize(("what", "change"), [row[:2] for row in TABLE])
def test_evidence_that_is_plainly_right_makes_a_record_that_is(
    what: str, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def is_right(q: QueueEvidence) -> bool:
        asked.append(q.index)
        if is_plainly_right(q):
            assert is_plainly_right(record_of(q))
            assert is_found_right(record_of(q))
        return False  # so all facts come from the rules

    monkeypatch.setattr(queue_findings, "is_plainly_right", is_right)
    fleet = running(60)
    change(fleet)
    fleet.run(120)
    assert asked or fleet.state.failed is False
    assert not fleet.state.failed
