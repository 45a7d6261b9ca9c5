"""A real Prometheus takes the names that anybody can give a group."""

from pathlib import Path
from threading import Event, Thread

import pytest

from streaming.loopback.ports import free_port
from streaming.metrics.catalogue import GROUP_MEMBERS
from streaming.metrics.endpoints import keep_serving
from streaming.metrics.exposition import Exposed
from streaming.metrics.series import Series, label
from tests.monitoring.programs import PROMETHEUS, needs, prometheus, until
from tests.monitoring.test_rules import RULES

NAMES = [
    'a"b\\c',
    "a\nb",
    "a\x00b",
    "\u202ea",
    "\ud800",
    "a\r\n# TYPE x counter",
    "x" * 1000,
    "x" * 1001,
    "订单",
    "{}=,",
]


@pytest.mark.slow("promtool plays hours")
@needs(PROMETHEUS, "prometheus")
def test_hostile_names_are_scraped_and_stay_apart(tmp_path: Path) -> None:
    series = [Series(GROUP_MEMBERS, ("prod", label(name)), number) for number, name in enumerate(NAMES)]
    port, stop = free_port(), Event()
    exposed = Exposed("web", [lambda: series], list)
    thread = Thread(target=keep_serving, args=(("127.0.0.1", port), exposed, stop))
    thread.start()
    try:
        with prometheus(tmp_path / "prometheus", [f"127.0.0.1:{port}"], RULES) as server:
            until(lambda: server.values("evenkeel_group_members"), "it has scraped", lambda: server.get("targets"))
            assert sorted(server.values("evenkeel_group_members")) == list(map(float, range(len(NAMES))))
            assert server.values("up") == [1]
            assert set(server.get("label/consumer_group/values")) == set(map(label, NAMES))
            assert server.values("x") == []
    finally:
        stop.set()
        thread.join(30)
