"""What a table's definition is made of, and the columns that several tables share."""

from dataclasses import dataclass
from typing import NamedTuple


class Column(NamedTuple):
    """A column. ``type`` is a type of Spark SQL; ``comment`` says what it is, its unit, and what null means.

    ``older``: the column that has its values in tables of an older evenkeel.
    """

    name: str
    type: str
    comment: str
    older: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A Delta table. ``keep_days``: for how long rows are kept unless the configuration says otherwise; 0: for ever.

    ``keep_newest_of``: columns; the newest row of each combination of their values is kept for ever, because it still
    holds. ``merge_keys``: columns that identify a row of a table of current state; empty: rows are only appended.
    """

    name: str
    comment: str
    columns: tuple[Column, ...]
    keep_days: int = 0
    partitioned_by: tuple[str, ...] = ("date",)
    merge_keys: tuple[str, ...] = ()
    keep_newest_of: tuple[str, ...] = ()


CLUSTER = Column("cluster", "STRING", "name configured for a set of name servers, not the broker's cluster name")
GROUP = Column("consumer_group", "STRING", "RocketMQ consumer group")
TOPIC = Column("topic", "STRING", "RocketMQ topic")
BROKER = Column("broker_name", "STRING", "RocketMQ broker name; replicas share it")
QUEUE_ID = Column("queue_id", "INT", "queue id: the queues of a topic on one broker are numbered from 0")
CLIENT = Column("client_id", "STRING", "RocketMQ client id, ip@instance")
SEQ = Column("seq", "BIGINT", "number of the fact behind this row; it counts up within (cluster, consumer_group)")
TS = Column("ts", "TIMESTAMP", "time of the collection round that brought the fact")
DATE = Column("date", "DATE", "UTC day of ts; the table is partitioned by it")
FINDING = Column(
    "finding",
    "STRING",
    "EXCLUDED, DUPLICATED, ORPHANED, STALLED, SLOW_CONSUMER, CONSUME_DISABLED, UNKNOWN, SETTLING, PHANTOM, MISPLACED,"
    " MATCH or NO_MEMBERS",
)
CAUSE = Column(
    "cause", "STRING", "cause of the finding: SAME_CLIENT_ID, VIEW_DIVERGENCE, ...; null: the finding needs none"
)
EXPECTED = Column(
    "expected_owners",
    "ARRAY<STRING>",
    "client ids that should own the queue, by the allocate strategy; null: not known",
)
ACTUAL = Column(
    "actual_owners",
    "ARRAY<STRING>",
    "client ids that report to own the queue; an id twice means two instances; empty: no client does; null: not known",
)
SEVERITY = Column("severity", "STRING", "critical, warning, info or none")
REASON_DETAILS = (
    "what the reason says beside its kind: each kind fills in its own fields, all others are null; *_ts: epoch ms, UTC;"
    " null: the kind says it all, or a row of evenkeel 0.1"
)
