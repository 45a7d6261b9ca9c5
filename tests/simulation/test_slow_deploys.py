"""Deploys that change how clients run, at 20 s to 10 minutes a pod, on a simulated cluster: they call nobody."""

from dataclasses import replace
from random import Random

import pytest

from schemas.facts import AlertFact
from streaming.core.allocation import AveragelyByCircle
from streaming.core.settings import Settings
from streaming.simulation.consumer import ClientConfig, Consumer
from streaming.simulation.evaluation.detector import Detector
from streaming.simulation.simulated_group import TOPIC, Shape, SimulatedGroup

MANNERS = ("another topic", "another strategy", "another filter")
WAYS = ("stop, then start", "start, then stop", "two at a time", "under its own id")
DEPLOYS = ((3, 60), (3, 150), (4, 120), (5, 30), (6, 60), (8, 20), (8, 60), (10, 50))  # pods, seconds a pod


class Deploy:
    """Of a group of ``pods``; ``stops_after``: so many are replaced, and no more."""

    def __init__(self, pods: int, what: str, way: str, pace: float) -> None:
        self.what, self.way, self.pace = what, way, pace
        seed = f"{what}/{way}/{pods}/{pace}"
        self.group = SimulatedGroup(Shape(pods, 2, 4, "AVG", False, 5, 4), seed)
        self.random = Random(seed)
        self.group.fleet.put_topic("U", dict.fromkeys(self.group.brokers, 4))
        self.group.fleet.producer.write("U", 16)
        self.detector = Detector(self.group.fleet, Settings())
        self.group.warm_up()
        self.group.fleet.run(self.random.uniform(0, 20))

    def play(self, stops_after: int | None = None, seconds: float = 300) -> list[tuple[str, float]]:
        """What fired, and how many seconds after the last pod's turn began."""
        config, fleet = self._config(), self.group.fleet
        gap_ms = self.random.randrange(3_000, 20_000)
        turns = 0
        for place, client in enumerate(list(self.group.clients)[:stops_after]):
            turns = place // 2 if self.way == "two at a time" else place
            fleet.clock.after(round(turns * self.pace * 1000) + 1, self._replace, client, config, gap_ms)
        last_ts = fleet.now + round(turns * self.pace * 1000)
        fleet.run(turns * self.pace + seconds)
        fired = [(f.ts, f.payload) for f in self.detector.facts if isinstance(f.payload, AlertFact)]
        return [(a.kind, (ts - last_ts) / 1000) for ts, a in fired if a.reason == "held_long_enough"]

    def _config(self) -> ClientConfig:
        config = self.group.config
        if self.what == "another topic":
            return replace(config, topics=((TOPIC, "*"), ("U", "*")))
        if self.what == "another filter":
            return replace(config, topics=((TOPIC, "TagA"),))
        return replace(config, strategy=AveragelyByCircle())

    def _replace(self, client: Consumer, config: ClientConfig, gap_ms: int) -> None:
        fleet, group = self.group.fleet, self.group
        if self.way == "start, then stop":
            group.start(config=config)
            fleet.clock.after(gap_ms, fleet.leave, client)
            return
        fleet.leave(client)
        client_id = client.client_id if self.way == "under its own id" else None
        fleet.clock.after(gap_ms, group.start, client_id, config)


ALL = [(what, way, *deploy) for what in MANNERS for way in WAYS for deploy in DEPLOYS]
SOME = ALL[::13]


@pytest.mark.parametrize(
    ("what", "way", "pods", "pace"),
    [pytest.param(*one, marks=() if one in SOME else pytest.mark.slow) for one in ALL],
)
def test_a_slow_deploy_pages_nobody(what: str, way: str, pods: int, pace: float) -> None:
    assert Deploy(pods, what, way, pace).play() == []


@pytest.mark.parametrize(
    ("what", "way", "pods", "pace", "stops_after", "within"),
    [
        ("another topic", "stop, then start", 6, 60, 3, 220),
        ("another strategy", "start, then stop", 6, 60, 3, 220),
        ("another filter", "stop, then start", 4, 150, 2, 400),
        pytest.param("another topic", "two at a time", 6, 60, 4, 220, marks=pytest.mark.slow),
        pytest.param("another strategy", "stop, then start", 5, 60, 1, 660, marks=pytest.mark.slow),
        pytest.param("another topic", "start, then stop", 4, 600, 2, 660, marks=pytest.mark.slow),
    ],
)
def test_one_that_stops_half_way_is_told(
    what: str, way: str, pods: int, pace: float, stops_after: int, within: float
) -> None:
    fired = Deploy(pods, what, way, pace).play(stops_after, seconds=700)
    assert fired
    assert min(at for _, at in fired) <= within
