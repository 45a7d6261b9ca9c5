"""A RocketMQ cluster on loopback sockets that speaks the remoting protocol, and can be made to misbehave."""

import asyncio
import itertools
import json
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from schemas.identity import REVIVE_GROUP, is_proxy, proxy_name
from streaming.collector.probing import standby_probe

STORED_TS = 1_700_000_000_000  # of the message consumed last, in every queue
Queue = tuple[str, str, int]  # topic, broker name, queue id
OFFSET = -1  # instead of a code: the body is an offset, which stands in the header of a successful answer
POLLS = -2  # the same of a number of polls
MESSAGES = -3  # the body is the offset after the messages, a blank, and the messages


@dataclass
class FakeClient:
    """``broken`` is the code that asking it for running info gives instead of an answer."""

    client_id: str
    owned: list[Queue] = field(default_factory=list)
    subscribes: tuple[str, ...] = ("T",)
    start_ts: int = 1_700_000_000_000
    broken: int = 0
    delay_s: float = 0
    strategy: str = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely@1"
    properties: dict[str, str] = field(default_factory=dict)
    popped: list[Queue] = field(default_factory=list)
    heartbeat_ts: int = 0
    host: str = "10.0.0.1"  # from which it is connected

    def running_info(self, group: str) -> bytes:
        properties = {
            "PROP_CONSUMER_START_TIMESTAMP": str(self.start_ts),
            "PROP_CONSUMEORDERLY": "false",
            "PROP_CLIENT_VERSION": "V5_3_3",
            "clientRebalance": "true",
            "messageModel": "CLUSTERING",
            "allocateMessageQueueStrategy": self.strategy,
            **self.properties,
        }
        process_queue = '{"cachedMsgCount":0,"commitOffset":5,"droped":false,"lastPullTimestamp":1,"locked":true}'
        subscriptions = [{"topic": topic, "subString": "*", "expressionType": "TAG"} for topic in self.subscribes]
        return (
            f'{{"mqPopTable":{_by_queue((q, "{}") for q in self.popped)},'
            f'"mqTable":{_by_queue((q, process_queue) for q in self.owned)},'
            f'"properties":{json.dumps(properties)},"subscriptionSet":{json.dumps(subscriptions)}}}'
        ).encode()


def _by_queue(rows: Any) -> str:
    """A map with message queues for keys, as fastjson writes it."""
    written = (
        f'{{"brokerName":{json.dumps(broker)},"queueId":{number},"topic":{json.dumps(topic)}}}:{value}'
        for (topic, broker, number), value in rows
    )
    return "{" + ",".join(written) + "}"


@dataclass
class FakeGroup:
    """``members`` are listed by every broker, unless ``listed_by`` says otherwise for one."""

    members: list[FakeClient] = field(default_factory=list)
    topics: tuple[str, ...] = ("T",)
    listed_by: dict[str, list[FakeClient]] = field(default_factory=dict)
    at_proxies: dict[str, list[FakeClient]] = field(default_factory=dict)  # by the name of the proxy
    subscription_table: tuple[str, ...] | None = None
    message_model: str = "CLUSTERING"
    consume_type: str = "CONSUME_PASSIVELY"
    settings: dict[str, Any] = field(default_factory=dict)
    settings_on: dict[str, dict[str, Any] | None] = field(default_factory=dict)  # by broker; None: it has no such group
    committed: tuple[str, ...] | None = None  # topics that 208 without a topic knows; None: all
    has_pulled: bool = True  # also from its retry topic: 208 knows that

    def members_on(self, broker: str) -> list[FakeClient]:
        if is_proxy(broker):
            return self.at_proxies.get(broker, [])
        return self.listed_by.get(broker, self.members)


class Asked(NamedTuple):
    """A request, as its broker sees it. ``subject``: the client, or else the group, that it is about."""

    at_s: float
    connection: int
    broker: str
    code: int
    subject: str


