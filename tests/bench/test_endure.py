"""What a run of hours is judged by: made-up series that grow, stay, step, and rise and fall like a heap."""

import json
import os
import random
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from bench.endure.__main__ import LOCK, main
from bench.endure.fast import A_BATCH, A_SHARE, AHEAD, MONTH_DAYS, ROUND_S, _Month
from bench.endure.fast_job import Work
from bench.endure.figures import DAY_S, Point, Verdict, judged, rates, slope_of
from bench.endure.hotspot import counters, memory
from bench.endure.measures import DAYS, EXPIRED_AFTER_DAYS, FAST, LIVE, LOG_FULL_AFTER_S, failing, measure_of, rows_of
from bench.endure.programs import Recording
from bench.endure.report import ABOUT, LINES, PAGE, PLOTS, keep_results, page, read_lines, write_report
from bench.endure.samples import (
    Commits,
    Spent,
    of_folder,
    of_machine,
    of_process,
    of_spark,
    of_tables,
    series,
    total,
)
from bench.endure.visitors import of_pages
from streaming.file_lock import held
from streaming.metrics import catalogue as m
from streaming.metrics.exposition import Exposed, Exposition
from streaming.metrics.series import Series

HOURS_S = 9_000.0  # of a run: two and a half
EVERY_S = 30


def points(value, ended_s=HOURS_S):
    return [Point(at_s, value(at_s)) for at_s in range(EVERY_S, int(ended_s) + 1, EVERY_S)]


def noisy(value, by, seed=1):
    chance = random.Random(seed)
    return lambda at_s: value(at_s) + chance.gauss(0, by)


def saw(at_s, low=300.0, high=900.0, tooth_s=140):
    """A heap that is collected every 140 s."""
    return low + (high - low) * (at_s % tooth_s) / tooth_s


def test_what_stays_level_passes():
    found = judged(points(noisy(lambda _: 500.0, 10)), HOURS_S, slack=5)
    assert found.verdict is Verdict.PASS
    assert abs(found.slope.a_day) <= found.slope.half_width * 2


def test_what_grows_by_a_tenth_an_hour_is_found():
    found = judged(points(noisy(lambda at_s: 500 + at_s / 3600 * 50, 10)), HOURS_S, slack=5)
    assert found.verdict is Verdict.GROWS
    assert found.slope.a_day == pytest.approx(1200, rel=0.1)
    assert abs(found.slope.a_day - 1200) < 2 * found.slope.half_width


def test_growth_in_the_first_quarter_is_warming():
    assert judged(points(lambda at_s: min(at_s, 2000)), HOURS_S, slack=0).verdict is Verdict.PASS


def test_a_step_after_the_second_quarter_grows():
    assert judged(points(lambda at_s: 40 + 10 * (at_s > 5000)), HOURS_S, slack=3).verdict is Verdict.GROWS


def test_a_step_within_the_slack_passes():
    assert judged(points(lambda at_s: 40 + 3 * (at_s > 5000)), HOURS_S, slack=3).verdict is Verdict.PASS


def test_what_becomes_less_does_not_grow():
    assert judged(points(lambda at_s: 1000 - at_s / 20), HOURS_S, slack=5).verdict is Verdict.FALLS


def test_a_run_of_a_day_is_compared_by_its_hours():
    """Level but for the last hour: a quarter of a day would hide it."""
    one = points(lambda at_s: 100 + 10 * (at_s > 23 * 3600), DAY_S)
    assert judged(one, DAY_S, slack=1).verdict is Verdict.GROWS
    assert judged(one, DAY_S, slack=1).last == pytest.approx(110, abs=0.2)


def test_too_few_points_are_no_verdict():
    assert judged(points(lambda _: 1.0)[:3], HOURS_S, slack=1).verdict is Verdict.UNKNOWN
    assert judged([], HOURS_S, slack=1).verdict is Verdict.UNKNOWN
    assert slope_of(points(lambda _: 1.0)[:2]) is None


