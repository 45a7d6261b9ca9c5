"""Log lines go to standard error, as words or as JSON, in UTC."""

import json
import logging
import re
from collections.abc import Iterator

import pytest

from streaming.config.sections import Log
from streaming.log_format import configure_logs


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_words(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Log(level="INFO", format="text"))
    logging.getLogger("streaming.spark").info("batch %d", 3)
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO streaming\.spark: batch 3\n", err)


def test_json_is_one_object_a_line_also_with_an_exception(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Log(level="INFO", format="json"))
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logging.getLogger("x").exception("failed:\n%s", "订单")
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert (told["level"], told["logger"], told["message"]) == ("ERROR", "x", "failed:\n订单")
    assert told["exception"].endswith("ValueError: two\nlines")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", told["ts"])


@pytest.mark.parametrize("form", ["text", "json"])
def test_name_neither_acts_on_a_terminal_nor_looks_like_a_record(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Log.model_validate({"format": form}))
    name = "b\x1b[2J\x9b1m\u202e\n2026-01-01T00:00:00.000Z ERROR x: all is lost"
    logging.getLogger("x").warning("no answer of %s", name)
    try:
        raise ValueError(name)
    except ValueError:
        logging.getLogger("x").exception("failed")
    lines = capsys.readouterr().err.splitlines()
    assert all(line.isprintable() for line in lines)
    assert len([line for line in lines if line.startswith(("20", "{"))]) == 2


@pytest.mark.parametrize(("level", "told"), [("DEBUG", True), ("INFO", True), ("WARNING", False), ("ERROR", False)])
def test_level(level: str, told: bool, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Log.model_validate({"level": level}))
    logging.getLogger("x").info("said")
    assert ("said" in capsys.readouterr().err) == told


def test_libraries_talk_only_when_something_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Log(level="DEBUG"))
    logging.getLogger("py4j.clientserver").info("wire")
    assert capsys.readouterr().err == ""
