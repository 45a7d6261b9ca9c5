"""The demo's output: a line for each fact that matters to a reader, and the state of every group at the end."""

from collections import Counter
from collections.abc import Iterable, Iterator
from urllib.parse import urlencode

from schemas.facts import AlertFact, AlertState, Fact, GroupFact
from streaming.core.finding_kinds import RIGHT
from streaming.demo.recording_schedule import Scenario
from streaming.replay.alert_transitions import AlertTransition, details, headline
from streaming.snapshots.group_tables import ALERT_STYLES, status_style
from streaming.snapshots.lines import Line
from streaming.wording.numbers import counted

STATUS_WORDS = {
    "healthy": "every queue has the owner it should have",
    "settling": "rebalancing; too early to judge",
    "findings": "something is wrong",
    "unknown": "not enough is known to judge",
    "excluded": "not ours to judge",
    "empty": "no consumer is connected",
}
TEMPORARY = frozenset({"settling", "unknown"})
REPAIRED = " (mended)"


class LiveOutput:
    """The lines for facts. ``start_ms``: when the first event was played; times are shown relative to it.

    ``pages``: the address of the web pages, to which each firing alert gets a link.
    ``simulated``: groups for which the summary shows the last disruption. To save lines, their settling is not shown.
    """

    def __init__(
        self, scenarios: Iterable[Scenario], start_ms: int, simulated: Iterable[str] = (), pages: str = ""
    ) -> None:
        self._start_ms = start_ms
        self._pages = pages
        self._simulated = frozenset(simulated)
        self._about = {scenario.group: scenario.plan.about for scenario in scenarios}
        self._about |= dict.fromkeys(simulated, "simulated: all has been well")
        self._status: dict[str, str] = {}
        self._shown_status: dict[str, str] = {}
        self._open: dict[str, dict[str, str]] = {}
        self._causes: dict[str, str | None] = {}
        self._fired: set[str] = set()

    def lines_for(self, facts: Iterable[Fact]) -> Iterator[Line]:
        """The lines for facts of alerts and groups."""
        for fact in facts:
            if isinstance(fact.payload, AlertFact):
                yield from self._alert_lines(fact, fact.payload)
            elif isinstance(fact.payload, GroupFact):
                yield from self._group_lines(fact, fact.payload)

    def action(self, due_ms: int, group: str, what: str) -> Line:
        """The line for an action on the real cluster. evenkeel does not know the action."""
        if group in self._simulated:
            last = self._about[group].removesuffix(REPAIRED)
            self._about[group] = f"{last}{REPAIRED}" if what == "mended" else f"simulated: {what}"
        return Line(f"{self._at(due_ms)}  {'(done)':<8}  {group}: {what}", "cyan")

    def page(self, ts: int, title: str) -> Line:
        """The line for a page that was sent to the people on call."""
        return Line(f"{self._at(ts)}  {'(page)':<8}  {title}", "magenta")

    def _at(self, ts: int) -> str:
        return f"{max(0, ts - self._start_ms) / 1000:7.1f} s"

    def _alert_lines(self, fact: Fact, alert: AlertFact) -> Iterator[Line]:
        """The lines for an alert: a change of state with all details, or a change of the cause."""
        transition = AlertTransition(fact, alert)
        still_open, state = self._open.setdefault(fact.group, {}), alert.state
        what, same = f"{alert.kind} {state}", self._causes.get(alert.fingerprint) == alert.cause
        if still_open.get(alert.fingerprint) != what:
            yield Line(f"{self._at(fact.ts)}  {headline(transition)}", ALERT_STYLES.get(state, ""))
            for line in details(transition):
                yield Line(f"{'':9}  {line}")
            if state == AlertState.FIRING and self._pages:
                yield Line(f"{'':9}  {self._pages}alert?{urlencode({'id': alert.fingerprint})}", "dim")
        elif not same:
            yield Line(f"{self._at(fact.ts)}  {headline(transition)}: {alert.cause}", ALERT_STYLES.get(state, ""))
        self._causes[alert.fingerprint] = alert.cause
        if state == AlertState.RESOLVED:
            still_open.pop(alert.fingerprint, None)
        else:
            still_open[alert.fingerprint] = what
        if state == AlertState.FIRING:
            self._fired.add(alert.fingerprint)

    def _group_lines(self, fact: Fact, group: GroupFact) -> Iterator[Line]:
        self._status[fact.group] = group.status
        if self._shown_status.get(fact.group) == group.status or (
            fact.group in self._simulated and group.status in TEMPORARY
        ):
            return
        self._shown_status[fact.group] = group.status
        found = ", ".join(f"{count} {kind}" for kind, count in group.counts.items() if kind not in RIGHT)
        words = f"{STATUS_WORDS.get(group.status, '')}{f' ({found})' if found else ''}"
        size = f"{counted(group.members, 'member')}, {counted(group.queues, 'queue')}"
        text = f"{self._at(fact.ts)}  {group.status:<8}  {fact.group}  {size}: {words}"
        yield Line(text, status_style(group.status))

    def summary(self) -> list[tuple[str, str, str, str]]:
        """(group, description, status, open alerts) of every group played."""
        return [
            (group, about, self._status.get(group, "not seen"), self._open_alerts(group))
            for group, about in self._about.items()
        ]

    def _open_alerts(self, group: str) -> str:
        """The group's open alerts as text, such as ``2 ORPHANED firing``: there is one for each topic."""
        counts = Counter(self._open.get(group, {}).values())
        return ", ".join(what if count == 1 else f"{count} {what}" for what, count in counts.items()) or "-"

    @property
    def alerts_fired(self) -> int:
        """The number of alerts that have fired, each counted once."""
        return len(self._fired)