def test_a_heap_is_judged_by_what_collections_leave():
    level = judged(points(saw), HOURS_S, slack=20, by_lowest=True)
    assert (level.verdict, level.second < 330, level.last < 330) == (Verdict.PASS, True, True)
    growing = judged(points(lambda at_s: saw(at_s) + at_s / 100), HOURS_S, slack=20, by_lowest=True)
    assert growing.verdict is Verdict.GROWS
    assert growing.slope.a_day == pytest.approx(864, rel=0.2)
    higher_only = points(lambda at_s: saw(at_s, high=900 + at_s / 10, tooth_s=90))
    assert judged(higher_only, HOURS_S, slack=20, by_lowest=True).verdict is Verdict.PASS, "the peaks say nothing"


def test_neighbours_that_resemble_each_other_widen_the_confidence():
    chance, value, walk = random.Random(3), 0.0, []
    for at_s in range(0, 9000, EVERY_S):
        value = 0.95 * value + chance.gauss(0, 1)
        walk.append(Point(at_s, value))
    values = chance.sample([point.value for point in walk], len(walk))
    shuffled = [Point(point.at_s, one) for point, one in zip(walk, values, strict=True)]
    assert slope_of(walk).half_width > 2 * slope_of(shuffled).half_width


def test_a_line_without_noise_has_its_slope():
    assert slope_of(points(lambda at_s: 7 + at_s / DAY_S)).a_day == pytest.approx(1)


def test_a_rate_goes_on_after_a_counter_began_again():
    found = rates([Point(0, 100), Point(10, 120), Point(20, 5), Point(30, 25)])
    assert found == [Point(10, 2.0), Point(30, 2.0)]


def line(at_s, life=1, **more):
    return {"at_s": float(at_s), "life": life, "ts": 1_790_000_000_000 + at_s * 1000, **more}


def test_a_table_that_is_kept_for_longer_than_the_run_is_judged_where_days_are_virtual():
    keys = ("tables.facts.files", "tables.queue_assignments.files")
    lines = [line(at_s, **dict.fromkeys(keys, at_s)) for at_s in range(0, 9000, 30)]
    assert failing(rows_of(lines, LIVE)) == ["tables.queue_assignments.files"]
    assert failing(rows_of([one | {DAYS: one["at_s"] / 300} for one in lines], FAST)) == list(keys)


@pytest.mark.parametrize(
    ("days_an_hour", "files", "verdict"),
    [
        (12, lambda day: 20 * min(day, 8), Verdict.PASS),
        (6, lambda day: 20 * min(day, 8), Verdict.PASS),
        (6, lambda day: 20 * day, Verdict.GROWS),
        (3, lambda day: 20 * day, Verdict.UNKNOWN),
    ],
)
def test_what_expires_is_judged_from_when_the_first_days_have(days_an_hour, files, verdict):
    days = [(at_s, at_s / 3600 * days_an_hour) for at_s in range(0, 9000, 30)]
    lines = [line(at_s, **{DAYS: day, "tables.facts.files": files(day)}) for at_s, day in days]
    (row,) = (one for one in rows_of(lines, FAST) if one.key == "tables.facts.files")
    assert row.finding.verdict is verdict


@pytest.mark.parametrize(
    ("part", "ended_s", "batch_s", "verdict"),
    [
        (LIVE, HOURS_S, lambda at_s: 1 + min(at_s, LOG_FULL_AFTER_S) / LOG_FULL_AFTER_S, Verdict.PASS),
        (LIVE, HOURS_S, lambda at_s: 1 + at_s / LOG_FULL_AFTER_S, Verdict.GROWS),
        (LIVE, HOURS_S, lambda at_s: 2 + (at_s > 7200), Verdict.GROWS),
        (LIVE, 24 * 3600, lambda at_s: 2 + (at_s > 23 * 3600), Verdict.GROWS),
        (LIVE, LOG_FULL_AFTER_S, lambda at_s: 1 + at_s / LOG_FULL_AFTER_S, Verdict.UNKNOWN),
        (FAST, HOURS_S, lambda at_s: 1 + min(at_s, LOG_FULL_AFTER_S) / LOG_FULL_AFTER_S, Verdict.GROWS),
    ],
)
def test_times_of_the_job_are_judged_from_when_the_log_of_facts_has_its_full_length(part, ended_s, batch_s, verdict):
    lines = [line(at_s, **{DAYS: 0, "run.batch_s": batch_s(at_s)}) for at_s in range(30, int(ended_s) + 1, 30)]
    (row,) = (one for one in rows_of(lines, part) if one.key == "run.batch_s")
    assert row.finding.verdict is verdict


