"""The detector at work on a simulated fleet: the collector's events, through the core, as they are made."""

from collections.abc import Callable

from schemas.events import AnyEvent
from schemas.facts import AlertFact, AlertState, Fact, Kind
from streaming.core.settings import Settings
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.step import take
from streaming.simulation.collector import Collector
from streaming.simulation.evaluation.event_transport import Wire
from streaming.simulation.fleet import Fleet
from streaming.simulation.pace import Pace

CLUSTER = "simulated"


class Detector:
    """``keep`` is called with every event, for those who want them elsewhere too."""

    def __init__(
        self,
        fleet: Fleet,
        settings: Settings,
        pace: Pace,
        keep: Callable[[AnyEvent], object] = lambda _: None,
    ) -> None:
        self._group = Group(new_state(CLUSTER, fleet.group), settings)
        self._fleet, self._keep, self._pace = fleet, keep, pace
        self.told_ts: list[int] = []  # of each fact, by the clock that is never wrong
        self.wire = Wire(str(fleet.seed), fleet.agenda, self._take)
        self.collectors: list[Collector] = []
        self.borne_out: set[tuple[str, int]] = set()  # kinds of alerts that were true when they were told
        self.add_collector("simulation")

    def add_collector(self, source: str) -> None:
        collector = Collector(self._fleet, CLUSTER, self.wire.send, self._pace, source)
        self.collectors.append(collector)
        collector.start()

    @property
    def collector(self) -> Collector:
        """The first."""
        return self.collectors[0]

    def _take(self, event: AnyEvent) -> None:
        self._keep(event)
        known = len(self.facts)
        take(self._group, event)
        self.told_ts += [self._fleet.now] * (len(self.facts) - known)
        for fact in self.facts[known:]:
            if isinstance(fact.payload, AlertFact) and self._is_so(fact.payload.kind, fact.topic):
                self.borne_out.add((fact.payload.kind, self._fleet.now))

    @property
    def lost_reports(self) -> list[int]:
        return [ts for collector in self.collectors for ts in collector.lost_reports]

    @property
    def silences(self) -> list[tuple[int, str]]:
        return [silence for collector in self.collectors for silence in collector.silences]

    @property
    def spared(self) -> list[int]:
        return [ts for collector in self.collectors for ts in collector.spared]

    @property
    def facts(self) -> list[Fact]:
        return self._group.facts

    def _is_so(self, kind: str, topic: str | None) -> bool:
        """Of what is not in the truth's windows: whether it is so now."""
        if kind == Kind.MISPLACED:
            return self._fleet.is_misplaced(topic or "")
        return kind == Kind.NO_MEMBERS and not self._fleet.listed()

    def fired(self) -> list[tuple[Fact, AlertFact]]:
        """Every time that an alert began to fire."""
        return [
            (fact, fact.payload)
            for fact in self.facts
            if isinstance(fact.payload, AlertFact)
            and fact.payload.state == AlertState.FIRING.value
            and fact.payload.fired_ts == fact.ts
        ]
