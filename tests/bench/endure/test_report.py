"""The page of a run, its plots, and what is kept of it."""

import json
from pathlib import Path
from xml.etree import ElementTree

from bench.endure.measures import DAYS, EXPIRED_AFTER_DAYS, FAST, LIVE, LOG_FULL_AFTER_S, rows_of
from bench.endure.report import ABOUT, LINES, PAGE, PLOTS, keep_results, page, write_report
from tests.bench.endure.lines import line


def test_the_report_has_every_row_its_plot_and_what_grows(tmp_path: Path):
    keys = {"run.rss_mb": 500.0, "run.java.heap_after_gc_mb": 300.0, "run.batches": 0.0}
    lines = [line(at, **(keys | {"run.batches": at, "web.rss_mb": 100 + at / 50})) for at in range(30, 9001, 30)]
    (tmp_path / LINES).write_text("".join(json.dumps(one) + "\n" for one in lines) + '{"at_s": 9030, "li')
    (tmp_path / ABOUT).write_text(json.dumps({"title": "A run", "part": LIVE, "cores": 2}))
    assert write_report(tmp_path) == ["web.rss_mb"]
    page = (tmp_path / PAGE).read_text()
    assert page.startswith("# A run\n")
    assert "| cores | 2 |" in page
    picture = ElementTree.parse(tmp_path / PLOTS)
    titles = [plot.findtext("{*}text", "").split()[0].rstrip(":") for plot in picture.iterfind("{*}g")]
    assert titles == sorted([*keys, "web.rss_mb"])
    assert [key for key in titles if f"| {key} |" not in page] == []
    assert len(picture.findall("{*}g/{*}polyline")) == len(titles)
    assert "**Fails: `web.rss_mb`.**" in page
    assert "UNKNOWN" not in page


def test_results_are_kept_under_a_name_of_their_own_and_without_paths(tmp_path: Path):
    run, kept = tmp_path / "run", tmp_path / "docs" / "live-3"
    run.mkdir()
    (run / LINES).write_text(f'{{"wrong": ["no file {run}/stage/x"]}}\n')
    (run / PAGE).write_text(f"[{PLOTS}]({PLOTS}) of {run}/stage")
    (run / PLOTS).write_text("<svg/>")
    keep_results(run, kept)
    found = {file.name: file.read_text() for file in kept.parent.iterdir()}
    assert found == {
        "live-3.jsonl": '{"wrong": ["no file FOLDER/stage/x"]}\n',
        "live-3.md": "[live-3.svg](live-3.svg) of FOLDER/stage",
        "live-3.svg": "<svg/>",
    }


def test_the_report_says_from_when_on_it_judges_what_is_kept_for_a_time():
    lines = [line(at_s, **{DAYS: at_s / 600, "run.state_mb": 1.0}) for at_s in range(0, 9001, 30)]
    ((_, fast), (_, live)) = ((part, page(lines, rows_of(lines, part), {"part": part})) for part in (FAST, LIVE))
    assert f"from virtual day {EXPIRED_AFTER_DAYS} on" in fast
    assert "virtual day" not in live
    assert f"from minute {LOG_FULL_AFTER_S / 60:.0f} on" in live
    assert "from minute" not in fast
