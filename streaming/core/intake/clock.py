"""The group's clock: its newest round marker that can be believed.

One late marker never sets it back, and one wrong marker never sets it ahead. A marker far ahead waits until the next
marker confirms it. Only several markers far behind in a row show that the clock itself was wrong.
"""

from collections.abc import Callable
from enum import Enum, auto

from streaming.core.settings import Timing
from streaming.core.state.group_state import Alert, Client, GroupState, Setback, Topic
from streaming.core.state.offsets import STARTED_AFRESH
from streaming.core.state.queue_state import Queue

AHEAD_OF_CLOCK_MS = 10_000  # a marker whose time is further ahead waits until the next one confirms it
FIRST_ROUND_INTERVAL_MS = 5_000  # until two rounds have shown it
LONGEST_ROUND_INTERVAL_MS = 60_000  # rounds further apart than this are not the usual ones
MARKERS_TO_SET_BACK = 3
MARKERS_TO_BELIEVE = 3

Moved = Callable[[int], int]  # what a time before is by the clock that was set back


class ClockVerdict(Enum):
    ACCEPT = auto()
    LATE = auto()
    FAR_BEHIND = auto()  # late, and one of those that show in a row that the clock was ahead
    HOLD = auto()
    SET_BACK = auto()


def judge_marker(state: GroupState, ts: int, timing: Timing, believed: bool = False) -> ClockVerdict:
    """``believed``: an earlier marker confirms this one, so that it is not the only one ahead."""
    if state.now == 0:
        return ClockVerdict.ACCEPT
    if ts <= state.now:
        return _judge_late(state, ts, timing)
    if not believed and ts > horizon(state, timing):
        return ClockVerdict.HOLD
    return ClockVerdict.ACCEPT


def _judge_late(state: GroupState, ts: int, timing: Timing) -> ClockVerdict:
    """Several markers in order, all far behind, show that the clock was ahead."""
    if ts > state.now - timing.ahead_of_clock_ms or (state.markers_behind and ts <= state.markers_behind[-1]):
        return ClockVerdict.LATE
    if len(state.markers_behind) + 1 < MARKERS_TO_SET_BACK:
        return ClockVerdict.FAR_BEHIND
    return ClockVerdict.SET_BACK


def horizon(state: GroupState, timing: Timing) -> int:
    """The latest time of an event that is believed at once: two rounds and the tolerance ahead of the clock."""
    return state.now + timing.ahead_of_clock_ms + 2 * (state.interval or FIRST_ROUND_INTERVAL_MS)


def is_borne_out(waiting: list[int], ts: int, timing: Timing) -> bool:
    """True if markers that wait ahead of the clock confirm this one: one shortly before it, or two at any distance."""
    before = [earlier for earlier in waiting if earlier < ts]
    is_near = any(ts - earlier <= LONGEST_ROUND_INTERVAL_MS for earlier in before)
    return is_near or len(before) + 1 >= MARKERS_TO_BELIEVE


def start(state: GroupState, ts: int, timing: Timing) -> None:
    """The first marker starts the clock. Earlier events that claim to be from later are not believed."""
    state.first_round_ts = ts
    latest = ts + timing.ahead_of_clock_ms
    for client in state.clients:
        client.reports = [report for report in client.reports if report.answered_ts <= latest]
        client.unanswered_since_ts = client.unanswered_since_ts if client.unanswered_since_ts <= latest else 0
        client.two_addresses_since_ts = min(client.two_addresses_since_ts, latest)
    for topic in state.topics:
        if topic.confirmed_ts > latest:
            topic.hosts, topic.copies = [], None
            topic.confirmed_ts = topic.changed_ts = topic.hosts_changed_ts = 0
    for queue in state.queues:
        if queue.progress_ts > latest:
            queue.progress_ts = queue.consumer_lag = queue.pull_lag = queue.stalled_ms = queue.unconsumed_since_ts = 0


def advance(state: GroupState, ts: int, timing: Timing) -> None:
    if state.now and ts > state.now:
        if not state.interval:
            state.evaluation_due_ts = 0  # from now on it is known which reports are older than a client's listing
        state.interval = min(ts - state.now, LONGEST_ROUND_INTERVAL_MS)
    state.now = ts
    state.markers_behind = []


