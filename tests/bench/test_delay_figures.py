"""What the measurement of delays makes of pages: which are too early, wrong, or right, and how late."""

from typing import Any

from bench.delay_figures import Page, Trial, figures, page_of

FAULT = 1_000_000
RIGHT = frozenset({"SAME_CLIENT_ID"})


def page(
    after_s: float, cause: str | None = "SAME_CLIENT_ID", severity: str = "critical", status: str = "firing"
) -> Page:
    ts = FAULT + round(after_s * 1000)
    return Page(ts, status, severity, cause, ("ORPHANED",), ts - 11_000)


def trial(*pages: Page, causes: frozenset[str] = RIGHT, error: str = "") -> Trial:
    return Trial("g", causes, FAULT, FAULT + 300_000, pages, error)


def test_delays_count_from_the_fault_to_the_first_page() -> None:
    found = figures([trial(page(40), page(90)), trial(page(50.04)), trial(page(80))])
    assert found["page_s"] == [40, 50, 80]
    assert (found["page_median_s"], found["page_worst_s"]) == (50, 80)
    assert (found["times"], found["found"], found["missed"], found["cause_right"]) == (3, 3, 0, 3)
    assert found["page_after_round_median_s"] == 11


def test_page_before_the_fault_and_one_that_ends_are_no_answer_to_it() -> None:
    found = figures([trial(page(-5), page(30, status="resolved")), trial(page(60))])
    assert (found["found"], found["missed"], found["pages_before_the_fault"]) == (1, 1, 1)
    assert found["page_s"] == [60]


def test_wrong_cause_is_found_and_not_right_until_it_is() -> None:
    found = figures([trial(page(40, "UNEXPLAINED"), page(70)), trial(page(40, None))])
    assert (found["found"], found["cause_right"]) == (2, 0)
    assert found["causes"] == ["None", "UNEXPLAINED"]
    assert found["right_cause_s"] == [70]


def test_warning_that_gets_critical_counts_as_each() -> None:
    found = figures([trial(page(45, severity="warning"), page(65))])
    assert found["page_s"] == [45]
    assert found["critical_s"] == [65]


def test_where_no_page_is_right_every_page_counts_against_it() -> None:
    quiet = frozenset[str]()
    found = figures([trial(causes=quiet), trial(page(40), causes=quiet)])
    assert (found["times"], found["paged"], found["watched_s"]) == (2, 1, 300)


def test_fault_that_was_not_brought_about_is_no_miss() -> None:
    found = figures([trial(error="TimeoutError: busy")])
    assert (found["times"], found["errors"]) == (0, ["g: TimeoutError: busy"])
    assert figures([]) | {"errors": []} == figures([])


def test_notice_of_a_webhook_is_a_page() -> None:
    notice: dict[str, Any] = {
        "status": "firing",
        "severity": "critical",
        "cause": "SAME_CLIENT_ID",
        "alerts": [
            {"ts": 100, "alert": {"kind": "ORPHANED"}},
            {"ts": 200, "alert": {"kind": "DUPLICATED"}},
        ],
    }
    assert page_of(notice, 900) == Page(900, "firing", "critical", "SAME_CLIENT_ID", ("DUPLICATED", "ORPHANED"), 200)
