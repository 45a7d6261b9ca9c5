"""The requests that are made, one function each, and what came of them. All of them only read."""

from collections import Counter
from collections.abc import Iterator
from enum import Enum, IntEnum
from typing import NamedTuple

from schemas.events import ANY_QUEUE
from streaming.metrics.catalogue import REQUEST_DURATION
from streaming.metrics.series import Histogram, histogram


class Code(IntEnum):
    """``RequestCode``."""

    PULL_MESSAGE = 11
    QUERY_CONSUMER_OFFSET = 14
    GET_BROKER_RUNTIME_INFO = 28
    GET_MAX_OFFSET = 30
    GET_CONSUMER_LIST_BY_GROUP = 38
    GET_ROUTEINFO_BY_TOPIC = 105
    GET_BROKER_CLUSTER_INFO = 106
    GET_ALL_SUBSCRIPTIONGROUP_CONFIG = 201
    GET_CONSUMER_CONNECTION_LIST = 203
    GET_CONSUME_STATS = 208
    GET_CONSUMER_RUNNING_INFO = 307
    GET_ALL_PRODUCER_INFO = 328
    GET_ALL_MESSAGE_REQUEST_MODE = 402
    POLLING_INFO = 200055


MOST_BYTES = 4 * 1024 * 1024  # 20,000 queues of 200 bytes
MOST_BYTES_OF_PRODUCERS = 16 * 1024 * 1024  # 100,000 connections of 150 bytes
MOST_BYTES_OF_GROUPS = 64 * 1024 * 1024  # 200,000 groups of 300 bytes


class Request(NamedTuple):
    """A request; ``fields`` are the header's ``extFields``, texts all of them. ``most_bytes``: of the answer."""

    code: Code
    fields: dict[str, str]
    most_bytes: int = MOST_BYTES


def cluster_info() -> Request:
    """Asks a name server for every broker, with the address of each of its replicas."""
    return Request(Code.GET_BROKER_CLUSTER_INFO, {})


def topic_route(topic: str) -> Request:
    return Request(Code.GET_ROUTEINFO_BY_TOPIC, {"topic": topic, "acceptStandardJsonOnly": "true"})


def subscription_groups() -> Request:
    """Every group that ever was on a broker, with its settings."""
    return Request(Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, {}, MOST_BYTES_OF_GROUPS)


def message_request_modes() -> Request:
    """For which topics and groups a broker hands out messages itself (pop). Unknown to the 4.x line."""
    return Request(Code.GET_ALL_MESSAGE_REQUEST_MODE, {}, MOST_BYTES_OF_GROUPS)


def broker_runtime_info() -> Request:
    """A broker's version, its time, and its figures. Only ``doctor`` asks for it."""
    return Request(Code.GET_BROKER_RUNTIME_INFO, {})


def consumer_list(group: str) -> Request:
    return Request(Code.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})


def connections(group: str) -> Request:
    return Request(Code.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})


def consume_stats(group: str, topic: str = "") -> Request:
    """Without a topic: of all topics for which the group has ever committed an offset on the broker."""
    return Request(Code.GET_CONSUME_STATS, {"consumerGroup": group, "topic": topic})


def consumer_offset(group: str, topic: str, queue_id: int) -> Request:
    """Where the group would go on in one queue, whether or not it can be read. From the broker's memory."""
    return Request(Code.QUERY_CONSUMER_OFFSET, {"consumerGroup": group, "topic": topic, "queueId": str(queue_id)})


def max_offset(topic: str, queue_id: int) -> Request:
    """The end of one queue, whether or not it can be read. From the broker's memory."""
    return Request(Code.GET_MAX_OFFSET, {"topic": topic, "queueId": str(queue_id)})


def polling_info(group: str, topic: str, queue_id: int = ANY_QUEUE) -> Request:
    """How many polls of the group wait for messages of the topic: those at one queue, or those at any queue.

    From the broker's memory. It makes the group if it does not know it (``PollingInfoProcessor``), so ask only one that
    does.
    """
    return Request(Code.POLLING_INFO, {"consumerGroup": group, "topic": topic, "queueId": str(queue_id)})


READER = "TOOLS_CONSUMER"  # MixAll.TOOLS_CONSUMER_GROUP: each broker has it from the start, for tools that read
HAS_SUBSCRIPTION = 4  # PullSysFlag; without the flags for "commit an offset" and "wait for messages"


def messages(topic: str, queue_id: int, offset: int, at_most: int) -> Request:
    """Messages of a queue, from an offset on. No offset is committed, and the broker answers at once.

    A broker makes the group of it if it does not know it (``PullMessageProcessor``), so ask only one that knows READER.
    """
    fields = {
        "consumerGroup": READER, "topic": topic, "queueId": str(queue_id), "queueOffset": str(offset),
        "maxMsgNums": str(at_most), "sysFlag": str(HAS_SUBSCRIPTION), "commitOffset": "0", "suspendTimeoutMillis": "0",
        "subscription": "*", "subVersion": "0", "expressionType": "TAG",
    }  # fmt: skip
    return Request(Code.PULL_MESSAGE, fields)


def producers() -> Request:
    """Every connection of a producer, with the time of its last heartbeat. Each Java client has a producer of its own.

    (``MQClientInstance``: the group CLIENT_INNER_PRODUCER.) So it tells of consumers when they last sent a heartbeat.
    """
    return Request(Code.GET_ALL_PRODUCER_INFO, {}, MOST_BYTES_OF_PRODUCERS)


def running_info(group: str, client_id: str) -> Request:
    """The broker asks the client itself, and waits for it up to 10 s."""
    fields = {"consumerGroup": group, "clientId": client_id, "jstackEnable": "false"}
    return Request(Code.GET_CONSUMER_RUNNING_INFO, fields)


class Outcome(Enum):
    """``NOT_SENT``: to an address that did not answer a moment ago; ``NOT_ALLOWED``: to one outside of the networks."""

    ANSWERED = "answered"
    REFUSED = "refused"
    TIMED_OUT = "timed_out"
    UNREACHABLE = "unreachable"
    NOT_SENT = "not_sent"
    NOT_ALLOWED = "not_allowed"


class RequestCounts:
    """The collector's loop adds; any thread may read."""

    def __init__(self) -> None:
        self._counts = {code: Counter[Outcome]() for code in Code}
        self._durations = {code: histogram(REQUEST_DURATION) for code in Code}

    def add(self, code: Code, outcome: Outcome, took_s: float) -> None:
        self._counts[code][outcome] += 1
        if outcome in (Outcome.ANSWERED, Outcome.REFUSED):
            self._durations[code].observe(took_s)

    def counts(self) -> Iterator[tuple[Code, Outcome, int]]:
        """Every outcome of the codes that were asked."""
        for code, counter in self._counts.items():
            for outcome in Outcome if counter else ():
                yield code, outcome, counter[outcome]

    def durations(self) -> Iterator[tuple[Code, Histogram]]:
        for code, durations in self._durations.items():
            if self._counts[code]:
                yield code, durations
