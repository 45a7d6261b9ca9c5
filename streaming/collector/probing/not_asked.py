"""Why clients that were due were not asked, in a few words for counting. The events say it in full."""

from enum import Enum

from streaming.collector.probing.client_schedule import BACKING_OFF, GRPC_CLIENT, OTHER_GROUP, STILL_BUSY, SWITCHED_OFF
from streaming.collector.probing.unread_queues import REASON as UNREAD

NO_BROKER = "no broker that answers lists it"


class NotAsked(Enum):
    SWITCHED_OFF = "switched_off"
    GRPC_CLIENT = "grpc_client"
    STILL_BUSY = "still_busy"
    OTHER_GROUP = "other_group"
    BACKING_OFF = "backing_off"
    NEW_QUEUES = "new_queues"
    NO_BROKER = "no_broker"
    BROKER_FAILED = "broker_failed"


_BY_REASON = {
    SWITCHED_OFF: NotAsked.SWITCHED_OFF,
    GRPC_CLIENT: NotAsked.GRPC_CLIENT,
    STILL_BUSY: NotAsked.STILL_BUSY,
    OTHER_GROUP: NotAsked.OTHER_GROUP,
    UNREAD: NotAsked.NEW_QUEUES,
    NO_BROKER: NotAsked.NO_BROKER,
}


def reason_of(why: str) -> NotAsked:
    """``why``: as the round's marker has it. What is none of evenkeel's own reasons is what a broker answered."""
    if why.startswith(BACKING_OFF):
        return NotAsked.BACKING_OFF
    return _BY_REASON.get(why, NotAsked.BROKER_FAILED)
