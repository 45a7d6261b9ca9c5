"""The detector at work on a simulated fleet: the collector's events, through the core, as they are made."""

from collections.abc import Callable
from random import Random

from schemas.events import AnyEvent
from schemas.facts import AlertFact, Fact, Kind
from streaming.collector.probing.policy import DEFAULT_POLICY, Policy
from streaming.core.settings import Settings
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.step import take
from streaming.simulation.collector import Collector
from streaming.simulation.fleet import Fleet
from streaming.simulation.virtual_clock import VirtualClock

CLUSTER = "simulated"
LATE_MS = (50, 8_000)  # most events come alone, with the marker of their round, every 5 s


class EventTransport:
    """The way of events from the collector to the detector. ``lost``, ``late``: shares that are lost, or overtaken."""

    def __init__(self, seed: str, clock: VirtualClock, arrive: Callable[[AnyEvent], None]) -> None:
        self.lost = self.late = 0.0
        self.loses_next = False
        self._random, self._clock, self._arrive = Random(f"{seed}/wire"), clock, arrive

    def send(self, event: AnyEvent) -> None:
        if self.loses_next or (self.lost and self._random.random() < self.lost):
            self.loses_next = False
        elif self.late and self._random.random() < self.late:
            self._clock.after(self._random.randrange(*LATE_MS), self._arrive, event)
        else:
            self._arrive(event)


class Detector:
    """``keep`` is called with every event, for those who want them elsewhere too."""

    def __init__(
        self,
        fleet: Fleet,
        settings: Settings,
        keep: Callable[[AnyEvent], object] = lambda _: None,
        loses_reports: float = 0.0,
        policy: Policy = DEFAULT_POLICY,
    ) -> None:
        self._group = Group(new_state(CLUSTER, fleet.group), settings)
        self._fleet, self._keep, self._policy, self._loses_reports = fleet, keep, policy, loses_reports
        self._clock_is_back_ms = 0
        self.emitted_ts: list[int] = []  # of each fact, by the clock that is never wrong
        self.transport = EventTransport(str(fleet.seed), fleet.clock, self._take)
        self.collectors: list[Collector] = []
        self.confirmed: set[tuple[str, int]] = set()  # kinds of alerts that were true when they were told
        self.add_collector("simulation")

    def add_collector(self, source: str) -> None:
        collector = Collector(self._fleet, CLUSTER, self.transport.send, self._policy, source, self._loses_reports)
        collector.set_clock_back(self._clock_is_back_ms)
        self.collectors.append(collector)
        collector.start()

    def set_clock_back(self, by_ms: int) -> None:
        """Of the machine that the collectors run on."""
        self._clock_is_back_ms += by_ms
        for collector in self.collectors:
            collector.set_clock_back(by_ms)

    @property
    def collector(self) -> Collector:
        """The first."""
        return self.collectors[0]

    def _take(self, event: AnyEvent) -> None:
        self._keep(event)
        known = len(self.facts)
        take(self._group, event)
        self.emitted_ts += [self._fleet.now] * (len(self.facts) - known)
        for fact in self.facts[known:]:
            if isinstance(fact.payload, AlertFact) and self._is_true_now(fact.payload.kind, fact.topic):
                self.confirmed.add((fact.payload.kind, self._fleet.now))

    @property
    def facts(self) -> list[Fact]:
        return self._group.facts

    def _is_true_now(self, kind: str, topic: str | None) -> bool:
        """Of what is not in the truth's windows: whether it is so now."""
        if kind == Kind.MISPLACED:
            return self._fleet.is_misplaced(topic or "")
        return kind == Kind.NO_MEMBERS and not self._fleet.listed()
