"""Names and limits, as values."""

import pytest

from streaming.metrics.catalogue import GROUP_MEMBERS, METRICS, PROCESSES
from streaming.metrics.series import LONGEST_LABEL, Series, label, within
from tests.metrics.scraping import kind_of, unit_of


def test_names_follow_the_conventions() -> None:
    names = [metric.name for metric in METRICS]
    assert len(names) == len(set(names))
    for metric in METRICS:
        assert metric.name.startswith("evenkeel_")
        assert metric.name.endswith("_total") == (kind_of(metric) == "counter"), metric.name
        assert not metric.name.endswith(("_ms", "_millis", "_count", "_sum", "_bucket"))
        assert unit_of(metric) == "seconds" or kind_of(metric) != "histogram"
        assert metric.processes
        assert set(metric.processes) <= set(PROCESSES)
        assert len(set(metric.labels)) == len(metric.labels)


def test_no_label_names_what_has_no_bound() -> None:
    labels = {label for metric in METRICS for label in metric.labels}
    bounded = {
        "version",
        "process",
        "of",
        "cluster",
        "status",
        "kind",
        "severity",
        "state",
        "finding",
        "sink",
        "outcome",
    }
    assert labels - bounded == {"consumer_group", "topic", "broker", "request", "reason"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("orders", "orders"),
        ('or"ders\\', 'or"ders\\'),  # prometheus-client escapes these
        ("or\nders\x00", r"or\nders\x00"),
        ("\u202eorders", r"\u202eorders"),
        ("\ud800", r"\ud800"),
        ("订单", "订单"),
    ],
)
def test_a_hostile_name_is_written_out(name: str, shown: str) -> None:
    assert label(name) == shown


def test_long_names_are_cut_and_stay_two() -> None:
    one, other = label("x" * 1000 + "a"), label("x" * 1000 + "b")
    assert len(one) == len(other) == LONGEST_LABEL
    assert one != other
    assert label("x" * LONGEST_LABEL) == "x" * LONGEST_LABEL
    assert label("x" * LONGEST_LABEL) != label("x" * (LONGEST_LABEL + 1))


def test_items_are_whole_or_left_out() -> None:
    items = [[Series(GROUP_MEMBERS, ("c", name), 1)] * size for name, size in (("a", 3), ("b", 3), ("c", 2))]
    kept, left_out = within(5, items)
    assert [one.labels[1] for one in kept] == ["a"] * 3 + ["c"] * 2
    assert left_out == 1
    assert within(0, items) == ([], 3)
