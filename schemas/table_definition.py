"""What a table's definition is made of, and the columns that several tables share."""

from dataclasses import dataclass
from typing import NamedTuple


class Column(NamedTuple):
    """``type`` is Spark SQL's."""

    name: str
    type: str
    comment: str


@dataclass(frozen=True, slots=True)
class Table:
    """``keep_days``: how long rows are kept unless the configuration says otherwise; 0 is for ever.

    ``keep_newest_of``: the newest row of each of these is kept beyond that, since it still holds.
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
QUEUE_ID = Column("queue_id", "INT", "number of the message queue on that topic and broker, from 0")
CLIENT = Column("client_id", "STRING", "client id of the consumer instance, ip@instance")
SEQ = Column("seq", "BIGINT", "number of the fact behind this row; it counts up within (cluster, consumer_group)")
TS = Column("ts", "TIMESTAMP", "when the group's clock told it: the time of its newest collection round")
DATE = Column("date", "DATE", "UTC day of ts; the table is partitioned by it")
FINDING = Column(
    "finding",
    "STRING",
    "EXCLUDED, DUPLICATED, ORPHANED, STALLED, SLOW_CONSUMER, CONSUME_DISABLED, UNKNOWN, SETTLING, PHANTOM, MISPLACED"
    " or MATCH",
)
CAUSE = Column("cause", "STRING", "why, by evidence: SAME_CLIENT_ID, VIEW_DIVERGENCE, ...; null where not asked")
EXPECTED = Column(
    "expected_owners", "ARRAY<STRING>", "client ids that the allocate strategy gives the queue to; null: not known"
)
ACTUAL = Column(
    "actual_owners",
    "ARRAY<STRING>",
    "client ids that report to own the queue; an id twice means two instances; empty: nobody does; null: not known",
)
SEVERITY = Column("severity", "STRING", "critical, warning, info or none")
