"""Whose queues evenkeel does not judge: members that do not compute them themselves, and groups of only these.

Offsets are judged all the same: that messages wait and nobody consumes them needs no owner.
"""

import re

from schemas.reasons import ReasonKind
from streaming.core.state.group_state import HeartbeatProfile, RunningProfile

PULLS, PUSHES = "CONSUME_ACTIVELY", "CONSUME_PASSIVELY"  # ConsumeType of pull and of push consumers

# Of groups of which nothing is judged, not even lists and offsets. A lite topic has a queue and offsets of its own
# (``LiteUtil.toLmqName``). So a group that consumes lite topics never moves an offset of their parent topic.
OF_WHOLE_GROUPS = frozenset({ReasonKind.CONFIGURED, ReasonKind.LITE_TOPICS})
# These do not depend on which members come and go.
PERMANENT_EXCLUSIONS = OF_WHOLE_GROUPS | {
    ReasonKind.STATIC_TOPIC, ReasonKind.NOT_SUBSCRIBED, ReasonKind.UNREADABLE, ReasonKind.SYSTEM_GROUP
}  # fmt: skip

# Members of these kinds own no queue. That they consume is seen by their polls.
POLLING = frozenset({ReasonKind.PROXY_CLIENT, ReasonKind.POP})

# host@process@index@time in base 36 (that of C# has capitals); of the C++ SDK host@process#index_milliseconds
_GRPC_CLIENT_ID = re.compile(r"[^@]+@[0-9]+(@[0-9]+@[0-9a-zA-Z]+|#[0-9]+_[0-9]{13})")


def why_excluded(
    client_id: str, running: RunningProfile | None, heartbeat: HeartbeatProfile | None
) -> ReasonKind | None:
    """Why evenkeel does not judge what a member owns. Brokers list it like others, so other members leave it a share.

    What a report says counts more than what an id looks like: a gRPC client's says nothing of how it consumes.
    RebalanceImpl.rebalanceByTopic shares out among all ids of MQClientInstance.findConsumerIdList, whatever they run.
    """
    if running is not None and running.pops:
        return ReasonKind.POP
    if running is not None and running.client_rebalance is False:
        return ReasonKind.BROKER_ALLOCATED
    if running is not None and not running.subscriptions and _pulls_only(running, heartbeat):
        return ReasonKind.LITE_ASSIGN
    is_known = running is not None and bool(running.subscriptions or running.strategy or running.consume_type)
    return ReasonKind.PROXY_CLIENT if not is_known and is_proxy_client(client_id) else None


def _pulls_only(running: RunningProfile, heartbeat: HeartbeatProfile | None) -> bool:
    if running.consume_type is not None or heartbeat is None:
        return running.consume_type == PULLS
    return heartbeat.consume_type == PULLS and not heartbeat.subscriptions


def tells_when_it_owns_nothing(running: RunningProfile, heartbeat: HeartbeatProfile | None) -> bool:
    """True if a report without queues says that the client owns none. Pull consumers mostly do not list theirs:

    DefaultMQPullConsumerImpl.consumerRunningInfo never does, DefaultLitePullConsumerImpl's only from 5.1.1 on. The type
    that a broker knows is that of the group's last heartbeat (ConsumerGroupInfo.updateChannel): it may be another's.
    """
    if running.consume_type is not None:
        return running.consume_type != PULLS
    if not running.subscriptions:
        return False
    return heartbeat is None or heartbeat.consume_type != PULLS


def is_proxy_client(client_id: str) -> bool:
    """True if an id is that of a gRPC client. Others have at most two parts after the host: host@instance@unit.

    The id of the gRPC client in Rust, host@process#index, may also be that of librocketmq, host@process#instance.
    """
    return _GRPC_CLIENT_ID.fullmatch(client_id) is not None
