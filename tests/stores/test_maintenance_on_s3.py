"""The logs of tables in an object store are shortened as those on a disk."""

from datetime import UTC, datetime, timedelta

import pytest
from deltalake import DeltaTable

from schemas.tables import FACTS
from streaming.projections.maintain import maintain
from streaming.tables.log_files import LogFiles
from streaming.tables.maintenance import MaintainOptions
from streaming.tables.storage import delta_uri
from tests.projections.story import three_days
from tests.stores.test_projections_on_s3 import commit

pytestmark = pytest.mark.slow("an object store is started")


EVERY_VERSION = MaintainOptions(log_hours=-1)  # a checkpoint of now is old enough


def shortened(folder: str) -> list[int]:
    """How many files of the log went."""
    return [done.log_files_deleted for done in maintain(folder, EVERY_VERSION, only=[FACTS], in_full=False)]


@pytest.mark.deep("an object store, which Go builds first")
def test_what_an_old_checkpoint_sums_up_goes(folder: str) -> None:
    path = f"{folder}/facts"
    for day in three_days():
        commit(folder, day)
    rows = DeltaTable(delta_uri(path)).count()

    assert shortened(folder) == []
    assert LogFiles(path).newest_checkpoint() == LogFiles(path).newest_version() == 2
    assert LogFiles(path).newest_checkpoint(before=datetime.now(UTC) - timedelta(hours=1)) == -1
    assert shortened(folder) == [2]
    assert DeltaTable(delta_uri(path)).count() == rows
    assert shortened(folder) == []
