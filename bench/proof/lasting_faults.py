"""Faults of ten minutes and longer: each must have a page, and a page for it is never false."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise

from bench.proof.more_faults import OF_WAITING
from bench.proof.pages import OF_QUEUES, TRUE_IF
from bench.proof.results import ActiveFault, ExpectedPage, KnownFinding, Page
from schemas.facts import Kind
from schemas.identity import MessageQueue
from streaming.simulation.client_config import PULL
from streaming.simulation.ground_truth import Window
from streaming.simulation.simulated_group import TOPIC, SimulatedGroup
from streaming.wording.lists import grouped

LASTING_MS = 600_000
UNREAD_MS = LASTING_MS + 40_000  # offsets are read every 30 s at least, and judged with the next round
FINDING_SEEN_AS = {Kind.UNREADABLE_QUEUES: {Kind.UNREADABLE_QUEUES, Kind.STALLED}}
TOGETHER_MS = 60_000  # queues of one topic that change hands stay one fault


class LastingFaults:
    """The lasting faults of one run, after its end."""

    def __init__(
        self, group: SimulatedGroup, active: Iterable[ActiveFault], known_findings: Iterable[KnownFinding]
    ) -> None:
        self._group, self._truth, self._end = group, group.fleet.truth, group.fleet.now
        self._active, self._known_findings = list(active), list(known_findings)

    # --- expected pages

    def expected(self, pages: list[Page]) -> list[ExpectedPage]:
        """The lasting faults of each topic, and whether a page named a queue of it, or the fault, in that time."""
        found = []
        for windows in self._of_queues():
            first = windows[0]
            queues, to_ts = {w.queue for w in windows}, max(w.lasted_until(self._end) for w in windows)
            found.append(self._new(first.kind, first.queue.topic, (first.from_ts, to_ts), queues, pages))
        for one in self._active:
            for kind, topic in one.fault.group_findings:
                if one.to_ts - one.from_ts >= LASTING_MS and self._is_undisturbed(kind, one.from_ts):
                    found.append(self._new(kind, topic, (one.from_ts, one.to_ts), set(), pages))
        unread = [one for one in self._active if one.fault.consumes_nothing and one.to_ts - one.from_ts >= UNREAD_MS]
        found += [self._unread(one, pages) for one in unread]
        return found + [self._new(Kind.SHARED_CLIENT_ID, "", span, set(), pages) for span in self._shared_ids()]

    def _unread(self, one: ActiveFault, pages: list[Page]) -> ExpectedPage:
        """Queues with messages of which none is consumed for ten minutes: any finding counts, at the next reading."""
        expected = ExpectedPage(Kind.STALLED, TOPIC, one.from_ts, one.from_ts + UNREAD_MS, (one.fault.name,), ())
        of_waiting = (page for page in pages if page.kind in (*OF_WAITING, Kind.NO_MEMBERS))
        expected.found = next((page for page in of_waiting if one.from_ts <= page.fired_ts <= one.to_ts), None)
        return expected

    def _shared_ids(self) -> Iterator[tuple[int, int]]:
        """The times when two live clients used one id for ten minutes, in a group without answering clients.

        Brokers list it once more for as long as they keep dead connections.
        """
        group = self._group
        if group.sdk_of is None or any(client.config.sdk.answers for client in group.clients):
            return
        for changes in grouped(self._truth.changes, lambda change: change.subject).values():
            ends = [(change.ts, change.what) for change in changes if change.what in ("joined", "left")]
            alive = 0
            for (from_ts, what), (to_ts, _) in pairwise([*ends, (self._end, "")]):
                alive += 1 if what == "joined" else -1
                if alive > 1 and to_ts - from_ts >= LASTING_MS:
                    yield from_ts, to_ts

    def _of_queues(self) -> list[list[Window]]:
        """Windows of ten minutes and longer; those of a topic that overlap count as one."""
        groups: list[list[Window]] = []
        long = [w for w in self._joined_windows() if w.lasted_until(self._end) - w.from_ts >= LASTING_MS]
        for window in sorted(long, key=lambda w: (w.queue.topic, w.from_ts)):
            last = groups[-1][-1] if groups else window
            is_same = last.queue.topic == window.queue.topic and window.from_ts <= last.from_ts + LASTING_MS
            if groups and is_same:
                groups[-1].append(window)
            else:
                groups.append([window])
        return groups

    def _joined_windows(self) -> list[Window]:
        """The windows of each queue. Adjacent windows count as one, also if their kinds differ."""
        by_queue: dict[MessageQueue, list[Window]] = {}
        for window in self._truth.windows:
            if window.kind not in OF_QUEUES or not self._can_be_seen(window):
                continue
            known = by_queue.setdefault(window.queue, [])
            if known and known[-1].to_ts == window.from_ts:
                known[-1] = self._joined(known[-1], window)
            else:
                known.append(window)
        return [window for windows in by_queue.values() for window in windows]

    def _joined(self, first: Window, then: Window) -> Window:
        """Both windows as one, with the kind of the longer one."""
        longer = max(first, then, key=lambda window: window.lasted_until(self._end) - window.from_ts)
        return Window(longer.kind, first.queue, first.from_ts, then.to_ts)

    def _can_be_seen(self, window: Window) -> bool:
        """Whether evidence can show it: two owners only if both report; pull consumers consume when they like."""
        sdk_of = self._group.sdk_of
        if sdk_of is None or window.kind not in (Kind.DUPLICATED, Kind.SLOW_CONSUMER):
            return True
        sdks = [sdk_of(owner) for owner in self._owners(window)]
        if window.kind is Kind.SLOW_CONSUMER:
            return not any(sdk.consume_type == PULL.consume_type for sdk in sdks)
        return sum(sdk.answers and sdk.tells_queues for sdk in sdks) > 1

    def _owners(self, window: Window) -> tuple[str, ...]:
        held = self._truth.held
        index = bisect_right(held, window.from_ts, key=lambda one: one.ts)
        return next((one.owners for one in reversed(held[:index]) if one.queue == window.queue), ())

    def _is_undisturbed(self, kind: Kind, from_ts: int) -> bool:
        """Whether nothing ended it: a client with other subscriptions may restart, an empty group may get a member."""
        if kind is Kind.NO_MEMBERS:
            joined = (change.ts for change in self._truth.changes if change.what == "joined")
            return not any(from_ts <= ts < from_ts + LASTING_MS for ts in joined)
        return kind is not Kind.INCONSISTENT_SUBSCRIPTION or self._subscriptions_differ_long(self._end)

    def _new(
        self, kind: Kind, topic: str, span: tuple[int, int], queues: set[MessageQueue], pages: list[Page]
    ) -> ExpectedPage:
        """A new expected page. ``due_ts``: when the fault has lasted ten minutes; a later page is late."""
        from_ts, to_ts = span
        active = [one for one in self._active if one.from_ts <= from_ts + LASTING_MS and one.to_ts >= from_ts]
        expected = ExpectedPage(kind, topic, from_ts, from_ts + LASTING_MS, tuple(one.fault.name for one in active), ())
        of_faults = {finding for one in active for finding in one.fault.group_findings}
        of_faults |= {(of_group, "") for one in active for of_group in one.fault.tolerated}
        for page in pages:
            names_it = page.kind is Kind.NO_MEMBERS or (page.kind in OF_QUEUES and bool(queues & page.queues))
            names_it |= (page.kind, page.topic) in of_faults
            is_of_it = names_it if queues else page.topic == topic and page.kind in FINDING_SEEN_AS.get(kind, {kind})
            if is_of_it and page.fired_ts <= to_ts and page.resolved_ts >= from_ts:
                expected.found = page
                break
        return expected

    # --- true pages

    def confirms(self, page: Page) -> bool:
        """Whether the page was true of the topic, or the group, for ten minutes and longer."""
        if any(one.kind is page.kind and one.from_ts <= page.fired_ts for one in self._known_findings):
            return True
        if page.kind is Kind.INCONSISTENT_SUBSCRIPTION:
            return self._subscriptions_differ_long(page.fired_ts)
        if page.kind is Kind.STALLED and self._is_unreadable(page):
            return True
        kinds = TRUE_IF.get(page.kind, frozenset())
        windows = [w for w in self._truth.windows if w.kind in kinds and w.queue.topic == page.topic]
        return self._is_within_long_span([(w.from_ts, w.lasted_until(self._end)) for w in windows], page.fired_ts)

    def _is_unreadable(self, page: Page) -> bool:
        """Whether the queue cannot be read, so it stands still. If name servers differ, no more can be known."""
        return any(
            (Kind.UNREADABLE_QUEUES, page.topic) in one.fault.group_findings
            and one.from_ts <= page.fired_ts <= one.to_ts + TOGETHER_MS
            for one in self._active
        )

    def _subscriptions_differ_long(self, ts: int) -> bool:
        return self._is_within_long_span(
            [(s, self._end if to is None else to) for s, to in self._truth.subscription_mismatches], ts
        )

    @staticmethod
    def _is_within_long_span(spans: list[tuple[int, int]], ts: int) -> bool:
        """Whether spans without a gap, of ten minutes in all, are about ``ts``."""
        began, until = 0, -TOGETHER_MS
        for from_ts, to_ts in [*sorted(spans), (1 << 62, 1 << 62)]:
            if from_ts > until + TOGETHER_MS:
                if until - began >= LASTING_MS and began <= ts <= until + TOGETHER_MS:
                    return True
                began = from_ts
            until = max(until, to_ts)
        return False