@dataclass
class FakeCluster:
    """``queues`` is a topic's number of queues on each broker; the retry topic of every group has one."""

    broker_names: tuple[str, ...] = ("broker-a", "broker-b")
    number_of_proxies: int = 0  # by names as the collector gives them
    queues: dict[str, int] = field(default_factory=lambda: {"T": 4})
    groups: dict[str, FakeGroup] = field(default_factory=dict)
    write_queues: dict[str, int] = field(default_factory=dict)  # of topics that have more of them than to read
    offsets: dict[Queue, tuple[int, int, int]] = field(default_factory=dict)
    unknown_offsets: set[Queue] = field(default_factory=set)  # of the group, by 14
    polls: dict[tuple[str, str], int] = field(default_factory=dict)  # that wait at any queue, by topic and broker
    single_polls: dict[Queue, int] = field(default_factory=dict)
    asked_polls: list[Queue] = field(default_factory=list)
    written: dict[tuple[str, str], list[bytes]] = field(default_factory=dict)  # messages, by topic and broker
    popping: dict[str, list[str]] = field(default_factory=dict)  # topic -> groups
    without_modes: set[str] = field(default_factory=set)  # brokers on which nobody has set that
    static: set[str] = field(default_factory=set)  # topics
    revive_log: str = ""  # the topic, if brokers have one
    required_key: str | None = None
    refused: set[int] = field(default_factory=set)  # codes that ACL 2.0 does not permit
    refused_by: dict[str, set[int]] = field(default_factory=dict)  # by the broker's name
    clock_ahead_s: int = 0  # of the brokers
    nodes: "dict[str, FakeNode]" = field(default_factory=dict)
    name_servers: "list[FakeNode]" = field(default_factory=list)
    proxies: "list[FakeNode]" = field(default_factory=list)
    asked_of_clients: Counter[str] = field(default_factory=Counter)
    at_work: Counter[str] = field(default_factory=Counter)  # running infos on their way, per client id
    most_at_work: Counter[str] = field(default_factory=Counter)
    asked_s: list[tuple[float, int]] = field(default_factory=list)  # of each request, and its connection
    probing: set[int] = field(default_factory=set)  # connections with nothing but what a standby asks
    asked_about: list[Asked] = field(default_factory=list)

    @asynccontextmanager
    async def running(self, name_servers: int = 1, tls: ssl.SSLContext | None = None) -> AsyncIterator["FakeCluster"]:
        for name in self.broker_names:
            self.nodes[name] = await FakeNode(self, name).start(tls)
        self.name_servers = [await FakeNode(self, "").start(tls) for _ in range(name_servers)]
        self.proxies = [await FakeNode(self, "").start(tls) for _ in range(self.number_of_proxies)]
        for proxy in self.proxies:
            proxy.name = proxy_name(proxy.address)
        try:
            yield self
        finally:
            for node in [*self.nodes.values(), *self.name_servers, *self.proxies]:
                await node.stop()

    @property
    def namesrv(self) -> list[str]:
        return [node.address for node in self.name_servers]

    def route(self, topic: str, held: dict[str, int] | None = None) -> dict[str, Any] | None:
        number = 1 if topic.startswith("%RETRY%") else self.queues.get(topic)
        if number is None or held == {}:
            return None
        hosts = held or {name: number for name, node in self.nodes.items() if node.is_registered}
        return {
            "brokerDatas": [],
            "queueDatas": [
                {
                    "brokerName": name,
                    "perm": 6,
                    "readQueueNums": number,
                    "writeQueueNums": self.write_queues.get(topic, number),
                    "topicSysFlag": 0,
                }
                for name, number in hosts.items()
            ],
            "topicQueueMappingByBroker": {name: {} for name in hosts} if topic in self.static else {},
        }

    async def answer(self, node: "FakeNode", code: int, fields: dict[str, str]) -> tuple[int, bytes]:
        if self.required_key is not None and fields.get("AccessKey") != self.required_key:
            return 1, b""
        if code in self.refused or code in self.refused_by.get(node.name, ()):
            return 16, b""
        if is_proxy(node.name) and code != 203:
            return (1, b"") if code == 38 else (3, b"")
        answer = getattr(self, f"_{code}", None)
        if answer is None or (not node.name) != (code in (105, 106)):
            return 3, b""
        found = answer(node, fields)
        return (await found) if asyncio.iscoroutine(found) else found

    def _105(self, node: "FakeNode", fields: dict[str, str]) -> tuple[int, bytes]:
        topic = fields["topic"]
        route = self.route(topic, node.holds[topic]) if topic in node.holds else self.route(topic)
        return (17, b"") if route is None else (0, json.dumps(route).encode())

    def _106(self, node: "FakeNode", fields: dict[str, str]) -> tuple[int, bytes]:
        table = ",".join(
            f'"{name}":{{"brokerAddrs":{{{",".join(f"{i}:{json.dumps(a)}" for i, a in one.replicas())}}}}}'
            for name, one in self.nodes.items()
            if one.is_registered and name not in node.lacks
        )
        return 0, f'{{"brokerAddrTable":{{{table}}},"clusterAddrTable":{{}}}}'.encode()

    def _201(self, node: "FakeNode", fields: dict[str, str]) -> tuple[int, bytes]:
        table = {
            name: {"groupName": name, "consumeEnable": True, "consumeMessageOrderly": False, **group.settings, **own}
            for name, group in self.groups.items()
            if (own := group.settings_on.get(node.name, {})) is not None
        }
        return 0, json.dumps({"subscriptionGroupTable": table}).encode()

    def _402(self, node: "FakeNode", fields: dict[str, str]) -> tuple[int, bytes]:
        popping = {} if node.name in self.without_modes else self.popping
        modes = {topic: {group: {"mode": "POP"} for group in groups} for topic, groups in popping.items()}
        return 0, json.dumps({"messageRequestModeMap": modes}).encode()

    def _28(self, node: "FakeNode", fields: dict[str, str]) -> tuple[int, bytes]:
        """Runs for a day, an hour, a minute and a second."""
        began = round(time.time() * 1000) + self.clock_ahead_s * 1000 - 90_061_000
        runtime = "[ 1 days, 1 hours, 1 minutes, 1 seconds ]"
        table = {"brokerVersionDesc": "V5_3_3", "bootTimestamp": str(began), "runtime": runtime}
        return 0, json.dumps({"table": table}).encode()

    def _38(self, node: "FakeNode", fields: dict[str, str]) -> tuple[int, bytes]:
        ids = [member.client_id for member in self._members(node, fields)]
        return (0, json.dumps({"consumerIdList": ids}).encode()) if ids else (1, b"")

    def _203(self, node: "FakeNode", fields: dict[str, str]) -> tuple[int, bytes]:
        """In another order each time, as from a ``HashSet`` of objects that have no hash of their own."""
        members = self._members(node, fields)
        if not members:
            return 206, b""
        group = self.groups[fields["consumerGroup"]]
        table = group.topics if group.subscription_table is None else group.subscription_table
        body = {
            "connectionSet": [
                {"clientId": m.client_id, "clientAddr": f"{m.host}:{n}", "language": "JAVA", "version": 479}
                for n, m in list(enumerate(members))[:: 1 if node.requests[203] % 2 else -1]
            ],
            "consumeType": group.consume_type,
            "messageModel": group.message_model,
            "subscriptionTable": {topic: {"topic": topic, "subString": "*"} for topic in table},
        }
        return 0, json.dumps(body).encode()

    def _328(self, node: "FakeNode", fields: dict[str, str]) -> tuple[int, bytes]:
        rows = [
            {"clientId": m.client_id, "remoteIP": f"/10.0.0.1:{n}", "lastUpdateTimestamp": m.heartbeat_ts}
            for group in self.groups.values()
            for n, m in enumerate(group.members_on(node.name))
        ]
        return 0, json.dumps({"data": {"CLIENT_INNER_PRODUCER": rows, "P": rows[:1]}}).encode()

    def _208(self, node: "FakeNode", fields: dict[str, str]) -> tuple[int, bytes]:
        group = self.groups.get(fields["consumerGroup"], FakeGroup())
        if fields["consumerGroup"] == REVIVE_GROUP:
            group = FakeGroup(topics=(self.revive_log,) if self.revive_log else (), has_pulled=False)
        committed = group.topics if group.committed is None else group.committed
        if group.has_pulled:
            committed = (*committed, f"%RETRY%{fields['consumerGroup']}")
        topics = (fields["topic"],) if fields.get("topic") else committed
        rows = []
        for topic in topics:
            for number in range(1 if topic.startswith("%RETRY%") else self.queues.get(topic, 0)):
                queue = (topic, node.name, number)
                broker, consumer, pull = self.offsets.get(queue, (0, 0, 0))
                offsets = f'"brokerOffset":{broker},"consumerOffset":{consumer},"pullOffset":{pull}'
                stored = STORED_TS if consumer else 0
                rows.append((queue, f'{{{offsets},"lastTimestamp":{stored}}}'))
        return 0, f'{{"consumeTps":0.0,"offsetTable":{_by_queue(rows)}}}'.encode()

    def _200055(self, node: "FakeNode", fields: dict[str, str]) -> tuple[int, bytes]:
        """As a broker, it makes a group that it does not know."""
        self.groups.setdefault(fields["consumerGroup"], FakeGroup())
        queue = (fields["topic"], node.name, int(fields["queueId"]))
        self.asked_polls.append(queue)
        waiting = self.polls.get(queue[:2], 0) if queue[2] < 0 else self.single_polls.get(queue, 0)
        return POLLS, str(waiting).encode()

    def _14(self, node: "FakeNode", fields: dict[str, str]) -> tuple[int, bytes]:
        queue = (fields["topic"], node.name, int(fields["queueId"]))
        if queue in self.unknown_offsets:
            return 22, b""
        return OFFSET, str(self.offsets.get(queue, (0, 0, 0))[1]).encode()

    def _11(self, node: "FakeNode", fields: dict[str, str]) -> tuple[int, bytes]:
        """As a broker, it makes a group that it does not know."""
        self.groups.setdefault(fields["consumerGroup"], FakeGroup())
        begin = int(fields["queueOffset"])
        found = self.written.get((fields["topic"], node.name), [])[begin:][: int(fields["maxMsgNums"])]
        return (MESSAGES, b"%d %s" % (begin + len(found), b"".join(found))) if found else (19, b"")

    def _30(self, node: "FakeNode", fields: dict[str, str]) -> tuple[int, bytes]:
        if written := self.written.get((fields["topic"], node.name)):
            return OFFSET, str(len(written)).encode()
        queue = (fields["topic"], node.name, int(fields["queueId"]))
        return OFFSET, str(self.offsets.get(queue, (0, 0, 0))[0]).encode()

    async def _307(self, node: "FakeNode", fields: dict[str, str]) -> tuple[int, bytes]:
        client_id = fields["clientId"]
        member = next((m for m in self._members(node, fields) if m.client_id == client_id), None)
        if member is None:
            return 1, b""
        self.asked_of_clients[client_id] += 1
        self.at_work[client_id] += 1
        self.most_at_work[client_id] = max(self.most_at_work[client_id], self.at_work[client_id])
        # It works to the end, also for a collector that was killed: that request is cancelled here.
        asyncio.get_running_loop().call_later(member.delay_s, self._has_worked, client_id)
        if member.delay_s:
            await asyncio.sleep(member.delay_s)
        return (member.broken, b"") if member.broken else (0, member.running_info(fields["consumerGroup"]))

    def _has_worked(self, client_id: str) -> None:
        self.at_work[client_id] -= 1

    def _members(self, node: "FakeNode", fields: dict[str, str]) -> list[FakeClient]:
        group = self.groups.get(fields["consumerGroup"])
        return [] if group is None else group.members_on(node.name)


