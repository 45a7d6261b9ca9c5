"""The projections: the same rows whatever happens to batches, files and the position."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from schemas.facts import MemberFact, QueueFact
from schemas.tables import CURRENT, HISTORY, NOTIFICATIONS, PROJECTIONS, QUEUE_FINDINGS
from streaming.errors import CheckpointError
from streaming.projections import new_facts, projector
from streaming.projections.locks import writing_alone
from streaming.projections.progress import delete_progress, read_progress
from streaming.projections.projector import open_projector, rebuild, run_projections
from streaming.projections.table import ProjectionTable
from streaming.tables.creation import delta_properties
from testing.damage import cut
from testing.written import commit
from tests.projections.story import START, all_rows, one, read, rows, three_days
from tests.tables.telling import DAY, HOUR, Teller, quarantined

pytestmark = pytest.mark.slow("many commits are written")

AUDIT = Teller(group="audit")


@pytest.fixture(scope="module")
def first_day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = tmp_path_factory.mktemp("unread")
    first, *others = three_days()
    commit(tables / "facts", first)
    run_projections(str(tables))
    for day in others:
        commit(tables / "facts", day)
    return tables


@pytest.fixture
def unread(first_day: Path, tmp_path: Path) -> Path:
    """The first day is projected, the others are not. A copy to change."""
    shutil.copytree(first_day, tmp_path / "tables")
    return tmp_path / "tables"


def utc(*moment: int) -> datetime:
    return datetime(*moment, tzinfo=UTC)  # type: ignore[misc, arg-type]


def test_history_has_a_row_a_fact_and_current_state_a_row_a_thing(finished: Path) -> None:
    assert {table.name: len(read(finished, table.name)) for table in PROJECTIONS} == {
        "queue_findings": 5,  # the first interval of a queue has none before it
        "membership_changes": 6,
        "rebalances": 3,
        "alerts": 6,
        "group_status": 3,
        "quarantine": 3,
        "monitor_health": 3,
        "monitor_faults": 6,
        "queue_assignments": 2,
        "group_members": 4,
    }


def test_an_ended_interval_tells_what_held_and_for_how_long(finished: Path) -> None:
    row = one(finished, "queue_findings", date=date(2026, 3, 2), finding="ORPHANED")
    thing = [row[name] for name in ("cluster", "consumer_group", "topic", "broker_name", "queue_id")]
    assert thing == ["prod", "order-service", "Orders", "broker-a", 0]
    assert (row["from_time"], row["to_time"]) == (utc(2026, 3, 2, 12), utc(2026, 3, 2, 13))
    assert (row["duration_ms"], row["next_finding"]) == (HOUR, "MATCH")
    assert (row["expected_owners"], row["actual_owners"]) == (["a"], ["b"])


def test_current_state_is_what_was_told_last(finished: Path) -> None:
    queue = one(finished, "queue_assignments", queue_id=0)
    gone = one(finished, "group_members", client_id="b2")
    assert (queue["finding"], queue["severity"], queue["actual_owners"]) == ("MATCH", "none", ["client-2"])
    assert queue["since_time"] == utc(2026, 3, 3, 13)
    assert not one(finished, "queue_assignments", queue_id=1)["present"]
    assert (gone["present"], gone["since_time"]) == (False, utc(2026, 3, 3, 13))
    assert one(finished, "group_members", client_id="a")["start_time"] == utc(2026, 3, 3, 12)


def test_alerts_health_and_faults_keep_what_the_facts_say(finished: Path) -> None:
    alert = one(finished, "alerts", date=date(2026, 3, 1), state="firing")
    lost = one(finished, "monitor_faults", date=date(2026, 3, 1), fault="events_lost")
    assert alert["queues"] == [
        {
            "broker_name": "broker-a",
            "queue_id": 0,
            "actual_owners": [],
            "expected_owners": ["a"],
            "waiting": 7,
            "read_time": None,
        }
    ]
    (client,), (change,) = alert["clients"], alert["changes"]
    assert (client["client_id"], client["brokers"]) == ("a", ["broker-a"])
    assert (client["start_times"], client["answered_time"]) == ([utc(2026, 3, 1, 12)], utc(2026, 3, 1, 12))
    assert change == {"change_time": utc(2026, 3, 1, 11, 59, 58), "what": "left", "subject": "b"}
    assert (alert["waiting"], alert["since_time"]) == (7, utc(2026, 3, 1, 11, 59, 59))
    assert (alert["fired_time"], alert["resolved_time"]) == (utc(2026, 3, 1, 12), None)
    assert (lost["source"], lost["events_lost"], lost["error"]) == ("tap-1", 4, None)
    assert one(finished, "monitor_health", date=date(2026, 3, 1))["lag_ms"] == 900
    status = one(finished, "group_status", date=date(2026, 3, 1))
    assert dict(status["finding_counts"]) == {"MATCH": 1, "ORPHANED": 1}


@pytest.mark.parametrize("table", [*PROJECTIONS, NOTIFICATIONS], ids=lambda table: table.name)
def test_tables_have_their_comments_and_properties_and_are_for_old_readers_too(table, finished: Path) -> None:
    delta = DeltaTable(finished / table.name)
    comments = {field.name: field.metadata.get("comment") for field in delta.schema().fields}
    assert comments == {column.name: column.comment for column in table.columns}
    assert delta.metadata().description == table.comment
    assert tuple(delta.metadata().partition_columns) == table.partitioned_by
    assert delta.metadata().configuration == delta_properties(table)
    assert (delta.protocol().min_reader_version, delta.protocol().min_writer_version) == (1, 2)


def test_logs_have_statistics_of_the_columns_that_readers_filter_by(finished: Path) -> None:
    newest = max((finished / "alerts" / "_delta_log").glob("*.json"))
    added = [action["add"] for action in map(json.loads, newest.read_text().splitlines()) if "add" in action]
    assert added
    for file in added:
        assert set(json.loads(file["stats"])["minValues"]) == {"seq", "cluster", "consumer_group", "ts"}


def test_bytes_that_are_no_text_are_readable_and_kept(tmp_path: Path) -> None:
    commit(tmp_path / "facts", [quarantined(START, 7, key=b"\xff/\xfe", value=b"\xff\xfe{"), quarantined(0, 8)])
    run_projections(str(tmp_path))
    kept = one(tmp_path, "quarantine", source_offset=7)
    assert (kept["record_key"], kept["preview"], kept["value"]) == ("�/�", "��{", b"\xff\xfe{")
    assert (kept["cluster"], kept["source_partition"]) == (None, 3)


def test_nothing_new_is_nothing_to_do(told: Path) -> None:
    versions = {table.name: DeltaTable(told / table.name).version() for table in PROJECTIONS}
    run_projections(str(told))
    assert {table.name: DeltaTable(told / table.name).version() for table in PROJECTIONS} == versions


class Killed(BaseException):
    """In place of a SIGKILL, which ``test_killed`` sends."""


def killed_at(monkeypatch: pytest.MonkeyPatch, wanted: int, after: bool) -> None:
    """The process ends before or after its write number ``wanted``: a position, an append or a merge."""
    writes = iter(range(1000))

    def dying(write: Callable[..., Any]) -> Callable[..., Any]:
        def work(*given: Any) -> Any:
            number = next(writes)
            if number == wanted and not after:
                raise Killed
            made = write(*given)
            if number == wanted:
                raise Killed
            return made

        return work

    monkeypatch.setattr(ProjectionTable, "append", dying(ProjectionTable.append))
    monkeypatch.setattr(ProjectionTable, "merge", dying(ProjectionTable.merge))
    monkeypatch.setattr(projector, "write_progress", dying(projector.write_progress))


WRITES_OF_A_BATCH = 1 + len(HISTORY) + len(CURRENT) + 1


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(WRITES_OF_A_BATCH))
def test_a_batch_that_is_cut_short_anywhere_is_completed(
    number: int, after: bool, finished: Path, unread: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        killed_at(patched, number, after)
        with pytest.raises(Killed):
            run_projections(str(unread))
    later = AUDIT.member(START + 3 * DAY, "c")
    commit(unread / "facts", [later])  # the batch that comes again must not take it in
    run_projections(str(unread))
    assert one(unread, "group_members", consumer_group="audit")["client_id"] == "c"
    DeltaTable(unread / "group_members").delete("consumer_group = 'audit'")
    assert all_rows(unread) == all_rows(finished)


def test_a_batch_is_known_to_a_table_though_its_log_was_cut_off(unread: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        killed_at(patched, 4, after=True)
        with pytest.raises(Killed):
            run_projections(str(unread))
    changed = DeltaTable(unread / "membership_changes")
    changed.create_checkpoint()
    for entry in sorted((unread / "membership_changes" / "_delta_log").glob("*.json"))[:-1]:
        entry.unlink()
    run_projections(str(unread))
    assert len(read(unread, "membership_changes")) == 6


def of_queues_and_members(day):
    return [fact for fact in day if isinstance(fact.payload, QueueFact | MemberFact)]


def test_days_in_any_order_lead_to_the_same_rows(finished: Path, tmp_path: Path) -> None:
    for day in reversed(three_days()):
        commit(tmp_path / "facts", of_queues_and_members(day))
        run_projections(str(tmp_path))
    for table in (*CURRENT, QUEUE_FINDINGS):
        assert rows(tmp_path, table.name) == rows(finished, table.name), table.name


def test_large_backlogs_are_read_in_pieces(finished: Path, unread: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_facts, "ROWS_A_PIECE", 5)
    monkeypatch.setattr(new_facts, "ROWS_A_BATCH", 7)
    DeltaTable(unread / "facts").optimize.compact()
    before = read_progress(str(unread))
    for number in (3, 10, 25):  # also in the middle of a file, and of the snapshot with which it starts over
        with monkeypatch.context() as patched:
            killed_at(patched, number, after=True)
            with pytest.raises(Killed):
                run_projections(str(unread), afresh=number == 3)
    run_projections(str(unread))
    after = read_progress(str(unread))
    assert before is not None
    assert after is not None
    assert after.batch_id > 4, "it was read at once"
    assert after.identity != before.identity
    assert all_rows(unread) == all_rows(finished)


def test_compaction_and_deletion_of_facts_are_no_new_facts(finished: Path, told: Path) -> None:
    facts = DeltaTable(told / "facts")
    commit(told / "facts", [AUDIT.member(START, "c")])
    DeltaTable(told / "facts").optimize.compact()
    DeltaTable(told / "facts").delete("\"group\" = 'audit'")  # rewrites a file with facts that are known
    run_projections(str(told))
    assert facts.version() < DeltaTable(told / "facts").version()
    assert rows(told, "alerts") == rows(finished, "alerts")
    assert one(told, "group_members", consumer_group="audit")["client_id"] == "c"


def test_rebuild_after_compaction_gives_the_same_rows(finished: Path, told: Path) -> None:
    DeltaTable(told / "facts").optimize.compact()
    DeltaTable(told / "alerts").delete("state = 'firing'")  # what a rebuild is for
    DeltaTable(told / "queue_assignments").update({"finding": "'MATCH'", "seq": "999999"})
    heard: list[tuple[int, int]] = []
    counts = rebuild(str(told), lambda done, of: heard.append((done, of)))
    assert all_rows(told) == all_rows(finished)
    assert counts["alerts"] == 6
    assert heard[-1] == (48, 48)
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)


def test_without_its_position_it_starts_over_and_keeps_rows_whose_facts_have_expired(told: Path) -> None:
    before = all_rows(told)
    DeltaTable(told / "facts").delete("date < '2026-03-03'")
    delete_progress(str(told))
    run_projections(str(told))
    after = all_rows(told)
    assert {name: after[name] for name in after if name not in {"group_members", "queue_assignments"}} == {
        name: before[name] for name in before if name not in {"group_members", "queue_assignments"}
    }
    assert {row["client_id"] for row in read(told, "group_members")} == {"a", "b0", "b1", "b2"}


@pytest.mark.parametrize("content", ["", "{", '{"identity":1}'])
def test_a_damaged_position_is_none(content: str, finished: Path, told: Path) -> None:
    (told / "_checkpoints" / "projections" / "position.json").write_text(content)
    run_projections(str(told))
    assert all_rows(told) == all_rows(finished)


@pytest.mark.parametrize("table", ["alerts", "group_status", "queue_findings"])
@pytest.mark.parametrize("left", [0, 0.5])
def test_a_table_whose_newest_commit_is_damaged_is_made_again(
    table: str, left: float, finished: Path, told: Path
) -> None:
    cut(max((told / table / "_delta_log").glob("*.json")), left)
    run_projections(str(told))
    assert all_rows(told) == all_rows(finished)


def test_a_damaged_table_is_made_again_also_if_the_first_start_is_interrupted(
    finished: Path, told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(max((told / "alerts" / "_delta_log").glob("*.json")), 0)
    with monkeypatch.context() as killed:
        killed.setattr(projector, "begin", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run_projections(str(told))
    run_projections(str(told))
    assert all_rows(told) == all_rows(finished)


def test_a_position_too_old_for_the_log_starts_over(finished: Path, told: Path) -> None:
    for day, client in ((3, "c"), (4, "d")):
        commit(told / "facts", [AUDIT.member(START + day * DAY, client)])
    cut_log(told)
    run_projections(str(told))
    assert len(read(told, "group_members", consumer_group="audit")) == 2
    assert rows(told, "alerts") == rows(finished, "alerts")


def test_a_log_that_is_cut_off_while_it_follows_is_noticed(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projector, "POLLS_BETWEEN_CHECKS", 2)
    with writing_alone(str(told)):
        following = open_projector(str(told))
        for client in ("c", "d"):
            commit(told / "facts", [AUDIT.member(START, client)])
        cut_log(told)
        while len(read(told, "group_members", consumer_group="audit")) < 2:
            following.next_batch()


def cut_log(tables: Path) -> None:
    """As after a long time."""
    DeltaTable(tables / "facts").create_checkpoint()
    for entry in sorted((tables / "facts" / "_delta_log").glob("*.json"))[:-1]:
        entry.unlink()


def test_facts_of_another_table_are_refused(told: Path) -> None:
    shutil.rmtree(told / "facts")
    commit(told / "facts", [AUDIT.member(START, "c")])
    with pytest.raises(CheckpointError, match="are not those that the tables beside them were made from"):
        run_projections(str(told))


def test_without_facts_there_is_nothing_to_make(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there are no facts in"):
        rebuild(str(tmp_path))


def test_only_one_process_writes_the_projections(told: Path) -> None:
    with writing_alone(str(told)), pytest.raises(CheckpointError, match="are being written by process"):
        rebuild(str(told))
    run_projections(str(told))  # the lock is free again


def test_an_append_of_another_numbering_does_not_count(told: Path) -> None:
    table = ProjectionTable(str(told), QUEUE_FINDINGS)
    progress = read_progress(str(told))
    assert progress is not None
    assert table.has(progress.identity, progress.batch_id - 1)
    assert not table.has(progress.identity, progress.batch_id)
    assert not table.has("another", 0)


def test_what_others_write_into_a_table_meanwhile_is_no_conflict(told: Path) -> None:
    """Compaction, or a row that somebody adds by hand."""
    opened = DeltaTable(told / "alerts")
    write_deltalake(opened, opened.to_pyarrow_table().slice(0, 1), mode="append", commit_properties=CommitProperties())
    commit(told / "facts", [AUDIT.alert(START, "firing")])
    DeltaTable(told / "alerts").optimize.compact()
    run_projections(str(told))
    assert len(read(told, "alerts")) == 8
