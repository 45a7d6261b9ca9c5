"""Deadlines of pages: what docs/findings.md promises, from the moment when something is wrong.

The deadline is later if the evidence cannot come sooner; docs/proof.md lists the reasons.
"""

from bisect import bisect_left
from collections.abc import Iterable

from bench.proof.detector import Detector
from bench.proof.results import ActiveFault
from schemas.facts import Cause, Kind
from streaming.core.finding_kinds import HOLD_NO_MEMBERS_MS
from streaming.core.settings import Timing
from streaming.simulation.ground_truth import Window
from streaming.simulation.simulated_group import SimulatedGroup

LONGEST_GRACE_MS = 240_000
SILENT_FOR_MS = 300_000
MISMATCHES = {Cause.SUBSCRIPTION_MISMATCH, Cause.STRATEGY_MISMATCH, Cause.MESSAGE_MODEL_MISMATCH}
DEAD_IS_LISTED_MS = 130_000
FINDING_MS = {  # until a page may be expected: RocketMQ's and the collector's intervals, and how long it must hold
    Kind.INCONSISTENT_SUBSCRIPTION: 100_000,
    Kind.UNREADABLE_QUEUES: 95_000,
    Kind.OFFSETS_WENT_BACK: 130_000,
    Kind.NO_MEMBERS: 140_000,
    Kind.REBALANCE_STORM: 190_000,
}


