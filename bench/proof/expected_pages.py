"""The faults that must be found, and whether they were: from the truth, never from the detector's rules."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from bench.proof.deadlines import Deadlines
from bench.proof.pages import OF_QUEUES
from bench.proof.results import ActiveFault, ExpectedPage, Page
from schemas.facts import Cause, Kind
from schemas.identity import MessageQueue
from streaming.simulation.ground_truth import Window
from streaming.simulation.simulated_group import SimulatedGroup
from streaming.wording.lists import grouped

ROUTE_IN_USE_MS = 50_000  # until a client shares out by a new route: it polls every 30 s, and rebalances every 20 s


class ExpectedPages:
    """The expected pages of one run, after its end."""

    def __init__(
        self, group: SimulatedGroup, active: Iterable[ActiveFault], deadlines: Deadlines, pages: list[Page]
    ) -> None:
        self._group, self._active, self._deadlines, self._pages = group, list(active), deadlines, pages
        self._truth, self._end = group.fleet.truth, group.fleet.now

    def all(self) -> list[ExpectedPage]:
        return [*self._of_queues(), *self._of_group_findings()]

    def _of_queues(self) -> list[ExpectedPage]:
        of_queues = (window for window in self._truth.windows if window.kind in OF_QUEUES)
        by_finding = grouped(of_queues, lambda window: (window.kind, window.queue.topic))
        overlapping = (group for windows in by_finding.values() for group in _overlapping(windows, self._end))
        return [one for windows in overlapping for one in self._of_windows(windows)]

    def _of_windows(self, windows: list[Window]) -> list[ExpectedPage]:
        """The first of these windows that lasted beyond its deadline."""
        for window in windows:
            lasted_until = window.lasted_until(self._end)
            if lasted_until < window.from_ts + self._deadlines.tail_ms:
                continue
            due_ts = self._deadlines.of_window(window)
            if lasted_until < due_ts:
                continue
            active = self._deadlines.active_at(window.from_ts, due_ts)
            expected = self._new(window.kind, window.queue.topic, window.from_ts, due_ts, active)
            expected.causes = tuple(sorted({*expected.causes, *self._of_what_is_done(windows, due_ts, active)}))
            kinds = {window.kind} | self._also_seen_as(window.kind, window.from_ts, due_ts)
            queues = {one.queue for one in windows}
            expected.found = self._find(kinds, expected, queues)
            return [expected]
        return []

    def _also_seen_as(self, kind: Kind, from_ts: int, due_ts: int) -> set[Kind]:
        """Other kinds of a client without reports: its queues are not known, and it owns none once it is not listed."""
        if kind is Kind.STALLED:
            return {Kind.ORPHANED} if self._deadlines.is_long_silent(from_ts, due_ts) else set()
        return {Kind.STALLED} if self._deadlines.is_silent(from_ts, due_ts) else set()

    def _of_group_findings(self) -> list[ExpectedPage]:
        found = []
        for one in self._active:
            for kind, topic in one.fault.group_findings:
                due_ts = self._deadlines.of_finding(kind, one)
                if self._lasted_until(kind, one) >= due_ts:
                    expected = self._new(kind, topic, one.from_ts, due_ts, [one])
                    expected.found = self._find({kind}, expected, set())
                    found.append(expected)
        return found

    def _lasted_until(self, kind: Kind, one: ActiveFault) -> int:
        """The end of the fault: restarted clients subscribe like all, and a single client differs from none.

        Offsets that were put back are as high as before when their messages have been consumed again.
        """
        if kind is Kind.OFFSETS_WENT_BACK:
            put_back = (progress.put_back for progress in self._group.fleet.progresses())
            return max((known.until_ts or self._end for known in put_back if known is not None), default=one.from_ts)
        if kind is not Kind.INCONSISTENT_SUBSCRIPTION:
            return one.to_ts
        return min(one.to_ts, next(self._alike_since(one.from_ts), one.to_ts))

    def _alike_since(self, from_ts: int) -> Iterator[int]:
        """The time from ``from_ts`` on when all members subscribed alike."""
        members, mismatched = Counter[str](), set(self._group.mismatched_clients)
        changes = [change for change in self._truth.changes if change.what in ("joined", "left")]
        for change, following in zip_longest(changes, changes[1:]):
            members[change.subject] += 1 if change.what == "joined" else -1
            if change.what == "left" and change.ts >= from_ts:
                mismatched.discard(change.subject)
            present = {client_id for client_id, processes in members.items() if processes > 0}
            is_alike = not present & mismatched or present <= mismatched
            if is_alike and (following is None or following.ts > from_ts):
                yield max(change.ts, from_ts)

    def _new(self, kind: Kind, topic: str, from_ts: int, due_ts: int, active: list[ActiveFault]) -> ExpectedPage:
        causes = {cause.value for one in active for cause in one.fault.causes}
        if kind is Kind.DUPLICATED:
            causes |= {cause.value for one in active for cause in one.fault.causes_of_two}
        if self._group.shape.strategy == "CONFIG" and kind is Kind.ORPHANED:
            causes.add(Cause.CONFIG_MISSES_QUEUE.value)  # a client's queues are in no other list when it leaves
        names = tuple(one.fault.name for one in active)
        return ExpectedPage(kind, topic, from_ts, due_ts, names, tuple(sorted(causes)))

    def _of_what_is_done(self, windows: list[Window], due_ts: int, active: list[ActiveFault]) -> set[str]:
        """Causes that are right for these windows by the behaviour of clients, beside those of the fault."""
        if windows[0].kind is Kind.SLOW_CONSUMER:
            return {Cause.CLIENT_STALLED.value}  # the window says that the listener of its owner hangs
        hung = [one for one in active if one.fault.hangs_rebalance]
        causes = set()
        if any(self._goes_by_an_old_route(one, windows[0].queue.topic, due_ts) for one in hung):
            causes.add(Cause.ROUTE_LAG.value)
        if hung and any(self._is_left_behind(window, due_ts) for window in windows):
            causes.add(Cause.MEMBER_GONE.value)
        return causes

    def _goes_by_an_old_route(self, hung: ActiveFault, topic: str, due_ts: int) -> bool:
        """Whether the route changed after the last rebalance of a client whose rebalance hangs."""
        from_ts, to_ts = hung.from_ts - ROUTE_IN_USE_MS, min(hung.to_ts, due_ts)
        routes = (change.ts for change in self._truth.changes if (change.what, change.subject) == ("route", topic))
        return any(from_ts <= ts <= to_ts for ts in routes)

    def _is_left_behind(self, window: Window, due_ts: int) -> bool:
        """Whether the queue has no owner then, and its last owner has left."""
        is_nobodys = window.kind is Kind.ORPHANED and window.from_ts <= due_ts <= window.lasted_until(self._end)
        if not is_nobodys:
            return False
        held = self._truth.held
        before = reversed(held[: bisect_right(held, window.from_ts, key=lambda one: one.ts)])
        last = next((one for one in before if one.queue == window.queue and one.owners), None)
        left = ((change.ts, change.subject) for change in self._truth.changes if change.what == "left")
        return last is not None and any(last.ts <= ts <= due_ts and subject in last.owners for ts, subject in left)

    def _find(self, kinds: set[Kind], expected: ExpectedPage, queues: set[MessageQueue]) -> Page | None:
        for page in self._pages:
            is_of_it = page.kind in kinds and page.topic == expected.topic and (not queues or queues & page.queues)
            if is_of_it and page.fired_ts <= expected.due_ts and page.resolved_ts >= expected.from_ts:
                return page
        return None


def _overlapping(windows: list[Window], end: int) -> list[list[Window]]:
    """The windows, joined where they overlap in time."""
    groups: list[list[Window]] = []
    until = -1
    for window in sorted(windows, key=lambda w: w.from_ts):
        if groups and window.from_ts <= until:
            groups[-1].append(window)
        else:
            groups.append([window])
        until = max(until, window.lasted_until(end))
    return groups
