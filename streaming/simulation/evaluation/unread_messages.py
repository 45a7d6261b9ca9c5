"""Messages that waited unread in a queue that nobody held: a page for that is true, whatever a deploy intends."""

from schemas.facts import Kind
from streaming.simulation.evaluation.pages import LOOKS_BACK_MS
from streaming.simulation.evaluation.results import Page
from streaming.simulation.fleet import Fleet
from streaming.simulation.ground_truth import Window

UNREAD_MS = 180_000


def confirms(fleet: Fleet, page: Page) -> bool:
    """Whether a message of one of the page's queues, which nobody held, had been there for three minutes."""
    of_page = (w for w in fleet.truth.windows if w.kind is Kind.ORPHANED and w.queue in page.queues)
    return page.kind is Kind.ORPHANED and any(_left_unread(fleet, window, page.fired_ts) for window in of_page)


def _left_unread(fleet: Fleet, window: Window, ts: int) -> bool:
    if not window.from_ts <= ts <= window.lasted_until(fleet.now) + LOOKS_BACK_MS:
        return False
    log = fleet.brokers[window.queue.broker_name].logs[window.queue]
    until = min(ts, window.lasted_until(fleet.now))
    return log.max_offset_at(until - UNREAD_MS) > window.consumed
