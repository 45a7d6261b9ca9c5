"""Whether evenkeel sees each cluster, and whether pages arrive."""

import shutil
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from msgspec.structs import replace

from schemas.facts import FAILED
from schemas.table_definition import Table
from schemas.tables import MONITOR_FAULTS, NOTIFICATIONS, QUARANTINE
from streaming.tables.arrow_types import arrow_schema, without_comments
from streaming.tables.query import Selection
from streaming.web.live.group_reader import read_notifications
from streaming.web.live.upkeep_reader import UpkeepReader
from streaming.web.views.known import Known
from streaming.web.views.upkeep import Upkeep, clusters_seen, refused_groups
from streaming.web.words import words_in
from testing.written import EPOCH
from tests.notifier.facts import NOW as OF_HEALTH
from tests.notifier.facts import health
from tests.web.made_tables import health_of
from tests.web.test_overview import NOW, status
from tests.web.test_rendering import FRAME, RENDER


def write(tables: Path, table: Table, *rows: dict) -> None:
    schema = without_comments(arrow_schema(table))
    made = [{"ts": at(0), "date": at(0).date()} | row for row in rows]
    write_deltalake(tables / table.name, pa.Table.from_pylist(made, schema), mode="append")


def at(seconds: float):  # type: ignore[no-untyped-def]
    return EPOCH + timedelta(milliseconds=NOW + int(seconds * 1000))


def test_what_the_tables_tell_of_evenkeel(tmp_path: Path) -> None:
    page = {"status": "firing", "severity": "critical", "title": "t", "key": "k", "fingerprints": ["f"], "cluster": "c"}
    write(
        tmp_path, NOTIFICATIONS, page | {"sink": "pager", "outcome": "delivered", "ts": at(-60)},
        page | {"sink": "pager", "outcome": "failed", "detail": "500", "ts": at(-30)},
        page | {"sink": "chat", "outcome": "delivered", "fingerprints": ["f", "g"]},
    )  # fmt: skip
    write(tmp_path, QUARANTINE, {"reason": "bad_json", "detail": "x", "source_topic": "T"}, {"reason": "bad_json"})
    write(tmp_path, MONITOR_FAULTS, {"cluster": "c", "consumer_group": "g", "fault": "events_lost", "source": "s",
                                     "events_lost": 3})  # fmt: skip
    found = UpkeepReader(str(tmp_path)).read(NOW)
    assert found.sinks == [
        {"name": "chat", "is_failing": None, "deliveries": 1, "failures": 0},
        {"name": "pager", "is_failing": True, "deliveries": 1, "failures": 1},
    ]
    assert found.quarantined == [{"reason": "bad_json", "number": 2, "ts": NOW, "detail": "x", "place": "T"}]
    assert found.faults == [{"ts": NOW, "cluster": "c", "group": "g", "fault": "events_lost", "what": "s: 3"}]
    page = RENDER(
        "health.html", t=words_in("en"), now=NOW, here="health", error=None, is_past=False, clusters=[], refused=(),
        upkeep=found, notifier="", **FRAME,
    )  # fmt: skip
    assert [text in page for text in ("<b>pager</b>", "<b>bad_json</b> × 2", "s: 3", "T x")] == [True] * 4
    assert UpkeepReader(str(tmp_path)).read(NOW + 3 * 86_400_000).sinks == []
    told = read_notifications(str(tmp_path), ["g"], NOW)
    assert [(one["sink"], one["outcome"], one["ts"]) for one in told] == [("chat", "delivered", NOW)]
    assert read_notifications(str(tmp_path), [], NOW) == []


def test_a_table_is_read_again_only_if_it_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, ask = [], Selection.ask
    monkeypatch.setattr(Selection, "ask", lambda self, sql: asked.append(sql) or ask(self, sql))
    reader = UpkeepReader(str(tmp_path))
    write(tmp_path, QUARANTINE, {"reason": "bad_json"})

    def quarantined(now: int = NOW) -> list[tuple[str, int]]:
        return [(row["reason"], row["number"]) for row in reader.read(now).quarantined]

    assert quarantined() == quarantined() == [("bad_json", 1)]
    assert len(asked) == 1
    write(tmp_path, QUARANTINE, {"reason": "bad_json"})
    assert quarantined() == [("bad_json", 2)]
    assert quarantined(NOW + 3 * 86_400_000) == [], "its days are over"
    assert len(asked) == 3
    shutil.rmtree(tmp_path / QUARANTINE.name)  # as `evenkeel rebuild` does
    for reason in ("too_large", "too_large"):
        write(tmp_path, QUARANTINE, {"reason": reason})
    assert quarantined() == [("too_large", 2)]


def test_tables_that_are_not_there_tell_nothing(tmp_path: Path) -> None:
    assert UpkeepReader(str(tmp_path)).read(NOW) == ([], [], [])


@pytest.mark.parametrize(("later_s", "state"), [(1, "ok"), (70, "late"), (130, "blind")])
def test_whether_a_cluster_is_seen(later_s: int, state: str) -> None:
    known = Known()
    known.take(health_of([status("g", "healthy")], "c"))
    (one,) = clusters_seen(known, NOW + later_s * 1000)
    assert (one.cluster, one.state) == ("c", state)


def test_groups_whose_events_are_refused() -> None:
    fact = status("g", "unknown")
    known = Known()
    known.take([status("other", "healthy"), replace(fact, payload=replace(fact.payload, refused_since=NOW))])
    assert [one.group for one in refused_groups(known)] == ["g"]


@pytest.mark.parametrize(("before", "shown"), [([0], "1 ms"), ([], "–")])
def test_a_job_that_ended_with_an_error_keeps_its_last_figures(before: list[int], shown: str) -> None:
    known = Known()
    failure = health(at=30, status=FAILED, rounds=0, lag=1)
    failure = replace(failure, payload=replace(failure.payload, detail="out of memory", batch_ms=0))
    known.take([*(health(at=at) for at in before), failure])
    (one,) = clusters_seen(known, OF_HEALTH + 31_000)
    page = RENDER(
        "health.html", t=words_in("en"), now=OF_HEALTH + 31_000, here="health", error=None, is_past=False,
        clusters=[one], refused=(), upkeep=Upkeep((), (), ()), notifier="", **FRAME,
    )  # fmt: skip
    assert one.state == FAILED
    assert "out of memory" in page
    assert f'<td class="n">{shown}</td>' in page
