"""The page of a run, its plots, and what is kept of it."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.endure.faults import write_faults_report
from bench.endure.measures import DAYS, EXPIRED_AFTER_DAYS, FAST, LIVE, LOG_FULL_AFTER_S, rows_of
from bench.endure.report import ABOUT, LINES, PAGE, PLOTS, keep_results, page, write_report
from tests.bench.endure.lines import line

KEPT = Path(__file__).parents[3] / "docs" / "endurance" / "0.2.0"


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
    run, kept, read = tmp_path / "run", tmp_path / "docs" / "live-3", tmp_path / "read"
    run.mkdir()
    (run / LINES).write_text(f'{{"wrong": ["no file {run}/stage/x"]}}\n')
    (run / ABOUT).write_text("{}")
    (run / PAGE).write_text(f"`{PLOTS}` of {run}/stage")
    keep_results(run, kept)
    first = kept.with_suffix(".tar.xz").read_bytes()
    keep_results(run, kept)
    assert kept.with_suffix(".tar.xz").read_bytes() == first
    assert {file.name for file in kept.parent.iterdir()} == {"live-3.md", "live-3.tar.xz"}
    assert kept.with_suffix(".md").read_text() == f"`{PLOTS}` of FOLDER/stage"
    unpack(kept.with_suffix(".tar.xz"), read)
    found = {file.name: file.read_text() for file in read.iterdir()}
    assert found == {LINES: '{"wrong": ["no file FOLDER/stage/x"]}\n', ABOUT: "{}"}


@pytest.mark.slow("a short measurement")
@pytest.mark.parametrize("name", ["live-12", "fast-9"])
def test_a_kept_page_is_made_again_of_its_lines(name: str, tmp_path: Path):
    unpack(KEPT / f"{name}.tar.xz", tmp_path)
    assert write_report(tmp_path) == []
    assert (tmp_path / PAGE).read_text() == (KEPT / f"{name}.md").read_text()
    titles = [plot.findtext("{*}text", "").split()[0] for plot in ElementTree.parse(tmp_path / PLOTS).iterfind("{*}g")]
    assert len(titles) >= 100


def test_the_kept_page_of_faults_is_made_again_of_its_lines(tmp_path: Path):
    unpack(KEPT / "faults.tar.xz", tmp_path)
    assert len(write_faults_report(tmp_path, json.loads((tmp_path / ABOUT).read_text()))) == 4
    assert (tmp_path / PAGE).read_text() == (KEPT / "faults.md").read_text()


def test_each_kept_page_has_its_lines_and_all_are_small():
    kept = {file.name for file in KEPT.iterdir()}
    pages = {name.removesuffix(".md") for name in kept if name.endswith(".md")}
    assert {"live-12", "fast-9", "faults"} <= pages
    assert kept == {f"{page}{end}" for page in pages for end in (".md", ".tar.xz")}
    assert sum(file.stat().st_size for file in KEPT.parent.rglob("*") if file.is_file()) <= 2_000_000


def unpack(archive: Path, folder: Path) -> None:
    """As docs/endurance/README.md says."""
    subprocess.run([sys.executable, "-m", "tarfile", "-e", archive, folder], check=True, capture_output=True)


def test_the_report_says_from_when_on_it_judges_what_is_kept_for_a_time():
    lines = [line(at_s, **{DAYS: at_s / 600, "run.state_mb": 1.0}) for at_s in range(0, 9001, 30)]
    ((_, fast), (_, live)) = ((part, page(lines, rows_of(lines, part), {"part": part})) for part in (FAST, LIVE))
    assert f"from virtual day {EXPIRED_AFTER_DAYS} on" in fast
    assert "virtual day" not in live
    assert f"from minute {LOG_FULL_AFTER_S / 60:.0f} on" in live
    assert "from minute" not in fast
