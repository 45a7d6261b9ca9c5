"""Requests to ``evenkeel web`` at an even rate, whether or not it keeps up, as many readers or a faulty script ask.

Connections stay open, as those of browsers. A request for which all are in use is not sent: it is counted.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from statistics import quantiles
from typing import Any
from urllib.parse import urlsplit

import psutil

CONNECTIONS = 450  # fewer than web lets in, so that it closes none of them
GIVEN_UP_AFTER_S = 60.0
LOOK_S = 0.5
MB = 1 << 20
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Flood:
    """``keeps_open``: whether connections stay open, as those of browsers, or not, as those of Kubernetes' probes."""

    def __init__(self, address: str, keeps_open: bool = True) -> None:
        self._keeps_open = keeps_open
        self._host, self._port = urlsplit(address).hostname or "", urlsplit(address).port or 80
        self._free: list[Connection] = []
        self._open = 0
        self.outcomes = Counter[str]()
        self.took_s: dict[str, list[float]] = {}

    async def ask(self, path: str) -> None:
        if not self._free and self._open >= CONNECTIONS:
            self.outcomes["not sent"] += 1
            return
        connection = self._free.pop() if self._free else None
        self._open += connection is None  # before anything waits, so that other requests count it
        began, outcome, is_kept = time.monotonic(), "failed", False
        try:
            code, is_kept = await asyncio.wait_for(self._ask(path, connection), GIVEN_UP_AFTER_S)
            outcome = str(code)
            self.took_s.setdefault(outcome, []).append(time.monotonic() - began)
        except (OSError, ValueError, EOFError):
            pass
        self._open -= not is_kept
        self.outcomes[outcome] += 1

    async def _ask(self, path: str, connection: Connection | None) -> tuple[int, bool]:
        """Ask on this connection, or on a new one: the status, and whether the connection stays open."""
        reader, writer = connection or await asyncio.open_connection(self._host, self._port)
        is_kept = False
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(head.partition("content-length:")[2].partition("\r\n")[0])
            await reader.readexactly(length)
            is_kept = self._keeps_open and head.startswith("http/1.1") and "connection: close" not in head
        finally:
            if is_kept:
                self._free.append((reader, writer))
            else:
                writer.transport.abort()
        return int(head.split(" ", 2)[1]), is_kept

    def close(self) -> None:
        for _, writer in self._free:
            writer.transport.abort()


def flood(address: str, paths: Sequence[str], rate: float, seconds: float, process: psutil.Process) -> dict[str, Any]:
    """Send ``rate`` requests a second for ``seconds``, and ask how ``process`` lives meanwhile."""
    return asyncio.run(_flood(address, paths, rate, seconds, process))


async def _flood(
    address: str, paths: Sequence[str], rate: float, seconds: float, process: psutil.Process
) -> dict[str, Any]:
    one, health, rss_mb = _Flood(address), _Flood(address, keeps_open=False), [process.memory_info().rss / MB]
    loop, sent, looked_s = asyncio.get_running_loop(), 0, 0.0
    began, asking = loop.time(), set[asyncio.Task[None]]()
    while (elapsed_s := loop.time() - began) < seconds:
        for number in range(sent, int(elapsed_s * rate)):
            asking.add(loop.create_task(one.ask(paths[number % len(paths)])))
        sent = max(sent, int(elapsed_s * rate))
        if elapsed_s - looked_s >= LOOK_S:
            looked_s = elapsed_s
            rss_mb.append(process.memory_info().rss / MB)
            asking.add(loop.create_task(health.ask("/healthz")))
        asking = {task for task in asking if not task.done()}
        await asyncio.sleep(0.005)
    await asyncio.gather(*asking)
    back = _Flood(address)
    await back.ask(paths[0])
    for each in (one, health, back):
        each.close()
    await asyncio.sleep(0)  # transports close at the loop's next turn
    return {
        "rate": rate, "seconds": round(loop.time() - began, 1), "asked": sent, "answers": dict(one.outcomes),
        "ms": {code: _spread_ms(took) for code, took in one.took_s.items()},
        "healthz": dict(health.outcomes), "healthz_ms": _spread_ms(health.took_s.get("200", [])),
        "rss_mb": {"before": round(rss_mb[0]), "most": round(max(rss_mb)), "after": round(rss_mb[-1])},
        "first_page_after": dict(back.outcomes), "first_page_after_ms": _spread_ms(back.took_s.get("200", [])),
    }  # fmt: skip


def _spread_ms(took_s: list[float]) -> dict[str, int]:
    if not took_s:
        return {}
    in_order = sorted(took_s)
    cuts = quantiles(in_order, n=100) if len(in_order) > 1 else in_order * 99
    return {"p50": round(cuts[49] * 1000), "p99": round(cuts[98] * 1000), "max": round(in_order[-1] * 1000)}
