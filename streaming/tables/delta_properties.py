"""Delta's settings of each table: how often its log is checkpointed, and how long log and replaced files are kept."""

from schemas.table_definition import Table
from schemas.tables import CURRENT, FACTS

_COMMON = {
    "delta.enableDeletionVectors": "false",  # so that engines without a JVM can read the table
}
# How long a stream that reads the table may be down. Maintenance shortens the log of what all have read much further.
_APPENDED = _COMMON | {
    "delta.checkpointInterval": "100",  # each makes the append that writes it a second longer
    "delta.logRetentionDuration": "interval 7 days",
    "delta.deletedFileRetentionDuration": "interval 2 days",
}
# No stream reads these. Every batch of the projections replaces the table's file, which goes as soon as no query can be
# using it.
_MERGED = _COMMON | {
    "delta.checkpointInterval": "10",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.deletedFileRetentionDuration": "interval 30 minutes",
}
# Payload structs have more leaves than Delta would keep statistics for; these are what readers filter by.
_FACTS = _APPENDED | {"delta.dataSkippingStatsColumns": "seq,fact,cluster,`group`,topic,ts"}


def delta_properties(table: Table) -> dict[str, str]:
    """What the table is created with."""
    if table is FACTS:
        return _FACTS
    return _MERGED if table in CURRENT else _APPENDED
