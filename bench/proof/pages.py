"""The pages that were sent, and whether the truth confirms them."""

from collections.abc import Iterable

from bench.proof.deadlines import Deadlines
from bench.proof.detector import Detector
from bench.proof.results import ActiveFault, Page
from schemas.facts import AlertFact, AlertState, Cause, Fact, Kind, Severity
from schemas.identity import MessageQueue, is_retry_topic
from streaming.simulation.fleet import Fleet

OF_QUEUES = (Kind.DUPLICATED, Kind.ORPHANED, Kind.STALLED, Kind.SLOW_CONSUMER)
TRUE_IF: dict[Kind, frozenset[Kind]] = {  # which truths make a page of this kind true
    Kind.DUPLICATED: frozenset({Kind.DUPLICATED}),
    Kind.ORPHANED: frozenset({Kind.ORPHANED}),
    Kind.STALLED: frozenset({Kind.STALLED, Kind.ORPHANED, Kind.SLOW_CONSUMER}),
    Kind.SLOW_CONSUMER: frozenset({Kind.SLOW_CONSUMER, Kind.STALLED}),
    Kind.PHANTOM: frozenset({Kind.PHANTOM}),
}
LOOKS_BACK_MS = 60_000  # what a page says was seen within this time before it
UNREAD_MS = 180_000  # a page is true of messages that waited unread for so long, whatever a deploy intends
SEEN_FROM_MS = 10_000  # a window that lasted no longer is what every rebalance makes


def read_pages(detector: Detector, fleet: Fleet, active: Iterable[ActiveFault], deadlines: Deadlines) -> list[Page]:
    """The pages in the order in which their alerts began to fire."""
    truth = _PageTruth(detector, fleet, list(active), deadlines)
    return [page._replace(is_true=truth.confirms(page)) for page in sent_pages(detector, fleet.now)]


def sent_pages(detector: Detector, end_ts: int) -> list[Page]:
    """The same, before anything is known of the truth."""
    resolved: dict[tuple[str, int], int] = {}
    queues: dict[tuple[str, int], set[MessageQueue]] = {}
    causes: dict[tuple[str, int], list[tuple[int, str | None]]] = {}
    firing: list[tuple[Fact, AlertFact, int]] = []
    for fact, emitted_ts in zip(detector.facts, detector.emitted_ts, strict=True):
        alert = fact.payload
        if not isinstance(alert, AlertFact) or alert.fired_ts is None or is_retry_topic(fact.topic or ""):
            continue
        if alert.severity == Severity.INFO:
            continue  # nobody is notified
        key = (alert.fingerprint, alert.fired_ts)
        if key not in queues:
            firing.append((fact, alert, emitted_ts))
        named = {MessageQueue(fact.topic or "", q.broker_name, q.queue_id) for q in alert.queues}
        queues.setdefault(key, set()).update(named)
        causes.setdefault(key, []).append((emitted_ts, alert.cause))
        if alert.state == AlertState.RESOLVED.value:
            resolved[key] = emitted_ts
    pages = []
    for fact, alert, emitted_ts in firing:
        key = (alert.fingerprint, alert.fired_ts or 0)
        page = Page(
            Kind(alert.kind), fact.topic or "", alert.cause, alert.severity, emitted_ts, frozenset(queues[key]), False
        )
        pages.append(page._replace(resolved_ts=resolved.get(key, end_ts), later_causes=tuple(causes[key])))
    return pages


class _PageTruth:
    def __init__(self, detector: Detector, fleet: Fleet, active: list[ActiveFault], deadlines: Deadlines) -> None:
        self._detector, self._fleet, self._active, self._deadlines = detector, fleet, active, deadlines

    def confirms(self, page: Page) -> bool:
        """Whether the page was true within the minute before it."""
        if page.kind in (Kind.MISPLACED, Kind.NO_MEMBERS):
            return was_confirmed(self._detector, page)
        if page.kind is Kind.OFFSETS_WENT_BACK:
            return went_back(self._fleet, page)
        if page.cause == Cause.LEFT_ROUTE and any(map(self._has_left_with_messages, page.queues)):
            return True
        is_of_a_fault = any(
            (page.kind, page.topic) in fault.group_findings or page.kind in fault.tolerated + fault.shown_by_lists
            for fault, from_ts, to_ts in self._active
            if from_ts <= page.fired_ts <= to_ts + LOOKS_BACK_MS
        )
        if is_of_a_fault or page.kind not in TRUE_IF:
            return is_of_a_fault
        kinds, end = TRUE_IF[page.kind], self._fleet.now
        if page.kind is Kind.ORPHANED and self._deadlines.is_long_silent(page.fired_ts, page.fired_ts):
            kinds |= {Kind.STALLED}  # a client that is stopped, and no longer listed, owns nothing
        return any(
            window.queue in page.queues
            and window.kind in kinds
            and window.from_ts <= page.fired_ts
            and window.lasted_until(end) >= page.fired_ts - LOOKS_BACK_MS
            and window.lasted_until(end) - window.from_ts >= SEEN_FROM_MS
            for window in self._fleet.truth.windows
        )

    def _has_left_with_messages(self, queue: MessageQueue) -> bool:
        """Whether the topic has the queue no more, and messages are left in it (at the end of the run too)."""
        broker, now = self._fleet.brokers[queue.broker_name], self._fleet.now
        data, progress = broker.topics.get(queue.topic), broker.progress(self._fleet.group, queue, self._fleet.now)
        has_left = data is None or queue.queue_id >= max(data.read_queue_nums, data.write_queue_nums)
        return has_left and progress.log.max_offset(now) > max(0, progress.committed)


def was_confirmed(detector: Detector, page: Page) -> bool:
    """Whether what it says was so when it was told, within the minute before the page."""
    confirmed = (ts for kind, ts in detector.confirmed if kind == page.kind.value)
    return any(page.fired_ts - LOOKS_BACK_MS <= ts <= page.fired_ts for ts in confirmed)


def went_back(fleet: Fleet, page: Page) -> bool:
    """Whether what was committed in one of its queues was lost, and was not committed again a minute before."""
    progresses = (fleet.brokers[q.broker_name].progress(fleet.group, q, fleet.now) for q in page.queues)
    lost = (one.put_back for one in progresses if one.put_back is not None)
    return any(one.ts <= page.fired_ts <= (one.until_ts or fleet.now) + LOOKS_BACK_MS for one in lost)


def waited_unread(fleet: Fleet, page: Page) -> bool:
    """Whether a message of one of the page's queues, which had no owner, had been there for three minutes."""
    for window in fleet.truth.windows if page.kind is Kind.ORPHANED else ():
        until, ts = window.lasted_until(fleet.now), page.fired_ts
        is_of_it = window.kind is Kind.ORPHANED and window.queue in page.queues
        if is_of_it and window.from_ts <= ts <= until + LOOKS_BACK_MS:
            log = fleet.brokers[window.queue.broker_name].logs[window.queue]
            if log.max_offset_at(min(ts, until) - UNREAD_MS) > window.consumed:
                return True
    return False
