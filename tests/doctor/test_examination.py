"""An area that hangs or fails costs its own checks, and no others."""

import os
import signal
from collections.abc import Iterator
from functools import partial
from threading import Event

import pytest

from streaming.doctor.checks import Check, Verdict, fine
from streaming.doctor.examination import Area, examined, found_by, in_process
from streaming.errors import SetupError


def works() -> Iterator[Check]:
    yield fine("kafka", "topic", "4 partitions")


def fails() -> Iterator[Check]:
    yield fine("machine", "Python", "3.11")
    raise ValueError("a bug")


def refuses() -> Iterator[Check]:
    raise SetupError("no home folder")
    yield


def test_what_an_area_found_is_kept_when_it_hangs_or_fails() -> None:
    hung, over = Event(), Event()

    def hangs() -> Iterator[Check]:
        yield fine("rocketmq", "broker", "V5_3_3")
        hung.set()
        over.wait()
        yield fine("rocketmq", "clock", "too late")

    def works_until_it_hangs() -> Iterator[Check]:
        hung.wait()
        yield from works()

    beside = [Area("kafka", works_until_it_hangs), Area("machine", fails), Area("java", refuses)]
    checks = examined("0.2.0", [*beside, Area("rocketmq", hangs, 0.01)]).checks
    over.set()
    assert [(check.area, check.what, check.verdict.value) for check in checks] == [
        ("machine", "Python", "fine"),
        ("machine", "the rest", "unknown"),
        ("java", "the rest", "unknown"),
        ("kafka", "topic", "fine"),
        ("rocketmq", "broker", "fine"),
        ("rocketmq", "the rest", "unknown"),
    ]
    assert "ValueError: a bug" in checks[1].found
    assert checks[2].found == "no home folder"
    assert "0.01 s" in checks[5].found


def test_module_that_cannot_be_imported_loses_no_other_area() -> None:
    checks = examined("0.2.0", [Area("tables", partial(found_by, "nowhere")), Area("kafka", works)]).checks
    assert [check.verdict for check in checks] == [Verdict.FINE, Verdict.UNKNOWN]
    assert "ModuleNotFoundError" in checks[1].found
    assert "docs/install.md" in checks[1].mend


class Deadly:
    """What ends the process that receives it."""

    def __init__(self, how: tuple[object, ...]) -> None:
        self._how = how

    def __reduce__(self) -> tuple[object, ...]:
        return self._how


@pytest.mark.parametrize(("how", "code"), [((os._exit, (3,)), "3"), ((signal.raise_signal, (signal.SIGKILL,)), "-9")])
def test_process_that_dies_is_no_reason_to_be_silent(how: tuple[object, ...], code: str) -> None:
    (died,) = list(in_process("tables", Deadly(how)))
    assert (died.area, died.verdict) == ("tables", Verdict.UNKNOWN)
    assert f"its process ended with {code};" in died.found
    assert ("journalctl -k" in died.mend) == (code == "-9")


def test_process_that_ends_has_found_all() -> None:
    (failed,) = list(in_process("nowhere"))
    assert "ModuleNotFoundError" in failed.found, "and no line about its end"


@pytest.mark.slow("a folder of a release is unpacked")
def test_process_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables' own process is stopped, as a storage without an answer would stop it."""
    import multiprocessing

    found = in_process("tables", None, frozenset(), 60, within_s=0.01)
    (given_up,) = list(found)
    assert given_up.verdict is Verdict.UNKNOWN
    assert multiprocessing.active_children() == []
