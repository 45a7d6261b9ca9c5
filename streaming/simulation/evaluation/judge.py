"""The detector's word against the truth: what had to be found, by when, whether it was, and what was said wrongly."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from schemas.facts import AlertFact, AlertState, Cause, Fact, Kind
from schemas.identity import MessageQueue, is_retry_topic
from streaming.core.settings import Timing
from streaming.simulation.evaluation.detector import Detector
from streaming.simulation.evaluation.results import (
    OF_QUEUES,
    SEEN_AS,
    ActiveFault,
    ExpectedPage,
    Page,
    PageSpan,
    Verdict,
)
from streaming.simulation.ground_truth import Window
from streaming.simulation.simulated_group import SimulatedGroup

LONGEST_GRACE_MS = 240_000
SILENT_FOR_MS = 300_000
LOOKS_BACK_MS = 60_000  # what a page says was seen within this time before it
MISMATCHES = {Cause.SUBSCRIPTION_MISMATCH, Cause.STRATEGY_MISMATCH}
SEEN_FROM_MS = 10_000  # a window that lasted no longer is what every rebalance makes
DEAD_IS_LISTED_MS = 130_000
CONDITION_MS = {  # until a page may be expected: RocketMQ's and the collector's intervals, and how long it must hold
    Kind.INCONSISTENT_SUBSCRIPTION: 100_000,
    Kind.UNREADABLE_QUEUES: 95_000,
    Kind.NO_MEMBERS: 140_000,
    Kind.REBALANCE_STORM: 190_000,
}


class Judge:
    """Of one run, once it is over."""

    def __init__(
        self, group: SimulatedGroup, detector: Detector, active: Iterable[ActiveFault], timing: Timing
    ) -> None:
        self._group, self._detector, self._timing = group, detector, timing
        self._active = list(active)
        self._truth, self._end = group.fleet.truth, group.fleet.now
        policy = detector.collector.policy
        self._tail_ms = 2 * policy.running_info_ms + policy.interval_ms + timing.hold_critical_ms
        seen_ms = 2 * policy.offsets_ms + policy.interval_ms
        self._stall_ms = (
            max(timing.stall_ms, timing.report_max_age_ms) + seen_ms
        )  # the last report may name messages in hand
        self._slow_ms = timing.consume_stall_ms * 3 // 2 + seen_ms
        self._report_ms = policy.running_info_ms
        changes = [(c.ts, c.what) for c in self._truth.changes] + [(c.ts, "listed") for c in self._truth.listings]
        seconds = {(ts // 1_000, what): ts for ts, what in sorted(changes)}  # the last of each kind in a second
        self._changes = sorted((ts, what) for (_, what), ts in seconds.items())
        self.pages = self._read_pages()

    def verdict(self) -> Verdict:
        expected = [*self._wanted_of_queues(), *self._wanted_of_conditions()]
        return Verdict(expected, [page for page, _ in self.pages])

    # --- what was said

    def _read_pages(self) -> list[PageSpan]:
        resolved: dict[tuple[str, int], int] = {}
        listed: dict[tuple[str, int], set[MessageQueue]] = {}
        firing: list[tuple[Fact, AlertFact, int]] = []
        for fact, emitted_ts in zip(self._detector.facts, self._detector.emitted_ts, strict=True):
            alert = fact.payload
            if not isinstance(alert, AlertFact) or alert.fired_ts is None or is_retry_topic(fact.topic or ""):
                continue
            key = (alert.fingerprint, alert.fired_ts)
            if key not in listed:
                firing.append((fact, alert, emitted_ts))
            queues = {MessageQueue(fact.topic or "", q.broker_name, q.queue_id) for q in alert.queues}
            listed.setdefault(key, set()).update(queues)
            if alert.state == AlertState.RESOLVED.value:
                resolved[key] = emitted_ts
        pages = []
        for fact, alert, emitted_ts in firing:
            key = (alert.fingerprint, alert.fired_ts or 0)
            page = self._page(fact, alert, emitted_ts, frozenset(listed[key]))
            pages.append(PageSpan(page, resolved.get(key, self._end)))
        return pages

    def _page(self, fact: Fact, alert: AlertFact, emitted_ts: int, queues: frozenset[MessageQueue]) -> Page:
        kind = Kind(alert.kind)
        given = Page(kind, fact.topic or "", alert.cause, alert.severity, emitted_ts, queues, False)
        return given._replace(is_true=self._is_true(given))

    def _is_true(self, page: Page) -> bool:
        if page.kind in (Kind.MISPLACED, Kind.NO_MEMBERS):
            return (page.kind.value, page.fired_ts) in self._detector.confirmed
        if page.kind not in SEEN_AS:
            return any(
                ((page.kind, page.topic) in one.fault.conditions or page.kind in one.fault.tolerated)
                and one.from_ts <= page.fired_ts <= one.to_ts + LOOKS_BACK_MS
                for one in self._active
            )
        kinds = SEEN_AS[page.kind]
        if page.kind is Kind.ORPHANED and self._is_silent(page.fired_ts - SILENT_FOR_MS, page.fired_ts):
            kinds |= {Kind.STALLED}  # whoever is stopped, and no longer listed, owns nothing
        return any(
            window.queue in page.queues
            and window.kind in kinds
            and window.from_ts <= page.fired_ts
            and window.lasted_until(self._end) >= page.fired_ts - LOOKS_BACK_MS
            and window.lasted_until(self._end) - window.from_ts >= SEEN_FROM_MS
            for window in self._truth.windows
        )

    # --- what had to be said

    def _wanted_of_queues(self) -> list[ExpectedPage]:
        by_condition: dict[tuple[Kind, str], list[Window]] = {}
        for window in self._truth.windows:
            if window.kind in OF_QUEUES:
                by_condition.setdefault((window.kind, window.queue.topic), []).append(window)
        found = []
        for (kind, topic), windows in by_condition.items():
            for overlapping in _together(windows, self._end):
                found += self._wanted_of(kind, topic, overlapping)
        return found

    def _wanted_of(self, kind: Kind, topic: str, windows: list[Window]) -> list[ExpectedPage]:
        """The first of these windows that lasted beyond the time by which it had to be found."""
        for window in windows:
            lasted_until = window.lasted_until(self._end)
            if lasted_until < window.from_ts + self._tail_ms:
                continue
            due_ts = self._once_a_deploy_has_stopped(window.from_ts, self._due(kind, window))
            if lasted_until < due_ts:
                continue
            active = self._active_at(window.from_ts, due_ts)
            expected = self._new(kind, topic, window.from_ts, due_ts, active)
            queues = {one.queue for one in windows}
            kinds = {kind} | self._also_as(kind, window.from_ts, due_ts)
            expected.found = self._find(kinds, topic, expected, queues)
            return [expected]
        return []

    def _also_as(self, kind: Kind, from_ts: int, due_ts: int) -> set[Kind]:
        """Of a client that is not heard: what it owns can't be known, and once it is not listed it owns nothing."""
        if kind is Kind.STALLED:
            return {Kind.ORPHANED} if self._is_silent(from_ts - SILENT_FOR_MS, due_ts) else set()
        return {Kind.STALLED} if self._is_silent(from_ts, due_ts) else set()

    def _due(self, kind: Kind, window: Window) -> int:
        """Grace, two report intervals and a round after the last change, as docs/findings.md promises."""
        extra = max((one.fault.extra_ms for one in self._active_at(window.from_ts, window.from_ts)), default=0)
        orderly = self._timing.grace_orderly_extra_ms if self._group.shape.orderly else 0
        if kind in (Kind.STALLED, Kind.SLOW_CONSUMER):
            stands_ms = self._slow_ms if kind is Kind.SLOW_CONSUMER else self._stall_ms
            return window.from_ts + stands_ms + orderly + extra
        due = window.from_ts + self._tail_ms
        longest = 0
        for ts, what in self._changes[bisect_left(self._changes, (window.from_ts - LONGEST_GRACE_MS, "")) :]:
            if ts > due:
                break
            grace = self._grace(what)
            due, longest = max(due, ts + grace + self._tail_ms), max(longest, grace)
        settles_ms = (
            self._timing.settle_limit * longest + self._timing.report_max_age_ms
        )  # where there is no end to changes
        due = min(due, window.from_ts + settles_ms + self._tail_ms) + extra
        lost = sum(window.from_ts <= ts <= due for ts in self._detector.lost_reports)
        due += min(lost, 3) * 2 * self._report_ms  # after a failure the collector waits twice as long
        due = self._once_clients_are_asked(window.from_ts, due, self._tail_ms)
        silent = self._is_silent(window.from_ts, due)
        if silent and not self._group.fleet.brokers[window.queue.broker_name].logs[window.queue].rate:
            return self._once_all_are_heard(window.from_ts, due)  # what nobody writes to can't be seen to stand still
        return max(due, window.from_ts + self._stall_ms + orderly + self._report_ms) if silent else due

    def _once_all_are_heard(self, from_ts: int, due: int) -> int:
        """Who did not answer is asked again within three report intervals; dead connections are listed for 130 s."""
        for one in self._active_at(from_ts, due):
            if one.fault.hides_clients:
                due = max(due, one.from_ts + DEAD_IS_LISTED_MS + self._timing.grace_membership_ms + self._tail_ms)
        for ts, _ in self._detector.timeouts:
            if from_ts - self._report_ms <= ts <= due:
                due = max(due, ts + 3 * self._report_ms + self._tail_ms)
        return due

    def _once_clients_are_asked(self, from_ts: int, due: int, within_ms: int) -> int:
        """While queues are new to the group its clients are let be (docs/collector.md): nobody knows what they own."""
        for ts in self._detector.paused_rounds:
            if from_ts - self._report_ms <= ts <= due:
                due = max(due, ts + within_ms)
        return due

    def _once_a_deploy_has_stopped(self, from_ts: int, due: int) -> int:
        """Clients that differ, of which some was replaced, may be a deploy that goes on (docs/findings.md)."""
        differ = any(MISMATCHES & set(one.fault.causes) for one in self._active_at(from_ts, due))
        since = max(self._group.warm_ts, from_ts - self._timing.deploy_wait_ms)
        changes = {change.what for change in self._truth.changes if since <= change.ts <= due}
        return due + self._timing.deploy_wait_ms if differ and {"joined", "left"} <= changes else due

    def _grace(self, what: str) -> int:
        timing = self._timing
        orderly = timing.grace_orderly_extra_ms if self._group.shape.orderly else 0
        if what == "route":
            return timing.grace_route_ms + orderly + self._detector.collector.policy.route_ms
        return (timing.grace_broker_ms if what == "broker" else timing.grace_membership_ms) + orderly

    def _is_silent(self, from_ts: int, to_ts: int) -> bool:
        """Whether some instance was not heard: then it cannot be known what it owns, and only offsets can tell."""
        if any(one.fault.hides_clients for one in self._active_at(from_ts, to_ts)):
            return True
        unheard = (*(ts for ts, _ in self._detector.timeouts), *self._detector.lost_reports)
        return any(from_ts - self._report_ms <= ts <= to_ts for ts in unheard)

    def _wanted_of_conditions(self) -> list[ExpectedPage]:
        found = []
        for one in self._active:
            for kind, topic in one.fault.conditions:
                due_ts = one.from_ts + CONDITION_MS[kind]
                if kind is Kind.INCONSISTENT_SUBSCRIPTION:
                    due_ts = self._once_the_odd_are_heard(one.from_ts, due_ts)
                    due_ts = self._once_a_deploy_has_stopped(one.from_ts, due_ts)
                if self._lasted_until(kind, one) >= due_ts:
                    expected = self._new(kind, topic, one.from_ts, due_ts, [one])
                    expected.found = self._find({kind}, topic, expected, set())
                    found.append(expected)
        return found

    def _lasted_until(self, kind: Kind, one: ActiveFault) -> int:
        """Clients that are started again subscribe as all do: once none of the odd ones is left, they are alike."""
        if kind is not Kind.INCONSISTENT_SUBSCRIPTION:
            return one.to_ts
        left: dict[str, int] = {}
        for change in self._truth.changes:
            if change.what == "left" and change.subject in self._group.mismatched_clients and change.ts >= one.from_ts:
                left.setdefault(change.subject, change.ts)
        return min(one.to_ts, max(left.values())) if left.keys() == self._group.mismatched_clients else one.to_ts

    def _once_the_odd_are_heard(self, from_ts: int, due: int) -> int:
        """What a client subscribes to it says itself, and while it does not answer nobody else does."""
        within_ms = self._tail_ms + self._timing.hold_warning_ms
        due = self._once_clients_are_asked(from_ts, due, within_ms)
        for ts, client_id in self._detector.timeouts:
            if client_id in self._group.mismatched_clients and from_ts <= ts <= due:
                due = max(due, ts + 3 * self._report_ms + within_ms)
        return due

    def _active_at(self, from_ts: int, to_ts: int) -> list[ActiveFault]:
        return [one for one in self._active if one.from_ts <= to_ts and one.to_ts >= from_ts]

    def _new(self, kind: Kind, topic: str, from_ts: int, due_ts: int, active: list[ActiveFault]) -> ExpectedPage:
        causes = {cause.value for one in active for cause in one.fault.causes}
        if kind is Kind.DUPLICATED:
            causes |= {cause.value for one in active for cause in one.fault.causes_of_two}
        if self._group.shape.strategy == "CONFIG" and kind is Kind.ORPHANED:
            causes.add(Cause.CONFIG_MISSES_QUEUE.value)  # nobody's list names what a client leaves behind
        return ExpectedPage(
            kind, topic, from_ts, due_ts, tuple(one.fault.name for one in active), tuple(sorted(causes))
        )

    def _find(self, kinds: set[Kind], topic: str, expected: ExpectedPage, queues: set[MessageQueue]) -> Page | None:
        for page, resolved_ts in self.pages:
            is_of_it = page.kind in kinds and page.topic == topic and (not queues or queues & page.queues)
            if is_of_it and page.fired_ts <= expected.due_ts and resolved_ts >= expected.from_ts:
                return page
        return None


def _together(windows: list[Window], end: int) -> list[list[Window]]:
    """Windows that overlap in time, as one."""
    groups: list[list[Window]] = []
    until = -1
    for window in sorted(windows, key=lambda w: w.from_ts):
        if groups and window.from_ts <= until:
            groups[-1].append(window)
        else:
            groups.append([window])
        until = max(until, window.lasted_until(end))
    return groups
