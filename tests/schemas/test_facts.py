"""The payloads of facts can be told apart, and print as people read them."""

import re
from enum import StrEnum

import msgspec
import pytest

from schemas.facts import (
    PAYLOADS,
    AlertFact,
    AlertQueue,
    AlertState,
    Cause,
    Interval,
    Kind,
    Payload,
    QueueFact,
    Severity,
)
from schemas.reasons import ReasonKind


def test_every_payload_has_a_name_of_its_own() -> None:
    assert len({payload.fact for payload in PAYLOADS}) == len(PAYLOADS)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_times_are_named_so_that_projections_find_them(payload: type[Payload]) -> None:
    times = [field for field in payload.__struct_fields__ if re.search(r"(^|_)(ts|time|at)$", field)]
    assert [field for field in times if not field.endswith("_ts")] == []


@pytest.mark.parametrize("word", [*Kind, *Severity, *Cause, *AlertState, *ReasonKind])
def test_word_prints_and_encodes_as_itself(word: StrEnum) -> None:
    assert str(word) == f"{word}" == word.value
    assert msgspec.json.encode(word) == f'"{word.value}"'.encode()


def queue_fact(finding: str, owners: tuple[str, ...] | None, present: bool = True) -> QueueFact:
    said = {"broker_name": "a", "queue_id": 0, "severity": "none", "cause": None, "reason": None, "since_ts": 0}
    ended = Interval(finding=finding, cause=None, owners=owners, expected=None, from_ts=0, to_ts=1, severity="none")
    return QueueFact(finding=finding, owners=owners, expected=None, present=present, ended=ended, **said)


def alert_fact(kind: str, owners: tuple[str, ...] | None) -> AlertFact:
    said = {"fingerprint": "f", "state": "firing", "severity": "critical", "cause": None, "reason": "found"}
    return AlertFact(kind=kind, queues=(AlertQueue("a", 0, owners), AlertQueue("a", 1, ("x",))), active_ts=0, **said)


@pytest.mark.parametrize("finding", Kind)
def test_an_empty_list_of_owners_is_proof_and_null_is_not_known(finding: Kind) -> None:
    no_owner = () if finding in (Kind.ORPHANED, Kind.NO_MEMBERS) else None
    for owners in ((), None):
        queue, alert = queue_fact(finding, owners), alert_fact(finding, owners)
        known = None if owners is None else no_owner
        assert queue.owners == queue.ended.owners == alert.queues[0].owners == known  # type: ignore[union-attr]
        assert alert.queues[1].owners == ("x",)
    assert queue_fact(finding, (), present=False).owners == ()
    assert queue_fact(finding, ("x",)).owners == ("x",)
