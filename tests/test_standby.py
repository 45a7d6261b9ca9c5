"""A process that waits for another one: what it says, when it takes over, and how it ends."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Event, Thread

import pytest

from streaming import standby
from streaming.errors import AwayError, InUseError
from streaming.standby import Standby, taken

FIRST, SECOND, AWAY = "process 7 on h", "process 8 on h", "away"


class Lock:
    """A lock whose owners are a list; free at its end. AWAY: it cannot be looked at."""

    def __init__(self, *owners: str) -> None:
        self.owners = list(owners)
        self.is_mine = False

    @contextmanager
    def taken(self) -> Iterator[str]:
        if self.owners:
            owner = self.owners.pop(0)
            raise AwayError("no answer") if owner == AWAY else InUseError("it is in use: stop the other one", owner)
        self.is_mine = True
        yield "mine"
        self.is_mine = False

    def __call__(self) -> AbstractContextManager[str]:
        return self.taken()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standby, "LOOK_EVERY_S", 0.01)


def is_waiting(one: Standby) -> bool:
    (series,) = one.series()
    assert series.value == one.is_waiting()
    return one.is_waiting()


def test_what_is_free_is_taken_at_once_and_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    one, lock = Standby("the job"), Lock()
    with ExitStack() as stack:
        assert taken(stack, lock, Event(), one, pytest.fail) == "mine"
        assert lock.is_mine
        assert not is_waiting(one)
        assert one.troubles() == []
    assert not lock.is_mine
    assert caplog.messages == []


def test_without_a_standby_it_is_refused() -> None:
    with ExitStack() as stack, pytest.raises(InUseError, match="stop the other one"):
        taken(stack, Lock(FIRST), Event(), None, pytest.fail)


def test_each_owner_is_logged_once_and_preparing_is_done_once_while_it_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    one, lock, seen = Standby("the job"), Lock(FIRST, FIRST, SECOND, SECOND), []
    with ExitStack() as stack:
        taken(stack, lock, Event(), one, lambda: seen.append((is_waiting(one), one.troubles(), lock.is_mine)))
        assert not is_waiting(one)
        assert one.troubles() == []
    assert seen == [(True, [f"standby: the job waits until {FIRST} ends"], False)]
    assert caplog.messages == [
        f"standby: the job waits until {FIRST} ends, and then takes over",
        f"standby: the job waits until {SECOND} ends, and then takes over",
        f"the job takes over from {SECOND}, after a wait of 0 s",
    ]


def test_a_storage_that_is_away_for_a_while_does_not_end_the_wait(caplog: pytest.LogCaptureFixture) -> None:
    one = Standby("the job")
    with ExitStack() as stack:
        assert taken(stack, Lock(FIRST, AWAY, AWAY, FIRST, AWAY), Event(), one) == "mine"
        assert not is_waiting(one)
    assert caplog.messages == 2 * ["standby: the job cannot see whether it may take over, and tries again: no answer"]


@pytest.mark.parametrize("one", [None, Standby("the job")])
def test_a_storage_that_is_away_at_the_start_ends_it(one: Standby | None) -> None:
    with ExitStack() as stack, pytest.raises(AwayError):
        taken(stack, Lock(AWAY), Event(), one)


def test_what_cannot_be_prepared_ends_the_wait() -> None:
    def refuse() -> None:
        raise ValueError("the checkpoint is another's")

    with ExitStack() as stack, pytest.raises(ValueError, match="another's"):
        taken(stack, Lock(FIRST), Event(), Standby("the job"), refuse)


def test_stop_ends_the_wait_without_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standby, "LOOK_EVERY_S", 600)
    stop, began, got = Event(), Event(), []
    one, lock = Standby("the job"), Lock(FIRST)

    def wait() -> None:
        with ExitStack() as stack:
            got.append(taken(stack, lock, stop, one, began.set))

    thread = Thread(target=wait)
    thread.start()
    assert began.wait(60)
    stop.set()
    thread.join(60)
    assert got == [None]
    assert not lock.is_mine
