"""What happens, in words: each fact that matters to a watcher as a line, and how every group stands at the end."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from schemas.facts import AlertFact, AlertState, Fact, GroupFact
from streaming.demo.scenarios import Scenario
from streaming.replay.alert_transitions import Transition, details, headline
from streaming.wording.numbers import counted

STATE_STYLES = {"pending": "yellow", "firing": "bold red", "resolved": "green"}
STATUS_STYLES = {"healthy": "green", "findings": "red"}
STATUS_WORDS = {
    "healthy": "every queue has the owner it should have",
    "settling": "rebalancing; too early to judge",
    "findings": "something is wrong",
    "unknown": "not enough is known to judge",
    "excluded": "not ours to judge",
    "empty": "no consumer is connected",
}
QUIET = frozenset({"MATCH", "EXCLUDED", "NO_MEMBERS"})
PASSING = frozenset({"settling", "unknown"})
MENDED = " (mended)"


class Spoken(NamedTuple):
    """A line for the terminal, and its style."""

    text: str
    style: str = ""


class Account:
    """Facts in, lines out. ``start_ms`` is when the first event was played: times are told from there.

    Of ``simulated`` groups it is told what befell them last, and not that they are settling: too many come and go.
    """

    def __init__(self, scenarios: Iterable[Scenario], start_ms: int, simulated: Iterable[str] = ()) -> None:
        self._start_ms = start_ms
        self._simulated = frozenset(simulated)
        self._about = {scenario.group: scenario.plan.about for scenario in scenarios}
        self._about |= dict.fromkeys(simulated, "simulated: all has been well")
        self._status: dict[str, str] = {}
        self._told: dict[str, str] = {}
        self._open: dict[str, dict[str, str]] = {}
        self._causes: dict[str, str | None] = {}
        self._fired: set[str] = set()

    def hear(self, facts: Iterable[Fact]) -> Iterator[Spoken]:
        """The lines for facts of alerts and groups."""
        for fact in facts:
            if isinstance(fact.payload, AlertFact):
                yield from self._hear_alert(fact, fact.payload)
            elif isinstance(fact.payload, GroupFact):
                yield from self._hear_group(fact, fact.payload)

    def deed(self, due_ms: int, group: str, what: str) -> Spoken:
        """What was really done to the cluster, which evenkeel is not told."""
        if group in self._simulated:
            last = self._about[group].removesuffix(MENDED)
            self._about[group] = f"{last}{MENDED}" if what == "mended" else f"simulated: {what}"
        return Spoken(f"{self._at(due_ms)}  {'(done)':<8}  {group}: {what}", "cyan")

    def _at(self, ts: int) -> str:
        return f"{max(0, ts - self._start_ms) / 1000:7.1f} s"

    def _hear_alert(self, fact: Fact, alert: AlertFact) -> Iterator[Spoken]:
        """A change of state with all its details; of other changes, that the cause is another one."""
        transition = Transition(fact.ts, fact.cluster, fact.group, fact.topic, fact.seq, alert)
        still_open, state = self._open.setdefault(fact.group, {}), alert.state
        what, same = f"{alert.kind} {state}", self._causes.get(alert.fingerprint) == alert.cause
        if still_open.get(alert.fingerprint) != what:
            yield Spoken(f"{self._at(fact.ts)}  {headline(transition)}", STATE_STYLES.get(state, ""))
            for line in details(transition):
                yield Spoken(f"{'':9}  {line}")
        elif not same:
            yield Spoken(f"{self._at(fact.ts)}  {headline(transition)}: {alert.cause}", STATE_STYLES.get(state, ""))
        self._causes[alert.fingerprint] = alert.cause
        if state == AlertState.RESOLVED:
            still_open.pop(alert.fingerprint, None)
        else:
            still_open[alert.fingerprint] = what
        if state == AlertState.FIRING:
            self._fired.add(alert.fingerprint)

    def _hear_group(self, fact: Fact, group: GroupFact) -> Iterator[Spoken]:
        self._status[fact.group] = group.status
        if self._told.get(fact.group) == group.status or (fact.group in self._simulated and group.status in PASSING):
            return
        self._told[fact.group] = group.status
        found = ", ".join(f"{count} {kind}" for kind, count in group.counts.items() if kind not in QUIET)
        words = f"{STATUS_WORDS.get(group.status, '')}{f' ({found})' if found else ''}"
        size = f"{counted(group.members, 'member')}, {counted(group.queues, 'queue')}"
        text = f"{self._at(fact.ts)}  {group.status:<8}  {fact.group}  {size}: {words}"
        yield Spoken(text, STATUS_STYLES.get(group.status, "dim"))

    def summary(self) -> list[tuple[str, str, str, str]]:
        """(group, what it is about, how it stands, its open alerts) of every group played."""
        return [
            (group, about, self._status.get(group, "not seen"), self._open_alerts(group))
            for group, about in self._about.items()
        ]

    def _open_alerts(self, group: str) -> str:
        """``2 ORPHANED firing``: an alert for each topic."""
        counts = Counter(self._open.get(group, {}).values())
        return ", ".join(what if count == 1 else f"{count} {what}" for what, count in counts.items()) or "-"

    @property
    def alerts_fired(self) -> int:
        """How many alerts have fired, each counted once."""
        return len(self._fired)
