"""One cluster, round after round, while this collector leads it."""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from streaming.collector.exposed import ClusterCounts
from streaming.collector.failover.leadership import Leadership
from streaming.collector.output.kafka import KafkaOutput
from streaming.collector.probing.cluster_probe import ClusterProbe, RoundReport
from streaming.collector.probing.policy import Policy
from streaming.errors import CollectorError

SUMMARY_EVERY_S = 60
PREPARES_EVERY_S = 5
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
    """A cluster that is asked, and how."""

    cluster: str
    policy: Policy
    probe: ClusterProbe
    counts: ClusterCounts


class Permission:
    """Whether a probe may ask. Once it says no, it says so for ever: the probe's rounds are given up."""

    def __init__(self, leadership: Leadership) -> None:
        self._leadership = leadership
        self.is_over = False

    def may_ask(self) -> bool:
        self.is_over = self.is_over or not self._leadership.may_ask()
        return not self.is_over


class ClusterCollector:
    """Asks one cluster, round after round, while this collector leads it.

    ``make`` makes a probe that may ask while the given function says so: a new one each time that it begins to lead.
    ``reaches`` asks as little as shows whether a broker answers.
    ``went_on`` is called after each round, and while another collector leads, after each look.
    """

    def __init__(
        self,
        make: Callable[[Callable[[], bool]], Watched],
        reaches: Callable[[], Awaitable[bool]],
        leadership: Leadership,
        output: KafkaOutput | None,
        went_on: Callable[[], object] = lambda: None,
    ) -> None:
        self.leads_since_s = math.inf
        self._make, self._reaches, self._leadership, self._output = make, reaches, leadership, output
        self._went_on = went_on
        self._prepare()

    def _prepare(self) -> None:
        """Makes the probe of the next time that it leads. Raises CollectorError for what cannot be set up."""
        self._permission = Permission(self._leadership)
        self.watched = self._make(self._permission.may_ask)
        self.watched.counts.leads = False

    async def run(self, stop: asyncio.Event) -> None:
        stopping = asyncio.create_task(stop.wait())
        while not stop.is_set():
            if not self._leadership.begin():
                self._went_on()
                standing_by = asyncio.ensure_future(self._leadership.stand_by(self._reaches))
                await asyncio.wait([stopping, standing_by], return_when=asyncio.FIRST_COMPLETED)
                standing_by.cancel()
                continue
            try:
                await self._lead(stop, stopping)
            finally:
                self._leadership.stopped()
            while not stop.is_set():
                log.info("%s: another collector asks it now, or Kafka does not say which", self.watched.cluster)
                try:
                    self._prepare()
                    break
                except CollectorError as error:  # a file of a secret or certificate that is written just now
                    log.error("%s: %s", self.watched.cluster, error)
                    self._went_on()
                    await asyncio.wait([stopping], timeout=PREPARES_EVERY_S)
        stopping.cancel()

    async def _lead(self, stop: asyncio.Event, stopping: "asyncio.Task[Any]") -> None:
        one = self.watched
        log.info("%s: watching, a round every %g s", one.cluster, one.policy.interval_ms / 1000)
        one.probe.recall(self._leadership.load(), self._leadership.slow_after_ms)
        one.counts.leads, self.leads_since_s = True, time.monotonic()
        try:
            await self._rounds(stop, stopping)
        finally:
            one.counts.leads, self.leads_since_s, self._permission.is_over = False, math.inf, True
            await one.probe.close()
            if self._output is not None:
                self._output.backlog.end_rounds(one.cluster)

    async def _rounds(self, stop: asyncio.Event, stopping: "asyncio.Task[Any]") -> None:
        one, output = self.watched, self._output
        pace = Pace(one.cluster, one.policy.interval_ms / 1000)
        last_summary, losses = time.monotonic(), 0
        while not stop.is_set() and self._permission.may_ask():
            began = time.monotonic()
            if output is not None and output.losses != losses:
                losses = output.losses
                one.probe.translation.send_all()
            report = await self._round(stopping)
            delay_s = pace.ended(began, time.monotonic())
            if report is not None:
                self._leadership.save(one.probe.memory())
                one.counts.round_ended(report, one.probe)
            self._went_on()
            if report is not None and time.monotonic() - last_summary >= SUMMARY_EVERY_S:
                last_summary = time.monotonic()
                _log_summary(one.cluster, report, output)
            await self._unless_over(delay_s, {stopping})

    async def _round(self, stopping: "asyncio.Task[Any]") -> RoundReport | None:
        """A round, unless it is to stop; one that fails is logged and followed by the next."""
        one = self.watched
        rounding = asyncio.create_task(one.probe.round())
        await self._unless_over(math.inf, {rounding, stopping})
        if not rounding.done():
            rounding.cancel()
            await asyncio.wait([rounding])
        if rounding.cancelled():
            return None
        if (error := rounding.exception()) is not None:
            one.counts.failed += 1
            log.error("%s: a round failed: %s", one.cluster, error, exc_info=error)
            return None
        return rounding.result()

    async def _unless_over(self, seconds: float, tasks: "set[asyncio.Task[Any]]") -> None:
        """Waits until one of the tasks is done, the time is over, or this collector leads no longer."""
        end = time.monotonic() + seconds
        while self._permission.may_ask() and (left_s := end - time.monotonic()) > 0:
            self._leadership.note(self.watched.probe.silent_since_s)
            wait_s = min(left_s, self._leadership.check_every_s)
            done, _ = await asyncio.wait(tasks, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
            if done:
                return


def _log_summary(cluster: str, report: RoundReport, output: KafkaOutput | None) -> None:
    waiting = f"; {output.sent} events sent, {len(output.backlog)} wait" if output is not None else ""
    log.info(
        "%s: %s groups in %.1f s with %s requests, %s groups without members%s",
        cluster, report.groups, report.took_s, report.requests, report.without_members, waiting,
    )  # fmt: skip
