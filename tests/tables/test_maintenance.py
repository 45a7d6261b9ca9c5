"""What maintenance asks of a table's writer, in which order, whoever that is."""

from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from schemas.table_definition import Table
from schemas.tables import FACTS, GROUP_MEMBERS, GROUP_STATUS
from streaming.tables.arrow_types import arrow_schema, without_comments
from streaming.tables.creation import create_table
from streaming.tables.maintenance import MaintainOptions, Round

NOW = datetime(2026, 3, 10, 12, tzinfo=timezone.utc)
DAYS = (date(2026, 2, 28), date(2026, 3, 7), date(2026, 3, 10), date(2026, 3, 10))


class Asked:
    """A writer that notes what it is asked for, and changes nothing."""

    def __init__(self, dropped: int = 0) -> None:
        self.calls: list[tuple[str, object]] = []
        self._dropped = dropped

    def drop_expired(self, days: list[str]) -> int:
        self.calls.append(("drop", days))
        return self._dropped

    def compact(self, before: str | None) -> tuple[int, int]:
        self.calls.append(("compact", before))
        return 0, 0

    def vacuum(self) -> None:
        self.calls.append(("vacuum", None))

    def shorten_log(self, before: datetime) -> int:
        self.calls.append(("log", before))
        return 3


def asked(tables: Path, table: Table, dropped: int = 0, unread: str | None = None, **options: int) -> Asked:
    path = tables / table.name
    if not path.exists():
        create_table(str(path), table)
        for day in DAYS:
            row = {"seq": 1, "ts": NOW, "date": day}
            row = {name: value for name, value in row.items() if name in arrow_schema(table).names}
            write_deltalake(path, pa.Table.from_pylist([row], without_comments(arrow_schema(table))), mode="append")
    writer = Asked(dropped)
    keep = {table.name: options.pop("keep_days", 5)}
    Round(str(tables), MaintainOptions(keep_days=keep, **options), NOW).maintain(table, writer, unread=unread)
    return writer


@pytest.mark.parametrize("table", [FACTS, GROUP_STATUS])
def test_expired_days_go_closed_ones_are_compacted_and_an_hour_of_log_is_kept(table: Table, tmp_path: Path) -> None:
    drop, compact, log = asked(tmp_path, table).calls  # nothing was replaced: there is nothing to vacuum
    assert (drop, compact) == (("drop", ["2026-02-28"]), ("compact", "2026-03-10"))
    written = DeltaTable(tmp_path / table.name).history(1)[0]["timestamp"]
    wanted = datetime.fromtimestamp(written / 1000, timezone.utc) - timedelta(hours=1)
    assert log == ("log", wanted)


def test_a_day_with_many_files_is_compacted_before_it_ends(tmp_path: Path) -> None:
    assert ("compact", None) in asked(tmp_path, FACTS, files_a_day=2).calls
    assert ("compact", "2026-03-10") in asked(tmp_path, FACTS, files_a_day=3).calls


def test_rows_that_are_kept_for_ever_do_not_expire(tmp_path: Path) -> None:
    assert ("drop", []) in asked(tmp_path, FACTS, keep_days=0).calls


def test_replaced_files_go_and_stay_while_somebody_has_yet_to_read_them(tmp_path: Path) -> None:
    assert [name for name, _ in asked(tmp_path, FACTS, dropped=1).calls] == ["drop", "compact", "vacuum", "log"]
    assert [name for name, _ in asked(tmp_path, FACTS, 1, "not read").calls] == ["drop", "compact"]


def test_the_log_alone_is_shortened_unless_somebody_has_yet_to_read_it(tmp_path: Path) -> None:
    (*_, log) = asked(tmp_path, FACTS).calls
    for unread, calls in ((None, [log]), ("not read", [])):
        writer = Asked(0)
        Round(str(tmp_path), MaintainOptions(), NOW).shorten_log(FACTS, writer, unread=unread)
        assert writer.calls == calls


def test_a_table_that_is_overwritten_is_never_compacted(tmp_path: Path) -> None:
    assert [name for name, _ in asked(tmp_path, GROUP_MEMBERS).calls] == ["drop", "vacuum", "log"]
