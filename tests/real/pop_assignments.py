"""What a real broker lets each client pop: QUERY_ASSIGNMENT (400) after SET_MESSAGE_REQUEST_MODE (401).

``python -m tests.real.pop_assignments`` writes tests/core/allocation/pop_vectors.jsonl. Clients are connections that
send heartbeats, as a broker knows them.
"""

import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.identity import MessageQueue
from streaming.collector.wire.answers import SUCCESS
from streaming.collector.wire.frames import FrameReader, encode_request
from streaming.collector.wire.requests import MOST_BYTES
from testing.rocketmq import asking
from testing.rocketmq.loopback import LoopbackRocketMQ

HEART_BEAT, QUERY_ASSIGNMENT, SET_MESSAGE_REQUEST_MODE = 34, 400, 401
GROUP = "g"
Place = tuple[str, int]  # broker and queue id


class PoppingRocketMQ(LoopbackRocketMQ):
    """Brokers refuse every pop without the timer wheel."""

    def _settings(self, name: str, port: int) -> dict[str, object]:
        return {**super()._settings(name, port), "timerWheelEnable": "true"}


class PopVector(Struct, frozen=True, kw_only=True, rename="camel"):
    """``assigned``: by client what it may pop, in order; None: the broker answered that it assigns nothing."""

    strategy: str
    queues: int  # of the topic, on one broker
    client_ids: tuple[str, ...]
    share_queue_num: int
    assigned: dict[str, list[Place] | None]

    @property
    def message_queues(self) -> list[MessageQueue]:
        return [MessageQueue("T", "broker-a", number) for number in range(self.queues)]

    def __str__(self) -> str:
        return f"{self.strategy}-{self.queues}-{'.'.join(self.client_ids)}-{self.share_queue_num}"


def set_pop(address: str, group: str, topic: str, share_queue_num: int) -> None:
    """From now on a broker hands out the topic's messages to the group by POP."""
    mode = {"topic": topic, "consumerGroup": group, "mode": "POP", "popShareQueueNum": share_queue_num}
    answer = asking.tell(address, SET_MESSAGE_REQUEST_MODE, {}, json.dumps(mode).encode())
    assert answer.code == 0, answer.remark


def assigned(address: str, group: str, topic: str, client_id: str, strategy: str = "AVG") -> list[Place] | None:
    asked = {
        "topic": topic, "consumerGroup": group, "clientId": client_id, "strategyName": strategy,
        "messageModel": "CLUSTERING",
    }  # fmt: skip
    answer = asking.tell(address, QUERY_ASSIGNMENT, {}, json.dumps(asked).encode())
    assert answer.code == 0, answer.remark
    found = json.loads(answer.body).get("messageQueueAssignments")
    if found is None:
        return None
    assert {one["mode"] for one in found} <= {"POP"}
    return sorted((one["messageQueue"]["brokerName"], one["messageQueue"]["queueId"]) for one in found)


def connected(address: str, group: str, client_id: str) -> socket.socket:
    """A member of the group, as long as the connection is open."""
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), asking.TIMEOUT_S)
    consumer = {
        "groupName": group, "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "subscriptionDataSet": [], "unitMode": False,
    }  # fmt: skip
    heartbeat = {"clientID": client_id, "producerDataSet": [], "consumerDataSet": [consumer]}
    connection.sendall(encode_request(HEART_BEAT, 1, {}, json.dumps(heartbeat).encode()))
    reader = FrameReader()
    while SUCCESS not in {frame.code for frame in reader.feed(connection.recv(1 << 16), MOST_BYTES)}:
        pass  # the broker also says that members have changed
    return connection


def answers(
    cluster: LoopbackRocketMQ,
    clients: Sequence[tuple[str, ...]],
    queues: Sequence[int],
    numbers: Sequence[int],
    strategies: Sequence[str],
) -> Iterator[PopVector]:
    """Everything that one broker answers to these groups."""
    (broker,) = cluster.brokers.values()
    for count in queues:
        cluster.create_topic(f"T{count}", {"broker-a": count})
    for ids in clients:
        with ExitStack() as members:
            for client_id in ids:
                members.enter_context(connected(broker.address, GROUP, client_id))
            for count, number in product(queues, numbers):
                set_pop(broker.address, GROUP, f"T{count}", number)
                for strategy in strategies:
                    yield PopVector(
                        strategy=strategy,
                        queues=count,
                        client_ids=ids,
                        share_queue_num=number,
                        assigned={
                            one: assigned(broker.address, GROUP, f"T{count}", one, strategy)
                            for one in dict.fromkeys(ids)
                        },
                    )
        cluster.wait_until(lambda: not cluster.members(GROUP, "broker-a"), "the broker lists nobody")


def write(path: Path) -> None:
    clients = [("c1",), ("c1", "c2"), ("c1", "c2", "c3"), ("c1", "c10", "c2", "c3", "c4"), ("c1", "c1", "c2", "c3")]
    with LoopbackRocketMQ(brokers=("broker-a",)) as cluster:
        found = list(answers(cluster, clients, (1, 4, 7), (-1, 0, 1, 2, 3), ("AVG", "AVG_BY_CIRCLE")))
        found += answers(cluster, [("c1", "c2")], (4,), (1,), ("CONSISTENT_HASH",))
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in found))


if __name__ == "__main__":
    write(Path(__file__).parents[1] / "core" / "allocation" / "pop_vectors.jsonl")
