"""A run is recorded in one folder: it goes on there, and two runs do not share it."""

import json
import sys
from pathlib import Path

import pytest

from bench.endure.__main__ import LOCK, main
from bench.endure.measures import LIVE
from bench.endure.programs import Recording
from bench.endure.report import LINES, read_lines
from streaming.file_lock import held
from tests.bench.endure.lines import line


def test_a_run_that_goes_on_counts_from_its_last_line(tmp_path: Path):
    recording = Recording(tmp_path, lasts_s=100)
    recording.begin()
    recording.write({"run.rss_mb": 1.23456, "run.trigger_s": None})
    (one,) = read_lines(tmp_path / LINES)
    assert (one["life"], one["run.rss_mb"], one["run.trigger_s"]) == (1, 1.235, None)
    (tmp_path / LINES).write_text(json.dumps(one | {"at_s": 99.9}) + "\n")
    again = Recording(tmp_path, lasts_s=100)
    again.begin()
    assert again.life == 2
    assert 99.9 <= again.at_s < 100
    assert Recording(tmp_path, lasts_s=99).is_over


def test_two_runs_on_one_folder_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["endure", LIVE, "--folder", str(tmp_path)])
    (tmp_path / LIVE).mkdir()
    with held(tmp_path / LIVE / LOCK), pytest.raises(SystemExit, match=f"{tmp_path / LIVE} is in use by process"):
        main()
    assert [file.name for file in (tmp_path / LIVE).iterdir()] == [LOCK]


def test_a_line_that_was_half_written_does_not_spoil_the_next_one(tmp_path: Path):
    (tmp_path / LINES).write_text(json.dumps(line(30)) + '\n{"at_s": 60, "li')
    recording = Recording(tmp_path, lasts_s=100)
    recording.begin()
    recording.write({"run.rss_mb": 2})
    assert [(one["life"], one.get("run.rss_mb")) for one in read_lines(tmp_path / LINES)] == [(1, None), (2, 2)]
