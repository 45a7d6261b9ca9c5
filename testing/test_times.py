"""A pytest plugin: what each test cost. ``pytest -p testing.test_times --times=FILE``.

FILE gets a JSON object a line for each test, with its fixtures: its id, the seconds by the clock, and the seconds of
processors, those of all its processes included: of what goes on after it, as Java for Spark, what was used so far.
"""

import json
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", type=Path, metavar="FILE", help="write what each test cost, as JSON lines")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--times")
    if path is not None and not hasattr(config, "workerinput"):
        path.write_text("")


def _cost() -> tuple[float, float]:
    own, work_s = psutil.Process(), 0.0
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # it ended just now, and is among those of who started it
            work_s += sum(process.cpu_times()[:4])  # user and system, its own and of what ended in it
    return time.monotonic(), work_s


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    path = item.config.getoption("--times")
    if path is None:
        return (yield)
    began = _cost()
    result = yield
    clock_s, work_s = (after - before for after, before in zip(_cost(), began, strict=True))
    with path.open("a") as file:  # a line is written whole, also beside other lanes
        file.write(json.dumps({"test": item.nodeid, "clock_s": round(clock_s, 3), "work_s": round(work_s, 3)}) + "\n")
    return result
