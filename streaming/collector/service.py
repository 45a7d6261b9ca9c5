"""``evenkeel collect``: rounds of every cluster until a signal, and their events into Kafka or a file."""

import asyncio
import contextlib
import gc
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import NamedTuple

from streaming import systemd
from streaming.collector import from_config
from streaming.collector.cluster_collector import ClusterCollector, Watched
from streaming.collector.exposed import ClusterCounts, CollectorExposed
from streaming.collector.failover.leadership import Alone, Elected, Leadership
from streaming.collector.output.json_lines import LinesFile
from streaming.collector.output.kafka import KafkaOutput
from streaming.collector.output.other_collectors import LOOK_BACK_MS, OtherCollectorCheck
from streaming.collector.probing import request_load
from streaming.collector.probing.cluster_probe import ClusterProbe
from streaming.collector.probing.memory import MemoryFile
from streaming.collector.probing.policy import Policy, policy_of
from streaming.collector.probing.standby_probe import is_answered
from streaming.collector.probing.transport import Emit, Record
from streaming.collector.signals import Signals, run_once
from streaming.collector.wire.client import RemotingClient
from streaming.collector.wire.metrics_page import MetricsPages
from streaming.config.sections import Config
from streaming.config.values import server_list
from streaming.errors import CollectorError
from streaming.metrics.endpoints import start_serving
from streaming.metrics.exposition import Exposed
from streaming.networks import networks
from streaming.systemd import ServiceState
from streaming.wall_clock import now_ms

CLOSE_WITHIN_S = 10
# New objects before Python searches them for cyclic garbage, and how many searches before older ones are searched, too.
# Hardly anything here is cyclic. By the defaults (700, 10, 10) all that is known of groups is searched for nothing.
GARBAGE_THRESHOLDS = (20_000, 20, 20)
OUTPUT, MEMBERSHIP = "thread kafka", "thread collectors"  # parts of the work, beside the clusters
log = logging.getLogger(__name__)


def watched(
    config: Config, cluster: str, policy: Policy, emit: Emit, record: Record, may_ask: Callable[[], bool] = lambda: True
) -> Watched:
    """A probe of one cluster of the configuration. Raises CollectorError for what cannot be set up."""
    client = _client(config, may_ask)
    source = from_config.source_name(client.clock.now_ms())
    names = from_config.name_servers(config)[cluster]
    proxies = server_list(config.collector.proxies.get(cluster, ""))
    probe = ClusterProbe(
        cluster, policy, client, names, source, emit, record, proxies, _metrics_pages(config, policy, may_ask)
    )
    counts = ClusterCounts(cluster, policy.interval_ms, client.counts, probe.shared.lags)
    return Watched(cluster, policy, probe, counts)


def _client(config: Config, may_ask: Callable[[], bool]) -> RemotingClient:
    collector = config.collector
    return RemotingClient(
        collector.timeout_seconds,
        from_config.tls_of(collector),
        from_config.credentials_of(collector),
        allowed=networks(collector.networks),
        may_ask=may_ask,
    )


def _metrics_pages(config: Config, policy: Policy, may_ask: Callable[[], bool]) -> MetricsPages | None:
    port, allowed = config.collector.broker_metrics_port, networks(config.collector.networks)
    return MetricsPages(port, policy.tables_timeout_ms / 1000, allowed, may_ask) if port else None


async def reaches(config: Config, cluster: str) -> bool:
    """Returns whether a broker of the cluster answers this machine now."""
    try:
        client = _client(config, lambda: True)
    except CollectorError as error:
        log.warning("%s: it cannot be probed: %s", cluster, error)
        return False
    try:
        return await is_answered(client, from_config.name_servers(config)[cluster])
    finally:
        await client.close()


def collect(config: Config, recording: Path | None = None) -> None:
    """Until SIGTERM or SIGINT. Raises CollectorError for what cannot be set up; afterwards nothing ends it."""
    state = ServiceState([*from_config.name_servers(config), *_threads(config)], lambda: exposed.troubles())
    # the events are sent before another collector takes over
    with (
        _leaderships(config, partial(state.went_on, MEMBERSHIP)) as leaderships,
        _outputs(config, recording, partial(state.went_on, OUTPUT)) as (emit, record, output),
    ):
        collectors: list[ClusterCollector] = []
        exposed = CollectorExposed(
            lambda: [one.watched.counts for one in collectors], config.metrics.series_limit, output, now_ms
        )
        for name, leadership in leaderships.items():
            make = partial(watched, config, name, policy_of(config, name), emit, record)
            reaching, went_on = partial(reaches, config, name), partial(state.went_on, name)
            collectors.append(ClusterCollector(make, reaching, leadership, output, went_on))
        over = Event()
        with Signals() as signals:
            start_serving(config.metrics.address(), Exposed("collect", [exposed.series], exposed.troubles), over)
            if output is not None:
                options = from_config.client_options(config)
                OtherCollectorCheck(config.source, options, partial(_source, collectors), over).start()
            try:
                with garbage_searched_seldom():
                    asyncio.run(_collect_all(collectors, signals))
            finally:
                over.set()


def _threads(config: Config) -> Iterator[str]:
    """The parts of the work that are threads: without a step of each, nothing reaches Kafka, or nobody may ask."""
    if config.collector.output != "file":
        yield OUTPUT
    if config.collector.failover_topic:
        yield MEMBERSHIP


@contextlib.contextmanager
def garbage_searched_seldom() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextlib.contextmanager
def _leaderships(config: Config, went_on: Callable[[], object]) -> Iterator[dict[str, Leadership]]:
    """By cluster: alone, or elected where several collectors agree by a topic."""
    names, folder = from_config.name_servers(config), Path(config.collector.state)
    if not config.collector.failover_topic:
        yield {name: Alone(MemoryFile(folder, name)) for name in names}
        return
    collectors = from_config.membership(config, went_on)
    collectors.start()
    try:
        yield {name: Elected(name, collectors) for name in names}
    finally:
        collectors.close()


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
def _outputs(
    config: Config, recording: Path | None, went_on: Callable[[], object]
) -> Iterator[tuple[Emit, Record, KafkaOutput | None]]:
    """Where events and answers go, closed at the end."""
    with contextlib.ExitStack() as closing:
        tape = closing.enter_context(contextlib.closing(LinesFile(recording))) if recording is not None else None
        record = (lambda _: None) if tape is None else tape.record
        if config.collector.output == "file":
            yield closing.enter_context(contextlib.closing(LinesFile(Path(config.collector.file)))).emit, record, None
            return
        output = from_config.kafka_output(config, went_on)
        output.start()
        closing.callback(output.close, CLOSE_WITHIN_S)
        yield output.emit, record, output


async def _collect_all(collectors: list[ClusterCollector], signals: Signals) -> None:
    stop = asyncio.Event()

    def end() -> None:
        stop.set()
        systemd.stopping()

    signals.notify(end)
    await asyncio.gather(*(one.run(stop) for one in collectors))


def _source(collectors: list[ClusterCollector], cluster: str, group: str) -> str | None:
    """This collector's own source, of a group that it has asked for so long that the newest events cannot be those of
    the collector before it. None: another collector may ask the group, also one whose ``include`` has it.
    """
    since_s = time.monotonic() - 2 * LOOK_BACK_MS / 1000
    for one in collectors:
        watched = one.watched
        if watched.cluster == cluster and one.leads_since_s < since_s and watched.policy.covers(group):
            return watched.probe.translation.source
    return None