def set_back(state: GroupState, ts: int, timing: Timing) -> None:
    """The clock had been ahead, so nothing may stay that has a later time than ``ts``.

    Routes are dropped. Reports count only once they are confirmed, or told again. A queue that stands still does so for
    as long as before: that the clock is set moves no offset. Membership and open alerts stay, with ``ts`` as their
    latest time. The time at which an alert fired stays as it is, because it identifies the alert's page.
    """
    moved = _moved(state.now, ts, timing)
    _set_group_back(state, ts)
    for broker in state.brokers:
        broker.answered_ts, broker.lost_ts = min(broker.answered_ts, ts), min(broker.lost_ts, ts)
        broker.changed_ts, broker.returned_ts = moved(broker.changed_ts), moved(broker.returned_ts)
        broker.gone_ts, broker.back_ts = moved(broker.gone_ts), moved(broker.back_ts)
    for topic in state.topics:
        _set_topic_back(topic, ts, moved)
    for client in state.clients:
        _set_client_back(client, ts)
    for queue in state.queues:
        _set_queue_back(queue, ts, moved)
    for setback in state.setbacks:
        _set_setback_back(setback, moved)
    for alert in state.alerts:
        _set_alert_back(alert, ts)
    for finding in state.group_findings:
        finding.since_ts = min(finding.since_ts, ts)


def _moved(now: int, ts: int, timing: Timing) -> Moved:
    """Converts a time before to the clock that is set from ``now`` to ``ts``. 0 stays 0.

    A clock that had jumped ahead by less than ``progress_max_gap`` made what lasted look longer. So after a small step
    times stay as they are, and what lasts looks shorter. A larger jump has started the stall timers again.
    """
    back_ms = now - ts if now - ts > timing.progress_max_gap_ms else 0
    return lambda before: min(before - back_ms, ts) if before else 0


def _set_group_back(state: GroupState, ts: int) -> None:
    state.now = state.valid_from_ts = ts
    state.routes_changed_ts, state.evaluation_due_ts, state.evidence_lasts_until_ts = -1, 0, 0
    state.consumed_unlisted_ts = 0
    state.membership_changes, state.flapping_clients, state.ended_alerts = [], [], []
    state.rebalance = state.deploy = None
    state.revivals = []
    for gap in state.missing_events:
        gap.ts = min(gap.ts, ts)
    state.lost_events_ts, state.status_ts = min(state.lost_events_ts, ts), min(state.status_ts, ts)
    state.empty_since, state.first_round_ts = min(state.empty_since, ts), min(state.first_round_ts, ts)


def _set_topic_back(topic: Topic, ts: int, moved: Moved) -> None:
    topic.confirmed_ts = topic.changed_ts = topic.hosts_changed_ts = 0
    topic.copies = None
    topic.has_members_since_ts = moved(topic.has_members_since_ts)
    topic.unsubscribed_ts = min(topic.unsubscribed_ts, ts)
    topic.polls = []


def _set_client_back(client: Client, ts: int) -> None:
    for report in client.reports:
        report.answered_ts = min(report.answered_ts, ts)
        report.first_answered_ts = min(report.first_answered_ts, ts)
    client.unanswered_since_ts = 0
    client.since_ts = min(client.since_ts, ts)
    client.two_addresses_since_ts = min(client.two_addresses_since_ts, ts)


def _set_queue_back(queue: Queue, ts: int, moved: Moved) -> None:
    _set_offsets_back(queue, moved)
    queue.idle_since_ts = queue.owner_since_ts = 0
    queue.longest_step_ts = min(queue.longest_step_ts, ts)
    queue.mismatch_since_ts = queue.unclaimed_since_ts = queue.evidence_ts = queue.proven = 0
    queue.two_owners_since_ts = queue.newest_owner_report_ts = queue.unexplained_reports = 0
    queue.unhealthy_since_ts = min(queue.unhealthy_since_ts, ts)
    published_ts = min(queue.since_ts + queue.publish_delay_ms, ts)
    queue.since_ts = min(queue.since_ts, ts)
    queue.publish_delay_ms = published_ts - queue.since_ts if queue.publish_delay_ms >= 0 else -1


def _set_offsets_back(queue: Queue, moved: Moved) -> None:
    still_since_ts = queue.progress_ts - queue.stalled_ms
    queue.progress_ts, queue.unconsumed_since_ts = moved(queue.progress_ts), moved(queue.unconsumed_since_ts)
    if queue.stalled_ms > 0:
        queue.stalled_ms = queue.progress_ts - moved(still_since_ts) or STARTED_AFRESH


def _set_setback_back(setback: Setback, moved: Moved) -> None:
    setback.before_ts, setback.seen_ts = moved(setback.before_ts), moved(setback.seen_ts)
    setback.from_ts, setback.back_ts = moved(setback.from_ts), moved(setback.back_ts)
    setback.changed_ts = moved(setback.changed_ts)


def _set_alert_back(alert: Alert, ts: int) -> None:
    if not alert.fired_ts:
        alert.active_ts = min(alert.active_ts, ts)
    alert.seen_ts, alert.since_ts = min(alert.seen_ts, ts), min(alert.since_ts, ts)
    alert.right_since_ts = 0