def test_batches_are_counted_from_when_the_log_of_facts_has_its_full_length():
    def batches(at_s: int, slows_s: float) -> float:
        return at_s if at_s <= slows_s else slows_s + (at_s - slows_s) / 2

    for slows_s, fails in ((3600.0, []), (7200.0, ["run.batches"])):
        lines = [line(at_s, **{"run.batches": batches(at_s, slows_s)}) for at_s in range(30, 9001, 30)]
        assert failing(rows_of(lines, LIVE)) == fails


def test_files_of_a_history_are_judged_by_what_their_deletion_leaves():
    def files(at_s: int, day: int) -> float:
        """60 files a virtual day of five minutes. In the first half two days are kept at most, and then three."""
        return 160 + 60 * (at_s // 300 % (2 if at_s < HOURS_S / 2 else 3)) + day

    for a_day, fails in ((0, []), (2, ["tables.facts.files"])):
        lines = [
            line(at_s, **{DAYS: at_s / 300, "tables.facts.files": files(at_s, a_day * at_s // 300)})
            for at_s in range(0, 9001, 30)
        ]
        assert failing(rows_of(lines, FAST)) == fails


def test_work_that_slows_down_fails_and_work_that_speeds_up_does_not():
    slower = [line(at_s, **{"run.rounds": 200 * at_s - at_s**2 / 100}) for at_s in range(0, 9001, 30)]
    assert failing(rows_of(slower, LIVE)) == ["run.rounds"]
    assert failing(rows_of([line(at_s, **{"run.rounds": at_s**2}) for at_s in range(0, 9001, 30)], LIVE)) == []


def test_a_process_is_judged_by_its_longest_life_and_a_folder_by_all():
    first = [line(at_s, 1, **{"run.rss_mb": 900.0, "checkpoint.mb": 10.0}) for at_s in range(30, 3000, 30)]
    second = [line(at_s, 2, **{"run.rss_mb": 500.0, "checkpoint.mb": 30.0}) for at_s in range(3000, 9001, 30)]
    rows = {row.key: row for row in rows_of([*first, *second], LIVE)}
    assert (rows["run.rss_mb"].finding.verdict, rows["run.rss_mb"].finding.second) == (Verdict.PASS, 500)
    assert rows["checkpoint.mb"].finding.verdict is Verdict.GROWS


def test_a_key_without_a_measure_is_an_error():
    with pytest.raises(KeyError, match="new thing"):
        measure_of("new thing")


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


def test_files_of_a_table_are_counted_apart_from_its_log(tmp_path: Path):
    log = tmp_path / "facts" / "_delta_log"
    log.mkdir(parents=True)
    (log / "0.json").write_bytes(b"x" * 1024)
    (tmp_path / "facts" / "date=2026-11-26").mkdir()
    (tmp_path / "facts" / "date=2026-11-26" / "one.parquet").write_bytes(b"x" * 4096)
    (tmp_path / "_lease").write_text("")
    assert of_tables(tmp_path) == {
        "tables.facts.files": 1,
        "tables.facts.mb": 4096 / 2**20,
        "tables.facts.log_files": 1,
        "tables.facts.log_mb": 1024 / 2**20,
    }
    assert of_folder("logs", tmp_path / "none") == {"logs.files": 0, "logs.mb": 0}


def test_latency_is_from_the_oldest_fact_of_a_commit(tmp_path: Path):
    log = tmp_path / "_delta_log"
    log.mkdir()
    looks = Commits(tmp_path)
    for version, is_change in enumerate((True, True, False)):
        stats = json.dumps({"minValues": {"ts": "2020-01-01T00:00:00.000Z"}})
        (log / f"{version:020}.json").write_text(json.dumps({"add": {"dataChange": is_change, "stats": stats}}) + "\n")
    found = looks.look()
    assert found["facts.commits"] == 3
    assert found["facts.latency_p50_s"] > 5 * 365 * DAY_S
    assert looks.look() == {"facts.commits": 3}, "each commit counts once"


def test_processor_time_is_that_of_a_process_and_its_children_since_the_last_look():
    spent = Spent(os.getpid())
    began_s = sum(os.times()[:2])
    with subprocess.Popen([sys.executable, "-c", "sum(range(10**7))\ninput()"], stdin=subprocess.PIPE) as child:
        taken, deadline_s = 0.0, time.monotonic() + 60
        while taken < 0.1 and time.monotonic() < deadline_s:
            time.sleep(0.05)
            taken += spent.look()
        child.communicate(b"\n")
    assert taken >= 0.1
    assert taken > sum(os.times()[:2]) - began_s


def test_threads_of_deltalake_are_counted_apart(tmp_path: Path):
    write_deltalake(str(tmp_path / "table"), pa.table({"a": [1]}))
    assert DeltaTable(str(tmp_path / "table")).count() == 1
    ours = of_process("one", os.getpid())
    assert ours["one.pool_threads"] >= 1
    assert ours["one.threads"] >= threading.active_count()
    with subprocess.Popen(["sleep", "60"]) as other:
        found = of_process("one", other.pid)
        other.kill()
    assert found["one.threads"] == 1
    assert "one.pool_threads" not in found


def test_processor_time_has_that_of_ended_children():
    before_s = of_process("one", os.getpid())["one.cpu_s"]
    busy = "import time\nwhile time.process_time() < 0.3: pass"  # 0.2 and more, as the system counts ticks of 10 ms
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert of_process("one", os.getpid())["one.cpu_s"] >= before_s + 0.2


def test_the_speed_of_the_machine_and_its_other_work_are_measured_apart():
    of_machine()
    began_s = time.process_time()
    while time.process_time() - began_s < 0.2:
        pass
    found = of_machine()
    assert found["machine.busy_percent"] > 100 / (os.cpu_count() or 1) / 4, "this test alone took much of one core"
    assert 0 < found["machine.loop_ms"] < 1_000


def test_prometheus_text_is_summed_by_name():
    text = '# HELP a b\na{x="1"} 2\na{x="2"} 3.5\na_count 9\n'
    assert (total(text, "a"), total(text, "a_count"), total(text, "b")) == (5.5, 9, None)
    assert total(text, 'a{x="2"}') == 3.5
    assert series(text) == 3


def of_alerts(pages: int, alerts: dict[tuple[str, str], int]):
    """What a scrape of the job gives. ``alerts``: how many there are of each severity and state."""
    found = [Series(m.ALERTS, ("c", "orphaned", *kind), number) for kind, number in alerts.items()]
    exposed = Exposed("run", [lambda: [*found, Series(m.SINK_PAGES, ("hook",), pages)]], list)
    return of_pages(Exposition(exposed).text().decode())


@pytest.mark.parametrize(("pages", "over"), [(2, 0), (3, 0), (5, 2)])
def test_pages_are_compared_with_the_alerts_that_fire_at_the_same_moment(pages: int, over: int):
    paged = {("critical", "firing"): 1, ("warning", "firing"): 2}
    found = of_alerts(pages, paged | {("info", "firing"): 7, ("critical", "pending"): 7})
    assert found == {"notifier.alerts": 3, "notifier.open_pages": pages, "notifier.pages_without_alert": over}


def test_pages_that_stay_open_fail_the_run_and_more_alerts_do_not():
    def failing_with(alerts: int, pages: int):
        """Each with so many more every 50 minutes."""
        lines = []
        for at_s in range(0, 9001, 30):
            more = at_s // 3000
            found = of_alerts(10 + more * pages, {("warning", "firing"): 10 + more * alerts})
            lines.append(line(at_s, **found))
        return failing(rows_of(lines, LIVE))

    assert failing_with(alerts=20, pages=20) == []
    assert failing_with(alerts=0, pages=1) == ["notifier.pages_without_alert"]


def test_only_what_spark_wrote_a_moment_ago_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bench.endure.samples.time.time", lambda: 1_000_100.0)
    (tmp_path / "evenkeel.driver.jvm.direct.used.csv").write_text("t,value\n1000000,7\n1000090,8\n")
    (tmp_path / "evenkeel.driver.jvm.mapped.used.csv").write_text("t,value\n999000,7\n")
    assert of_spark(tmp_path, "*.jvm.direct.used.csv") == 8
    assert of_spark(tmp_path, "*.jvm.mapped.used.csv") is None
    assert of_spark(tmp_path, "*.none.csv") is None


def perf_file(numbers):
    """As HotSpot writes it, on a machine whose low byte is first."""
    entries = b""
    for name, value in numbers.items():
        text = name.encode() + b"\0"
        at = 20 + len(text) + (-(20 + len(text)) % 8)
        body = struct.pack("=iiiBBBBi", at + 8, 20, 0, ord("J"), 0, 1, 2, at) + text
        entries += body.ljust(at, b"\0") + struct.pack("=q", value)
    return struct.pack(">I", 0xCAFEC0C0) + struct.pack("=BBBBiiqii", 1, 2, 0, 1, 0, 0, 0, 32, len(numbers)) + entries


def test_what_hotspot_counts_is_read(tmp_path: Path):
    numbers = {
        "sun.gc.generation.0.space.0.used": 99 << 20,
        "sun.gc.generation.0.space.1.used": 1 << 20,
        "sun.gc.generation.1.space.0.used": 5 << 20,
        "sun.gc.generation.1.capacity": 8 << 20,
        "sun.gc.metaspace.used": 2 << 20,
        "java.cls.loadedClasses": 100,
        "java.cls.unloadedClasses": 30,
    }
    (tmp_path / "hsperfdata_me").mkdir()
    (tmp_path / "hsperfdata_me" / "42").write_bytes(perf_file(numbers))
    assert counters(42, tmp_path) == numbers
    assert memory(numbers) == {"heap_after_gc_mb": 6, "heap_committed_mb": 8, "metaspace_mb": 2, "classes": 70}
    assert counters(43, tmp_path) == {} == memory({})
    (tmp_path / "hsperfdata_me" / "44").write_bytes(b"\0" * 10)
    assert counters(44, tmp_path) == {}


START_TS = 1_790_035_200_000  # midnight
GROUPS = 200


class StillFleet:
    """A fleet of 200 groups that makes no event: only its time goes on."""

    def __init__(self):
        self.sent = 0

    def send(self, rounds):
        self.sent += rounds
        return START_TS + self.sent * ROUND_S * 1000 // GROUPS

    skip = send


class StillJob:
    """A job that reads half of what waits at each look."""

    def __init__(self, fleet):
        self.fleet, self.before, self.most_waiting, self.maintained, self.read = fleet, fleet.sent, 0, [], 0
        self.pid = os.getpid()

    def work(self):
        waiting = self.fleet.sent - self.before - self.read
        self.most_waiting = max(self.most_waiting, waiting)
        self.read += -(-waiting // 2)
        return Work(self.read)

    def maintain(self, virtual_now):
        self.maintained.append(virtual_now.date())


def played_month(tmp_path, sent=0):
    fleet = StillFleet()
    month = _Month(tmp_path, job := StillJob(fleet), fleet, GROUPS, sent, START_TS)
    job.before = fleet.sent
    while not month.is_over:
        month.go_on()
    return fleet, job


def test_a_month_is_maintained_after_each_of_its_days_and_little_waits(tmp_path: Path):
    fleet, job = played_month(tmp_path)
    assert len(job.maintained) == len(set(job.maintained)) == MONTH_DAYS
    assert fleet.sent == pytest.approx(MONTH_DAYS * 86_400 // ROUND_S * GROUPS, abs=A_SHARE * GROUPS)
    assert A_BATCH * GROUPS <= job.most_waiting <= AHEAD * GROUPS
    assert job.read == fleet.sent, "the month is over once the job has read all of it"


def test_what_was_sent_is_read_before_the_job_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bench.endure.fast.LOOK_S", 0)
    fleet = StillFleet()
    month = _Month(tmp_path, job := StillJob(fleet), fleet, GROUPS, 0, START_TS)
    month.go_on()
    assert job.read < fleet.sent
    month.wait_until_read()
    assert job.read == fleet.sent
    assert month.in_words(10.0) == "25.0 virtual days an hour, 4,000 rounds a second, 0.00 facts a round"


def test_a_month_goes_on_after_the_rounds_that_were_sent(tmp_path: Path):
    of_a_day = 86_400 // ROUND_S * GROUPS
    fleet, job = played_month(tmp_path, sent=20 * of_a_day)
    assert len(job.maintained) == MONTH_DAYS - 20
    assert fleet.sent == pytest.approx(MONTH_DAYS * of_a_day, abs=A_SHARE * GROUPS)
