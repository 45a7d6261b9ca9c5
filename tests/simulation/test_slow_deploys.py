"""Deploys that change how clients run, at 20 s to 10 minutes a pod, on a simulated cluster: they call nobody.

Only where they leave messages of a queue unread for three minutes there is a warning.
"""

from dataclasses import replace
from random import Random

import pytest

from bench.proof.detector import Detector
from bench.proof.pages import waited_unread
from bench.proof.results import Page
from schemas.facts import AlertFact, Fact, Kind, Severity
from schemas.identity import MessageQueue
from streaming.core.allocation.averagely import AveragelyByCircle
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.simulation.consumer import ClientConfig, Consumer
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
        self.detector = Detector(self.group.fleet, DEFAULT_SETTINGS)
        self.group.warm_up()
        self.group.fleet.run(self.random.uniform(0, 20))

    def play(self, stops_after: int | None = None, seconds: float = 300) -> list[tuple[str, float]]:
        """What fired without harm done, and how many seconds after the last pod's turn began."""
        config, fleet = self._config(), self.group.fleet
        gap_ms = self.random.randrange(3_000, 20_000)
        turns = 0
        for place, client in enumerate(list(self.group.clients)[:stops_after]):
            turns = place // 2 if self.way == "two at a time" else place
            fleet.clock.after(round(turns * self.pace * 1000) + 1, self._replace, client, config, gap_ms)
        last_ts = fleet.now + round(turns * self.pace * 1000)
        fleet.run(turns * self.pace + seconds)
        alerts = [(fact, fact.payload) for fact in self.detector.facts if isinstance(fact.payload, AlertFact)]
        fired = [(fact, alert) for fact, alert in alerts if alert.reason == "held_long_enough"]
        return [(alert.kind, (fact.ts - last_ts) / 1000) for fact, alert in fired if not self._warns_of_harm(fact)]

    def _warns_of_harm(self, fact: Fact) -> bool:
        """By the truth: messages had waited for three minutes in one of its queues, which nobody held."""
        alert, topic = fact.payload, fact.topic or ""
        assert isinstance(alert, AlertFact)
        queues = frozenset(MessageQueue(topic, one.broker_name, one.queue_id) for one in alert.queues)
        page = Page(Kind(alert.kind), topic, alert.cause, alert.severity, fact.ts, queues, is_true=False)
        return alert.severity == Severity.WARNING and waited_unread(self.group.fleet, page)

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


@pytest.mark.deep_rows("minutes and hours of a fleet are simulated")
@pytest.mark.slow("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize(
    ("what", "way", "pods", "pace"),
    [
        pytest.param(*one, marks=() if one in SOME else pytest.mark.slow("minutes and hours of a fleet are simulated"))
        for one in ALL
    ],
)
def test_a_slow_deploy_pages_nobody(what: str, way: str, pods: int, pace: float) -> None:
    assert Deploy(pods, what, way, pace).play() == []


@pytest.mark.deep_rows("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize(
    ("what", "way", "pods", "pace", "stops_after", "within"),
    [
        ("another topic", "stop, then start", 6, 60, 3, 220),
        ("another strategy", "start, then stop", 6, 60, 3, 220),
        ("another filter", "stop, then start", 4, 150, 2, 400),
        pytest.param(
            "another topic",
            "two at a time",
            6,
            60,
            4,
            220,
            marks=pytest.mark.slow("minutes and hours of a fleet are simulated"),
        ),
        pytest.param(
            "another strategy",
            "stop, then start",
            5,
            60,
            1,
            660,
            marks=pytest.mark.slow("minutes and hours of a fleet are simulated"),
        ),
        pytest.param(
            "another topic",
            "start, then stop",
            4,
            600,
            2,
            660,
            marks=pytest.mark.slow("minutes and hours of a fleet are simulated"),
        ),
    ],
)
def test_one_that_stops_half_way_is_told(
    what: str, way: str, pods: int, pace: float, stops_after: int, within: float
) -> None:
    fired = Deploy(pods, what, way, pace).play(stops_after, seconds=700)
    assert fired
    assert min(at for _, at in fired) <= within