class FakeNode:
    """A broker, a proxy, or a name server where ``name`` is empty.

    ``manner``: ``answer``, ``hang``, ``garbage``, ``close`` in the middle of an answer, or ``slow`` by ``delay_s``.
    """

    def __init__(self, cluster: FakeCluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.manner = "answer"
        self.delay_s = 0.0
        self.is_registered = True
        self.lacks: set[str] = set()  # brokers that this name server does not know
        self.holds: dict[str, dict[str, int]] = {}  # topic -> queues by broker, where this name server lags behind
        self.has_master = True
        self.requests: Counter[int] = Counter()
        self.connections: set[_Session] = set()
        self.address = ""
        self._tls: ssl.SSLContext | None = None
        self._server: asyncio.Server | None = None

    async def start(self, tls: ssl.SSLContext | None = None, port: int = 0) -> "FakeNode":
        """Listen, at another address than before unless at this port."""
        self._tls = tls
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Session(self), "127.0.0.1", port, ssl=tls)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def stop(self) -> None:
        """Refuse connections and break those there are."""
        assert self._server is not None
        self._server.close()
        for session in list(self.connections):
            session.transport.abort()
        await asyncio.sleep(0)

    async def restart(self) -> None:
        await self.stop()
        await self.start(self._tls)

    async def come_back(self) -> None:
        """Listen at the same address as before ``stop``."""
        await self.start(self._tls, int(self.address.rpartition(":")[2]))

    def replicas(self) -> list[tuple[int, str]]:
        """By id; the replica that is no master refuses connections, unless it is alone."""
        return [(0, self.address), (1, "127.0.0.1:1")] if self.has_master else [(2, "127.0.0.1:1"), (1, self.address)]


