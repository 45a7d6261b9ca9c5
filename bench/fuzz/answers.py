"""Answers of real brokers, name servers, proxies and clients, damaged, through all that the collector does with them.

Only sockets are missing: connections get their bytes, and the clock moves from round to round. What the collector then
sends goes to the job, so that each event is taken or in quarantine.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, cast

import msgspec
from prometheus_client.utils import floatToGoString

from bench.fuzz.folding import FoldedShard, watched
from bench.fuzz.mutations import RAW, damaged
from streaming.collector.output.backlog import Backlog
from streaming.collector.probing.cluster_probe import ClusterProbe
from streaming.collector.probing.policy import DEFAULT_POLICY
from streaming.collector.wire.answers import Line
from streaming.collector.wire.client import Lane, RemotingClient, Reply
from streaming.collector.wire.clock import Clock
from streaming.collector.wire.connection import Budget, Connection, Unreachable
from streaming.collector.wire.frames import JSON
from streaming.collector.wire.requests import Code, Outcome, Request
from streaming.core.shard import Record
from streaming.replay.recording import decode_line

CAPTURES = Path("tests/collector/captures")
CLUSTER, GROUP, TOPIC, NAME_SERVER = "prod", "G_cap_49915", "T_cap_49915", "127.0.0.1:9876"
DAMAGED = 0.3  # of the answers: the others let groups become what rules judge
ROUNDS_OF_A_LIFE = 100  # then collector and job begin again
START_TS, ROUND_MS = 1_795_250_000_000, 5_000
BACKLOG_BYTES = 64 * 1024 * 1024
WAITS_FOR_EVER_S = 600  # by the clock: no answer of the round is waited for
CODES = (1, 3, 16, 17, 206, 207, -1, 2**40)
BODIES: dict[Code, tuple[str, ...]] = {
    Code.PULL_MESSAGE: ("syncer_messages.bin",),
    Code.GET_CONSUMER_LIST_BY_GROUP: ("consumer_list.json", "proxy_consumer_list.json"),
    Code.GET_ROUTEINFO_BY_TOPIC: ("route_standard.json", "route_legacy.json"),
    Code.GET_BROKER_CLUSTER_INFO: ("cluster_info.json",),
    Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: ("subscription_groups.json",),
    Code.GET_CONSUMER_CONNECTION_LIST: ("connections.json", "proxy_connections.json", "syncer_connections.json"),
    Code.GET_CONSUME_STATS: ("consume_stats_all.json", "consume_stats_pop.json", "consume_stats_revive.json"),
    Code.GET_CONSUMER_RUNNING_INFO: ("running_info_quote.json", "running_info_go.json"),
    Code.GET_ALL_PRODUCER_INFO: ("producers.json",),
}
MODES = json.dumps({"messageRequestModeMap": {TOPIC: {GROUP: {"mode": "POP"}}}}).encode()
FIELDS = {"offset": "18", "pollingNum": "2", "nextBeginOffset": "4"}
POLICY = replace(DEFAULT_POLICY, include=(GROUP,), spreads=False)


class _Transport:
    """Takes what is written, and gives nothing."""

    def write(self, data: bytes) -> None: ...
    def abort(self) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def is_closing(self) -> bool:
        return True


class DamagedCluster:
    """A ``RemotingClient`` whose answers are damaged. ``number``: how many of them were, so far."""

    def __init__(self) -> None:
        self.asked = self.number = 0
        self.outcomes = Counter[str]()
        self.random = Random()
        self.elapsed_ms = 0
        self.clock = Clock(lambda: START_TS + self.elapsed_ms, lambda: self.elapsed_ms / 1000)
        self._bodies = {code: [(CAPTURES / name).read_bytes() for name in names] for code, names in BODIES.items()}
        self._bodies[Code.GET_ALL_MESSAGE_REQUEST_MODE] = [MODES]
        self._all = [body for bodies in self._bodies.values() for body in bodies]

    async def ask(self, address: str, request: Request, timeout_s: float, lane: Lane = Lane.LISTS) -> Reply:
        self.asked += 1
        connection = Connection(Budget())
        connection.connection_made(_Transport())
        answering = asyncio.ensure_future(connection.ask(request, timeout_s))
        await asyncio.sleep(0)
        data = self._answer(request.code)
        cut = self.random.randrange(len(data) + 1)
        connection.data_received(data[:cut])
        connection.data_received(data[cut:])
        connection.connection_lost(None)
        ts, steady_ms, took_ms = self.clock.now_ms(), self.clock.steady_ms(), self.random.random() * 20
        try:
            frame = await answering
        except Unreachable as error:
            self.outcomes[str(error).partition(":")[0]] += 1
            return Reply(ts, took_ms, None, str(error), steady_ms, Outcome.UNREACHABLE)
        self.outcomes["answers"] += 1
        return Reply(ts, took_ms, frame, None, steady_ms)

    def begin_round(self) -> None: ...
    def keep_only(self, addresses: set[str]) -> None: ...
    async def close(self) -> None: ...

    def _answer(self, code: Code) -> bytes:
        """The bytes of a frame. Its body, its header or all of it is damaged, or it has another code."""
        random = self.random
        body = random.choice(self._bodies.get(code, [b""]))
        header = {"code": 0, "language": "JAVA", "opaque": 1, "flag": 1, "version": 479, "extFields": FIELDS}
        kind = random.randrange(12) if random.random() < DAMAGED else -1
        self.number += kind >= 0
        if kind == 0:
            header |= {"code": random.choice(CODES), "remark": random.choice((None, "no", "x" * 5_000, "\n", "实例"))}
        if kind == 1:
            body = random.choice(RAW)
        text = json.dumps(header).encode()
        if kind in (2, 3):
            text = damaged(text, body, random)
        if kind >= 4:
            body = damaged(body, random.choice(self._all), random)
        head = bytes((JSON,)) + (len(text) & 0xFFFFFF).to_bytes(3, "big")
        frame = (len(head) + len(text) + len(body)).to_bytes(4, "big") + head + text + body
        return damaged(frame, body, random) if kind == 11 else frame


class _Errors(logging.Handler):
    """The errors of evenkeel that the collector logs, since it survives them."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info is not None and record.exc_info[1] is not None:
            self.found.append(record.exc_info[1])


