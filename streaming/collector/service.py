"""``evenkeel collect``: rounds of every cluster until a signal, and their events into Kafka or a file."""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from streaming.collector import from_config
from streaming.collector.exposed import ClusterCounts, CollectorExposed
from streaming.collector.output.json_lines import LinesFile
from streaming.collector.output.kafka import KafkaOutput
from streaming.collector.output.other_collectors import OtherCollectorCheck
from streaming.collector.probing import request_load
from streaming.collector.probing.cluster_probe import ClusterProbe, RoundReport
from streaming.collector.probing.memory import MemoryFile
from streaming.collector.probing.policy import Policy, policy_of
from streaming.collector.probing.transport import Emit, Record
from streaming.collector.signals import Signals, run_once
from streaming.collector.wire.client import RemotingClient
from streaming.config.sections import Config
from streaming.metrics.endpoints import start_serving
from streaming.metrics.exposition import Exposed
from streaming.networks import networks
from streaming.wall_clock import now_ms

SUMMARY_EVERY_S = 60
CLOSE_WITHIN_S = 10
WARN_EVERY_S = 60  # of rounds that take too long
log = logging.getLogger(__name__)


class Pace:
    """Rounds begin at fixed times; those that a long round ran over are left out, and never made up for."""

    def __init__(self, cluster: str, interval_s: float) -> None:
        self._cluster, self._interval_s = cluster, interval_s
        self._left_out, self._longest_s = 0, 0.0
        self._warned_s = -math.inf

    def ended(self, began_s: float, now_s: float) -> float:
        """A round that began at ``began_s`` has ended. Returns how many seconds later the next begins; one clock."""
        took_s = now_s - began_s
        left_out = int(took_s / self._interval_s)
        if left_out:
            self._left_out += left_out
            self._longest_s = max(self._longest_s, took_s)
            if now_s - self._warned_s >= WARN_EVERY_S:
                self._warn(now_s)
        return (left_out + 1) * self._interval_s - took_s

    def _warn(self, now_s: float) -> None:
        log.warning(
            "%s: a round took %.1f s, longer than the interval of %g s; %s left out: "
            "raise collector.interval_seconds or watch fewer groups",
            self._cluster, self._longest_s, self._interval_s, self._left_out,
        )  # fmt: skip
        self._warned_s, self._left_out, self._longest_s = now_s, 0, 0.0


class Watched(NamedTuple):
    """A cluster that is watched, and how."""

    cluster: str
    policy: Policy
    probe: ClusterProbe
    memory: MemoryFile
    counts: ClusterCounts


def watched(config: Config, cluster: str, policy: Policy, emit: Emit, record: Record) -> Watched:
    """A probe of one cluster of the configuration. Raises CollectorError for what cannot be set up."""
    collector = config.collector
    allowed = networks(collector.networks)
    client = RemotingClient(
        collector.timeout_seconds, from_config.tls_of(collector), from_config.credentials_of(collector), allowed=allowed
    )
    source = from_config.source_name(client.clock.now_ms())
    probe = ClusterProbe(cluster, policy, client, from_config.name_servers(config)[cluster], source, emit, record)
    counts = ClusterCounts(cluster, policy.interval_ms, client.counts, probe.shared.lags)
    return Watched(cluster, policy, probe, MemoryFile(Path(collector.state), cluster), counts)


def collect(config: Config, recording: Path | None = None) -> None:
    """Until SIGTERM or SIGINT. Raises CollectorError for what cannot be set up; afterwards nothing ends it."""
    with _outputs(config, recording) as (emit, record, output):
        clusters = [
            watched(config, name, policy_of(config, name), emit, record) for name in from_config.name_servers(config)
        ]
        collector = CollectorExposed([one.counts for one in clusters], config.metrics.series_limit, output, now_ms)
        over = Event()
        with Signals() as signals:
            start_serving(config.metrics.address(), Exposed("collect", [collector.series], collector.troubles), over)
            if output is not None:
                sources = {one.cluster: one.probe.translation.source for one in clusters}
                OtherCollectorCheck(config.source, from_config.client_options(config), sources, over).start()
            try:
                asyncio.run(_watch_all(clusters, output, signals))
            finally:
                over.set()


