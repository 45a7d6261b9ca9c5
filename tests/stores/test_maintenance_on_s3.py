"""The logs of tables in an object store are shortened as those on a disk."""

from datetime import datetime, timedelta, timezone

import pytest
from deltalake import DeltaTable

from schemas.tables import FACTS
from streaming.tables.log_files import LogFiles
from streaming.tables.maintenance import MaintainOptions, Round
from streaming.tables.storage import delta_uri
from tests.projections.story import three_days
from tests.stores.test_projections_on_s3 import commit

pytestmark = pytest.mark.slow


class Writer:
    """The table's writer, of whom only a checkpoint is asked here."""

    def __init__(self, path: str) -> None:
        self._path = path

    def drop_expired(self, days: list[str]) -> int:
        raise AssertionError(days)

    def compact(self, before: str | None) -> tuple[int, int]:
        raise AssertionError(before)

    def vacuum(self) -> None:
        raise AssertionError

    def checkpoint(self) -> None:
        DeltaTable(delta_uri(self._path)).create_checkpoint()


def test_what_an_old_checkpoint_sums_up_goes(folder: str) -> None:
    path = f"{folder}/facts"
    for day in three_days():
        commit(folder, day)
    rows = DeltaTable(delta_uri(path)).count()
    every_version = MaintainOptions(log_hours=-1)  # a checkpoint of now is old enough
    work = Round(folder, every_version, datetime.now(timezone.utc))

    assert work.shorten_log(FACTS, Writer(path)) is None
    assert LogFiles(path).newest_checkpoint() == LogFiles(path).newest_version() == 2
    assert LogFiles(path).newest_checkpoint(before=datetime.now(timezone.utc) - timedelta(hours=1)) == -1
    done = work.shorten_log(FACTS, Writer(path))

    assert done is not None
    assert done.log_files_deleted == 2
    assert DeltaTable(delta_uri(path)).count() == rows
    assert work.shorten_log(FACTS, Writer(path)) is None
