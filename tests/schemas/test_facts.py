"""The payloads of facts can be told apart, and print as people read them."""

import re

import msgspec
import pytest

from schemas.facts import PAYLOADS, AlertState, Cause, Kind, Payload, Severity
from schemas.reasons import ReasonKind
from schemas.word import Word


def test_every_payload_has_a_name_of_its_own() -> None:
    assert set(PAYLOADS) == set(Payload.__subclasses__())
    assert len({payload.fact for payload in PAYLOADS}) == len(PAYLOADS)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_times_are_named_so_that_projections_find_them(payload: type[Payload]) -> None:
    times = [field for field in payload.__struct_fields__ if re.search(r"(^|_)(ts|time|at)$", field)]
    assert [field for field in times if not field.endswith("_ts")] == []


@pytest.mark.parametrize("word", [*Kind, *Severity, *Cause, *AlertState, *ReasonKind])
def test_word_prints_and_encodes_as_itself(word: Word) -> None:
    assert str(word) == f"{word}" == word.value
    assert msgspec.json.encode(word) == f'"{word.value}"'.encode()