class _Header(msgspec.Struct):
    code: int
    opaque: int
    ext_fields: dict[str, str] = msgspec.field(name="extFields", default_factory=dict)


_decode = msgspec.json.Decoder(_Header).decode


_numbers = itertools.count()


class _Session(asyncio.Protocol):
    def __init__(self, node: FakeNode) -> None:
        self.node = node
        self.transport: Any = None
        self.number = next(_numbers)
        self._pending = bytearray()
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.node.connections.add(self)
        self.node.cluster.probing.add(self.number)

    def connection_lost(self, exc: Exception | None) -> None:
        self.node.connections.discard(self)
        for task in self._tasks:
            task.cancel()

    def data_received(self, data: bytes) -> None:
        self._pending += data
        while len(self._pending) >= 4:
            length = int.from_bytes(self._pending[:4], "big")
            if len(self._pending) < 4 + length:
                return
            frame = bytes(self._pending[4 : 4 + length])
            del self._pending[: 4 + length]
            header_length = int.from_bytes(frame[1:4], "big")
            header = _decode(frame[4 : 4 + header_length])
            self.node.requests[header.code] += 1
            self._note(header)
            if not is_probe(header.code, header.ext_fields):
                self.node.cluster.probing.discard(self.number)
            task = asyncio.get_running_loop().create_task(self._answer(header))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _note(self, header: _Header) -> None:
        now_s, fields = time.monotonic(), header.ext_fields
        subject = fields.get("clientId") or fields.get("consumerGroup", "")
        self.node.cluster.asked_s.append((now_s, self.number))
        self.node.cluster.asked_about.append(Asked(now_s, self.number, self.node.name, header.code, subject))

    async def _answer(self, header: _Header) -> None:
        manner = self.node.manner
        if manner == "hang":
            return
        if manner == "garbage":
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return
        if manner == "slow":
            await asyncio.sleep(self.node.delay_s)
        code, body = await self.node.cluster.answer(self.node, header.code, header.ext_fields)
        written = response(header.opaque, code, body)
        if manner == "close":
            self.transport.write(written[: len(written) // 2])
            self.transport.close()
            return
        self.transport.write(written)


def message(body: bytes, ts: int = STORED_TS, *, flags: int = 0, topic: bytes = b"T") -> bytes:
    """As a broker stores it (``MessageDecoder.encode``), with addresses of IPv6 if flags say so."""
    born, stored = (bytes(20 if flags & bit else 8) for bit in (16, 32))
    before = struct.pack(">IiiqqiQ", crc32(body) & 0x7FFFFFFF, 0, 0, 0, 0, flags, ts)
    written = b"\xda\xa3\x20\xa7" + before + born + struct.pack(">q", ts) + stored
    written += (
        struct.pack(">iqi", 0, 0, len(body)) + body + bytes((len(topic),)) + topic + struct.pack(">h", 3) + b"a\1b"
    )
    return struct.pack(">i", 4 + len(written)) + written


def syncer_message(proxy_id: str, ts: int = STORED_TS, **how: Any) -> bytes:
    """What a proxy writes of a client, as far as it is of use."""
    said = {"clientId": "host-1@4711@0@hoi3xrg9u3", "heartbeatType": "REGISTER", "localProxyId": proxy_id}
    return message(json.dumps(said).encode(), ts, **how)


def is_probe(code: int, fields: dict[str, str]) -> bool:
    """What a standby asks; a collector that asks the cluster asks more than that by each connection."""
    return code == 106 or fields.get("consumerGroup") == standby_probe.GROUP


def response(opaque: int, code: int = 0, body: bytes = b"") -> bytes:
    """As a broker writes it: other fields than ours, in another order."""
    fields = b""
    if code == OFFSET:
        code, fields, body = 0, b'"offset":"%s"' % body, b""
    if code == POLLS:
        code, fields, body = 0, b'"pollingNum":"%s"' % body, b""
    if code == MESSAGES:
        following, _, body = body.partition(b" ")
        code, fields = 0, b'"nextBeginOffset":"%s"' % following
    header = b'{"code":%d,"extFields":{%s},"flag":1,"language":"JAVA","opaque":%d,"remark":"not set","version":479}'
    written = header % (code, fields, opaque)
    length = 4 + len(written) + len(body)
    return length.to_bytes(4, "big") + b"\0" + len(written).to_bytes(3, "big") + written + body


@contextmanager
def served(fake: FakeCluster) -> Iterator[FakeCluster]:
    """By a thread, since the command has the main one."""
    loop, is_up, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with fake.running():
            is_up.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert is_up.wait(5)
    try:
        yield fake
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def two_clients() -> FakeCluster:
    owned = [("T", broker, number) for broker in ("broker-a", "broker-b") for number in range(4)]
    members = [FakeClient("c1", owned[:4]), FakeClient("c2", owned[4:])]
    return FakeCluster(groups={"g": FakeGroup(members)}, offsets={owned[0]: (9, 7, 8)})
