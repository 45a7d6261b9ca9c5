"""Open pages of the notifier are compared with the alerts of one scrape."""

import pytest

from bench.endure.measures import LIVE, failing, rows_of
from bench.endure.visitors import of_pages
from streaming.metrics import catalogue as m
from streaming.metrics.exposition import Exposed, Exposition
from streaming.metrics.series import Series
from tests.bench.endure.lines import line


def of_alerts(pages: int, alerts: dict[tuple[str, str], int]):
    """What a scrape of the job gives. ``alerts``: how many there are of each severity and state."""
    found = [Series(m.ALERTS, ("c", "orphaned", *kind), number) for kind, number in alerts.items()]
    exposed = Exposed("run", [lambda: [*found, Series(m.SINK_PAGES, ("hook",), pages)]], list)
    return of_pages(Exposition(exposed).text().decode())


@pytest.mark.parametrize(("pages", "over"), [(2, 0), (3, 0), (5, 2)])
def test_pages_are_compared_with_the_alerts_that_fire_at_the_same_moment(pages: int, over: int):
    paged = {("critical", "firing"): 1, ("warning", "firing"): 2}
    found = of_alerts(pages, paged | {("info", "firing"): 7, ("critical", "pending"): 7})
    assert found == {"notifier.alerts": 3, "notifier.open_pages": pages, "notifier.pages_without_alert": over}


def test_pages_that_stay_open_fail_the_run_and_more_alerts_do_not():
    def failing_with(alerts: int, pages: int):
        """Each with so many more every 50 minutes."""
        lines = []
        for at_s in range(0, 9001, 30):
            more = at_s // 3000
            found = of_alerts(10 + more * pages, {("warning", "firing"): 10 + more * alerts})
            lines.append(line(at_s, **found))
        return failing(rows_of(lines, LIVE))

    assert failing_with(alerts=20, pages=20) == []
    assert failing_with(alerts=0, pages=1) == ["notifier.pages_without_alert"]
