"""Requests to a real cluster through the collector's own client, one at a time."""

import asyncio
import json
import socket
from collections.abc import Mapping

from streaming.collector.wire import reply_parsing, requests
from streaming.collector.wire.acl import Credentials
from streaming.collector.wire.answers import TopicRouteData
from streaming.collector.wire.client import RemotingClient, Reply
from streaming.collector.wire.frames import Frame, FrameReader, encode_request
from streaming.collector.wire.reply_parsing import Asked
from streaming.collector.wire.requests import MOST_BYTES, Code, Outcome, Request, RequestCounts

UPDATE_AND_CREATE_TOPIC = 17
UPDATE_BROKER_CONFIG = 25
UPDATE_AND_CREATE_SUBSCRIPTIONGROUP = 200
DELETE_SUBSCRIPTIONGROUP = 207
RESET_OFFSET = 222  # INVOKE_BROKER_TO_RESET_OFFSET, as mqadmin resetOffsetByTime sends it
TIMEOUT_S = 5


class Uncounted(RequestCounts):
    """Tests make requests that the collector never makes: they have no code there."""

    def add(self, code: Code, outcome: Outcome, took_s: float) -> None:
        return


def ask(address: str, request: Request, credentials: Credentials | None = None) -> Reply:
    async def once() -> Reply:
        client = RemotingClient(TIMEOUT_S, credentials=credentials)
        client.counts = Uncounted()
        try:
            return await client.ask(address, request, TIMEOUT_S)
        finally:
            await client.close()

    return asyncio.run(once())


def tell(address: str, code: int, fields: Mapping[str, str], body: bytes = b"") -> Frame:
    """The answer to a request that the collector never makes: with a body, or of another code."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), TIMEOUT_S) as connection:
        connection.settimeout(TIMEOUT_S)
        connection.sendall(encode_request(code, 1, fields, body))
        reader = FrameReader()
        while True:
            data = connection.recv(1 << 16)
            assert data, f"{address} closed the connection on request {code}"
            for frame in reader.feed(data, MOST_BYTES):
                return frame


def set_group(broker_address: str, group: str, *, fifo: bool = False, consumes: bool = True) -> None:
    """Create a consumer group on a broker, or change it."""
    config = {
        "groupName": group, "consumeMessageOrderly": fifo, "consumeEnable": consumes, "retryQueueNums": 1,
        "retryMaxTimes": 16,
    }  # fmt: skip
    answer = tell(broker_address, UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, json.dumps(config).encode())
    assert answer.code == 0, answer.remark


def brokers_known_to(namesrv: str) -> dict[str, str]:
    """Addresses by broker name; none of a name server that does not answer."""
    return reply_parsing.broker_addresses(ask(namesrv, requests.cluster_info()))[0] or {}


def delete_group(broker_address: str, group: str) -> None:
    """Its offsets stay."""
    answer = tell(broker_address, DELETE_SUBSCRIPTIONGROUP, {"groupName": group, "cleanOffset": "false"})
    assert answer.code == 0, answer.remark


def configure(broker_address: str, **settings: object) -> None:
    """Change settings of a broker. It writes them to its file, so they are also those of its next life."""
    body = "".join(f"{key}={value}\n" for key, value in settings.items())
    answer = tell(broker_address, UPDATE_BROKER_CONFIG, {}, body.encode())
    assert answer.code == 0, answer.remark


def queues_of(namesrv: str, topic: str) -> dict[str, int]:
    """Read queues of a topic by broker, as the name server knows them."""
    route = reply_parsing.topic_route(ask(namesrv, requests.topic_route(topic)), "", topic).body or TopicRouteData()
    return {queue.broker_name: queue.read_queue_nums for queue in route.queue_datas or ()}


def is_serving(broker_address: str, credentials: Credentials | None = None) -> bool:
    return reply_parsing.group_settings(ask(broker_address, requests.subscription_groups(), credentials))[0] is not None


def members_of(broker_address: str, group: str, credentials: Credentials | None = None) -> tuple[str, ...]:
    """Client ids as often as the broker lists them, in order."""
    answer = reply_parsing.consumer_list(
        ask(broker_address, requests.consumer_list(group), credentials), Asked("", "", group)
    )
    return tuple(sorted(answer.ids or ()))


def set_queues(
    broker_address: str,
    topic: str,
    queues: int,
    credentials: Credentials | None = None,
    *,
    to_read: int | None = None,
    perm: int = 6,
) -> None:
    """Create a topic on a broker, or change how many queues it has there. ``to_read``: how many of them, if not all."""
    readable = queues if to_read is None else to_read
    fields = {
        "topic": topic, "defaultTopic": topic, "readQueueNums": str(readable), "writeQueueNums": str(queues),
        "perm": str(perm), "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
    }  # fmt: skip
    reply = ask(broker_address, Request(UPDATE_AND_CREATE_TOPIC, fields), credentials)  # type: ignore[arg-type]
    assert reply.frame is not None, reply.error
    assert reply.frame.code == 0, reply.frame.remark


def reset_offsets(broker_address: str, group: str, topic: str, ts: int) -> None:
    """Set the offsets of all queues of the topic on a broker to the first message after ``ts``."""
    fields = {
        "topic": topic, "group": group, "queueId": "-1", "timestamp": str(ts), "offset": "-1", "isForce": "true",
    }  # fmt: skip
    reply = ask(broker_address, Request(RESET_OFFSET, fields))  # type: ignore[arg-type]
    assert reply.frame is not None, reply.error
    assert reply.frame.code == 0, reply.frame.remark