class Deadlines:
    """The deadlines of one run, after its end. ``tail_ms``: two report intervals, a round, and an alert's hold time."""

    def __init__(
        self, group: SimulatedGroup, detector: Detector, active: Iterable[ActiveFault], timing: Timing
    ) -> None:
        self._group, self._timing, self._active = group, timing, list(active)
        self._lost_reports = [ts for one in detector.collectors for ts in one.lost_reports]
        self._timeouts = [silence for one in detector.collectors for silence in one.timeouts]
        self._paused_rounds = [ts for one in detector.collectors for ts in one.paused_rounds]
        policy, truth = detector.collector.policy, group.fleet.truth
        self.tail_ms = 2 * policy.running_info_ms + policy.interval_ms + timing.hold_critical_ms
        offsets_ms = 2 * policy.offsets_ms + policy.interval_ms
        # the last report may name messages in hand
        self._stall_ms = max(timing.stall_ms, timing.report_max_age_ms) + offsets_ms
        self._slow_ms = timing.consume_stall_ms * 3 // 2 + offsets_ms
        self._report_ms, self._route_ms = policy.running_info_ms, policy.route_ms
        self._orderly_ms = timing.grace_orderly_extra_ms if group.shape.orderly else 0
        changes = [(c.ts, c.what) for c in truth.changes] + [(c.ts, "listed") for c in truth.listings]
        seconds = {(ts // 1_000, what): ts for ts, what in sorted(changes)}  # the last of each kind in a second
        self._changes = sorted((ts, what) for (_, what), ts in seconds.items())

    def of_window(self, window: Window) -> int:
        """The deadline for a queue that is wrong from the window's beginning on."""
        return self._after_a_deploy(window.from_ts, self._of_window(window))

    def of_finding(self, kind: Kind, fault: ActiveFault) -> int:
        """The deadline for a finding about a topic or the group."""
        due_ts = fault.from_ts + FINDING_MS[kind] + fault.fault.extra_ms
        if kind is Kind.NO_MEMBERS:
            return due_ts + max(0, self._group.away_ms - HOLD_NO_MEMBERS_MS)
        if kind is not Kind.INCONSISTENT_SUBSCRIPTION:
            return due_ts
        return self._after_a_deploy(fault.from_ts, self._after_reports_of_mismatched(fault.from_ts, due_ts))

    def active_at(self, from_ts: int, to_ts: int) -> list[ActiveFault]:
        return [one for one in self._active if one.from_ts <= to_ts and one.to_ts >= from_ts]

    def is_silent(self, from_ts: int, to_ts: int) -> bool:
        """Whether an instance did not report: then its queues are not known, and only offsets can show the fault."""
        if any(one.fault.hides_clients for one in self.active_at(from_ts, to_ts)):
            return True
        unheard = (*(ts for ts, _ in self._timeouts), *self._lost_reports)
        return any(from_ts - self._report_ms <= ts <= to_ts for ts in unheard)

    def is_long_silent(self, from_ts: int, to_ts: int) -> bool:
        """Like ``is_silent``, also some minutes before ``from_ts``."""
        return self.is_silent(from_ts - SILENT_FOR_MS, to_ts)

    def _of_window(self, window: Window) -> int:
        """Grace, two report intervals and a round after the last change."""
        from_ts = window.from_ts
        extra = max((one.fault.extra_ms for one in self.active_at(from_ts, from_ts)), default=0)
        if window.kind in (Kind.STALLED, Kind.SLOW_CONSUMER):
            stands_ms = self._slow_ms if window.kind is Kind.SLOW_CONSUMER else self._stall_ms
            return from_ts + stands_ms + self._orderly_ms + extra
        due = self._after_changes(window) + extra
        lost = sum(from_ts <= ts <= due for ts in self._lost_reports)
        due += min(lost, 3) * 2 * self._report_ms  # after a failure the collector waits twice as long
        due = self._after_paused_rounds(from_ts, due, self.tail_ms)
        if not self.is_silent(from_ts, due):
            return due
        queue = window.queue
        if not self._group.fleet.brokers[queue.broker_name].logs[queue].rate:
            return self._after_all_reports(from_ts, due)  # what nobody writes to can't be seen to stand still
        return max(due, from_ts + self._stall_ms + self._orderly_ms + self._report_ms)

    def _after_changes(self, window: Window) -> int:
        """The end of the last grace. Each change starts a grace; there is a limit if changes do not end.

        While members change as often as they are asked, two owners look like a queue that moves.
        """
        from_ts = window.from_ts
        due, longest, number = from_ts + self.tail_ms, 0, 0
        for ts, what in self._changes[bisect_left(self._changes, (from_ts - LONGEST_GRACE_MS, "")) :]:
            if ts > due:
                break
            grace = self._grace(what)
            due, longest = max(due, ts + grace + self.tail_ms), max(longest, grace)
            number += ts >= from_ts
        if window.kind is Kind.DUPLICATED and number * self._report_ms > due - self.tail_ms - from_ts:
            return due
        settles_ms = self._timing.settle_limit * longest + self._timing.report_max_age_ms
        return min(due, from_ts + settles_ms + self.tail_ms)

    def _grace(self, what: str) -> int:
        timing = self._timing
        if what == "route":
            return timing.grace_route_ms + self._orderly_ms + self._route_ms
        return (timing.grace_broker_ms if what == "broker" else timing.grace_membership_ms) + self._orderly_ms

    def _after_all_reports(self, from_ts: int, due: int) -> int:
        """The time when all have reported: silent clients within three intervals, dead connections after 130 s."""
        for one in self.active_at(from_ts, due):
            if one.fault.hides_clients:
                due = max(due, one.from_ts + DEAD_IS_LISTED_MS + self._timing.grace_membership_ms + self.tail_ms)
        for ts, _ in self._timeouts:
            if from_ts - self._report_ms <= ts <= due:
                due = max(due, ts + 3 * self._report_ms + self.tail_ms)
        return due

    def _after_paused_rounds(self, from_ts: int, due: int, within_ms: int) -> int:
        """The end of rounds in which no client is asked, because queues are new to the group (docs/collector.md)."""
        for ts in self._paused_rounds:
            if from_ts - self._report_ms <= ts <= due:
                due = max(due, ts + within_ms)
        return due

    def _after_a_deploy(self, from_ts: int, due: int) -> int:
        """The end of the wait for a deploy: clients that differ and are replaced may be one (docs/findings.md)."""
        differ = any(MISMATCHES & set(one.fault.causes) for one in self.active_at(from_ts, due))
        since = max(self._group.warm_ts, from_ts - self._timing.deploy_wait_ms)
        changes = {change.what for change in self._group.fleet.truth.changes if since <= change.ts <= due}
        return due + self._timing.deploy_wait_ms if differ and {"joined", "left"} <= changes else due

    def _after_reports_of_mismatched(self, from_ts: int, due: int) -> int:
        """The time when clients with other subscriptions have reported: nothing else shows what they subscribe to."""
        within_ms = self.tail_ms + self._timing.hold_warning_ms
        due = self._after_paused_rounds(from_ts, due, within_ms)
        for ts, client_id in self._timeouts:
            if client_id in self._group.mismatched_clients and from_ts <= ts <= due:
                due = max(due, ts + 3 * self._report_ms + within_ms)
        return due