def fuzz_answers(number: int, seed: int, note: Callable[[int], None]) -> dict[str, Any]:
    """``note`` is called with how many have been taken, after each round. Raises what evenkeel must not raise."""
    errors, shard, cluster, slowest = _Errors(), FoldedShard(), DamagedCluster(), [0.0]
    logger = logging.getLogger("streaming.collector")
    logger.addHandler(errors)
    logger.propagate = False
    rounds = 0
    try:
        while cluster.number < number:
            cluster.random = Random(f"{seed}/{rounds}")
            shard.forget()
            asyncio.run(_life(cluster, shard, slowest, lambda: note(cluster.number), number))
            rounds += ROUNDS_OF_A_LIFE
            if errors.found:
                raise RuntimeError(f"life {rounds // ROUNDS_OF_A_LIFE} of seed {seed}") from errors.found[0]
    finally:
        logger.removeHandler(errors)
        logger.propagate = True
    return {
        "answers": cluster.number, "asked": cluster.asked, "slowest_round_s": round(slowest[0], 3),
        "outcomes": dict(cluster.outcomes), **shard.counts,
    }  # fmt: skip


async def _life(
    cluster: DamagedCluster, shard: FoldedShard, slowest: list[float], note: Callable[[], None], number: int
) -> None:
    """A collector that knows nothing at first, and some rounds of it."""
    backlog = Backlog(BACKLOG_BYTES)
    probe = ClusterProbe(
        CLUSTER, POLICY, cast(RemotingClient, cluster), (NAME_SERVER,), f"fuzz {cluster.asked}", backlog.put, _recorded
    )
    for _ in range(ROUNDS_OF_A_LIFE):
        cluster.elapsed_ms += ROUND_MS
        with watched(slowest):
            await asyncio.wait_for(probe.round(), WAITS_FOR_EVER_S)
            for *_, lag in probe.shared.lags.by_topic():
                floatToGoString(lag.messages)
            backlog.end_rounds()
            _take(shard, backlog, cluster.clock.now_ms())
        note()
        if cluster.number >= number:
            break
    await probe.close()


def _recorded(line: Line) -> None:
    """As ``collect --record`` writes it, and ``replay`` reads it."""
    decode_line(msgspec.json.encode(line))


def _take(shard: FoldedShard, backlog: Backlog, ts: int) -> None:
    records = backlog.take(10_000, 0)
    shard.counts["sent"] += sum(one.events for one in records)
    shard.take(
        Record(one.key, one.value, len(one.value), None, ts, CLUSTER, 0, offset) for offset, one in enumerate(records)
    )
