"""Writes under a condition on real servers: of several writers one wins, and a write that comes late is refused."""

import pytest

from streaming.errors import AwayError, SetupError
from streaming.tables.conditional_file import UNSAFE, ConditionalFile, Refused, require_conditions
from tests.stores.contention import winners
from tests.stores.servers import LoopbackStore

pytestmark = pytest.mark.slow


def test_file_is_made_once_and_replaced_only_as_it_was_read(folder: str) -> None:
    file = ConditionalFile(folder, "one")
    assert file.read() is None
    first = file.write("a", None)
    with pytest.raises(Refused):
        file.write("b", None)
    second = file.write("b", first)
    with pytest.raises(Refused):
        file.write("late", first)
    found = file.read()
    assert found is not None
    assert (found.text, found.version) == ("b", second)
    file.delete()
    with pytest.raises(Refused):
        file.write("c", second)


@pytest.mark.parametrize("new", [True, False])
def test_one_of_many_writers_wins(new: bool, folder: str) -> None:
    assert winners(folder, writers=16, rounds=10, new=new) == {1: 10}


def test_store_that_is_fit_is_accepted_and_left_clean(folder: str) -> None:
    require_conditions(folder)
    assert ConditionalFile(folder, "_lease_trials").read() is None


def test_writes_without_conditions_are_refused(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UNSAFE, "true")
    with pytest.raises(SetupError, match=f"{UNSAFE} is set: .* Remove it from the environment"):
        require_conditions(folder)


def test_conditions_that_are_switched_off_are_named(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONDITIONAL_PUT", "disabled")
    with pytest.raises(SetupError, match="has no conditional writes"):
        require_conditions(folder)


def test_store_that_does_not_answer_is_away_within_the_time_of_a_lease(server: LoopbackStore, folder: str) -> None:
    file = ConditionalFile(folder, "one")
    server.pause()
    try:
        with pytest.raises(AwayError, match=f"^{folder} cannot be used: "):
            file.write("a", None)
    finally:
        server.go_on()