class Footprint(NamedTuple):
    """The cost of collecting from one cluster, in words; ``is_complete``: all who were asked have answered."""

    lines: tuple[str, ...]
    is_complete: bool


def dry_run(config: Config) -> Iterator[Footprint]:
    """The requests a second that ``collect`` would make, by asking each cluster once who is there."""

    async def footprint(cluster: str) -> Footprint:
        policy = policy_of(config, cluster)
        silent = replace(policy, running_info_ms=0, offsets_ms=0, spreads=False)
        found = watched(config, cluster, silent, lambda _: None, lambda _: None)
        try:
            report = await found.probe.round()
            said = [f"  no answer of {who}: {why}" for who, why in report.silent.items()]
            return Footprint(
                (*request_load.lines(cluster, *found.probe.load(policy)), *said),
                bool(found.probe.brokers.addresses) and not report.silent,
            )
        finally:
            await found.probe.close()

    for cluster in from_config.name_servers(config):
        yield run_once(footprint(cluster))


@contextlib.contextmanager
def _outputs(config: Config, recording: Path | None) -> Iterator[tuple[Emit, Record, KafkaOutput | None]]:
    """Where events and answers go, closed at the end."""
    with contextlib.ExitStack() as closing:
        tape = closing.enter_context(contextlib.closing(LinesFile(recording))) if recording is not None else None
        record = (lambda _: None) if tape is None else tape.record
        if config.collector.output == "file":
            yield closing.enter_context(contextlib.closing(LinesFile(Path(config.collector.file)))).emit, record, None
            return
        output = from_config.kafka_output(config)
        output.start()
        closing.callback(output.close, CLOSE_WITHIN_S)
        yield output.emit, record, output


async def _watch_all(clusters: list[Watched], output: KafkaOutput | None, signals: Signals) -> None:
    stop = asyncio.Event()
    signals.notify(stop.set)
    await asyncio.gather(*(_watch(one, stop, output) for one in clusters))


async def _watch(one: Watched, stop: asyncio.Event, output: KafkaOutput | None) -> None:
    log.info("%s: watching, a round every %g s", one.cluster, one.policy.interval_ms / 1000)
    one.probe.recall(one.memory.load())
    pace, stopping = Pace(one.cluster, one.policy.interval_ms / 1000), asyncio.create_task(stop.wait())
    last_summary, losses = time.monotonic(), 0
    try:
        while not stop.is_set():
            began = time.monotonic()
            if output is not None and output.losses != losses:
                losses = output.losses
                one.probe.translation.send_all()
            report = await _round(one, stopping)
            delay_s = pace.ended(began, time.monotonic())
            if report is not None:
                one.memory.save(one.probe.memory())
                one.counts.round_ended(report, one.probe)
            if report is not None and time.monotonic() - last_summary >= SUMMARY_EVERY_S:
                last_summary = time.monotonic()
                _log_summary(one.cluster, report, output)
            await asyncio.wait([stopping], timeout=delay_s)
    finally:
        stopping.cancel()
        await one.probe.close()


async def _round(one: Watched, stopping: "asyncio.Task[Any]") -> RoundReport | None:
    """A round, unless it is to stop; one that fails is said and followed by the next."""
    rounding = asyncio.create_task(one.probe.round())
    both: list[asyncio.Task[Any]] = [rounding, stopping]
    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    if not rounding.done():
        rounding.cancel()
        await asyncio.wait([rounding])
        return None
    if (error := rounding.exception()) is not None:
        one.counts.failed += 1
        log.error("%s: a round failed: %s", one.cluster, error, exc_info=error)
        return None
    return rounding.result()


def _log_summary(cluster: str, report: RoundReport, output: KafkaOutput | None) -> None:
    waiting = f"; {output.sent} events sent, {len(output.backlog)} wait" if output is not None else ""
    log.info(
        "%s: %s groups in %.1f s with %s requests, %s groups without members%s",
        cluster, report.groups, report.took_s, report.requests, report.without_members, waiting,
    )  # fmt: skip
