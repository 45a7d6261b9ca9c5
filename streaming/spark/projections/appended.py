"""Which batches the history tables hold already: each append says in Delta's log of which batch it is.

Delta's own means, ``txnAppId`` and ``txnVersion``, makes up a table's state anew for every append, which takes as long
as the append.
"""

import msgspec
from delta.tables import DeltaTable
from msgspec import Struct
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas.tables import HISTORY

NEWEST_COMMITS = 1000
_OURS = '{"projections"'


class AppendNote(Struct, frozen=True, kw_only=True):
    """``projections`` is the identity of the checkpoint that numbers the batches."""

    projections: str
    batch_id: int


def note_of(identity: str, batch_id: int) -> str:
    """What an append is to say, as JSON."""
    return msgspec.json.encode(AppendNote(projections=identity, batch_id=batch_id)).decode()


def appended(spark: SparkSession, tables: str, identity: str) -> dict[str, int]:
    """Table -> the newest batch that is in it; tables with none are left out."""
    found = {table.name: _newest_batch(spark, f"{tables}/{table.name}", identity) for table in HISTORY}
    return {name: batch_id for name, batch_id in found.items() if batch_id is not None}


def _newest_batch(spark: SparkSession, path: str, identity: str) -> int | None:
    history = DeltaTable.forPath(spark, path).history(NEWEST_COMMITS).where(F.startswith("userMetadata", F.lit(_OURS)))
    notes = [msgspec.json.decode(row.userMetadata, type=AppendNote) for row in history.select("userMetadata").collect()]
    return max((note.batch_id for note in notes if note.projections == identity), default=None)
