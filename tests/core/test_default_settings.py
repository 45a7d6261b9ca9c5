"""Settings that are stored beside a checkpoint, and are read again by this evenkeel or another."""

import json

import msgspec
import pytest
from msgspec.structs import replace

from streaming.core.default_settings import DEFAULT_SETTINGS, DEFAULT_TIMING, stored_settings
from streaming.core.settings import GroupRule, Settings

OURS = Settings(
    timing=replace(DEFAULT_TIMING, stall_ms=61_000), groups=(GroupRule(excluded=True),), trusted_sources=("c*",)
)


def test_settings_are_read_as_they_were_stored() -> None:
    assert stored_settings(msgspec.json.encode(OURS).decode()) == OURS
    assert stored_settings("{}") == DEFAULT_SETTINGS


def test_a_timer_that_could_not_be_set_then_has_its_default() -> None:
    stored = json.loads(msgspec.json.encode(OURS))
    del stored["timing"]["deploy_wait_ms"]
    assert stored_settings(json.dumps(stored)) == OURS


def test_a_timer_that_cannot_be_set_any_more_is_left_out() -> None:
    stored = json.loads(msgspec.json.encode(OURS))
    stored["timing"]["hold_no_members_ms"] = 120_000
    assert stored_settings(json.dumps(stored)) == OURS


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"timing": 7}', '{"timing": {"stall_ms": "60 s"}}', '{"unheard_of": 1}', '{"groups": 3}']
)
def test_settings_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(msgspec.MsgspecError):
        stored_settings(text)
