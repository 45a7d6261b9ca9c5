"""Which groups come first, and what is said of each."""

import pytest
from msgspec.structs import replace

from schemas.facts import AlertFact, AlertQueue, Fact, GroupFact
from streaming.web.views.known import Known
from streaming.web.views.overview import ROWS_A_PAGE, RankedGroups, Waiting, Wanted
from tests.web.made_tables import health_of

NOW = 1_763_744_283_000


def status(group: str, word: str, seq: int = 0, ts: int = NOW, cluster: str = "c", **counts: int) -> Fact:
    payload = GroupFact(
        status=word, members=2, queues=4, counts=counts, brokers_covered=1, brokers_known=1, members_reporting=2
    )
    return Fact(seq, cluster, group, None, ts, payload)


def alert(
    group: str,
    state: str,
    severity: str,
    queues: int,
    seq: int = 1,
    kind: str = "ORPHANED",
    each: int | None = None,
    **more: int,
) -> Fact:
    payload = AlertFact(
        fingerprint=f"{group}-{kind}", state=state, severity=severity, kind=kind, cause="MEMBER_GONE", reason="found",
        queues=tuple(AlertQueue("a", number, waiting=each) for number in range(queues)), active_ts=NOW - 60_000, **more,
    )  # fmt: skip
    return Fact(seq, "c", group, "T", NOW, payload)


def known(*facts: Fact) -> Known:
    one = Known()
    one.take(facts)
    return one


def names(facts: list[Fact], now: int = NOW, **wanted: object) -> list[str]:
    view = RankedGroups(known(*facts), now).overview(Wanted(**wanted), now)  # type: ignore[arg-type]
    return [row.known.group for row in view.rows]


EVERY = [
    status("healthy", "healthy", MATCH=4), status("excluded", "excluded"), status("empty", "empty"),
    status("settling", "settling", SETTLING=1), status("unknown", "unknown", UNKNOWN=1),
    status("found", "findings", MISPLACED=1), status("pending", "findings", ORPHANED=1),
    alert("pending", "pending", "critical", 1), status("warning", "findings", MISPLACED=9),
    alert("warning", "firing", "warning", 9, kind="MISPLACED"), status("critical", "findings", ORPHANED=1),
    alert("critical", "firing", "critical", 1), status("more", "findings", ORPHANED=2),
    alert("more", "firing", "critical", 2), status("over", "healthy"), alert("over", "resolved", "critical", 3),
]  # fmt: skip
WORST_FIRST = [
    "more", "critical", "warning", "pending", "found", "unknown", "settling", "empty", "excluded", "healthy", "over",
]  # fmt: skip


def test_the_worst_come_first() -> None:
    assert names(EVERY) == WORST_FIRST


def test_every_group_is_in_one_state() -> None:
    view = RankedGroups(known(*EVERY), NOW).overview(Wanted(), NOW)
    assert sum(view.states.values()) == view.total == len(WORST_FIRST)
    for state, number in view.states.items():
        assert len(names(EVERY, state=state)) == number


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"search": "C/MORE"}, ["more"]),
        ({"search": "ing", "sort": "name"}, ["pending", "settling", "warning"]),
        ({"finding": "MISPLACED"}, ["warning", "found"]),
        ({"cluster": "other"}, []),
        ({"state": "firing"}, ["more", "critical", "warning"]),
    ],
)
def test_only_what_is_wanted(wanted: dict[str, str], found: list[str]) -> None:
    assert names(EVERY, **wanted) == found


def test_a_page_beyond_the_last_is_the_last() -> None:
    many = [status(f"g{number:03}", "healthy") for number in range(ROWS_A_PAGE + 1)]
    assert names(many, page=2) == names(many, page=99) == [f"g{ROWS_A_PAGE:03}"]
    assert len(names(many, page=0)) == ROWS_A_PAGE


def test_a_group_without_a_status_is_shown_when_it_alerts() -> None:
    view = RankedGroups(known(alert("new", "firing", "critical", 1)), NOW).overview(Wanted(), NOW)
    assert [(row.known.group, row.state, row.known.status.members) for row in view.rows] == [("new", "firing", 0)]


def test_since_when_and_how_much_waits() -> None:
    facts = [
        status("g", "healthy", 0, NOW - 9_000_000), status("g", "findings", 1, NOW - 300_000),
        status("g", "findings", 2, NOW - 200_000), alert("g", "firing", "critical", 1, 3, waiting=7),
        alert("g", "firing", "warning", 1, 4, kind="MISPLACED", waiting=5),
    ]  # fmt: skip
    (row,) = RankedGroups(known(*facts), NOW).overview(Wanted(), NOW).rows
    assert (row.since_ts, row.since_is_lower_bound, row.lag) == (
        NOW - 60_000,
        False,
        Waiting(messages=7, read_ts=NOW, oldest_ts=None, is_old=False),
    )
    (row,) = RankedGroups(known(*facts[:3]), NOW).overview(Wanted(), NOW).rows
    assert (row.since_ts, row.since_is_lower_bound, row.lag) == (NOW - 300_000, False, None)
    (row,) = RankedGroups(known(*facts[1:3]), NOW).overview(Wanted(), NOW).rows
    assert (row.since_ts, row.since_is_lower_bound) == (NOW - 300_000, True)


def test_numbers_of_now_come_before_numbers_that_were_read_long_ago() -> None:
    def waits(group: str, seq: int, messages: int, read_ts: int) -> Fact:
        return alert(group, "firing", "critical", 1, seq, waiting=messages, read_ts=read_ts)

    facts = [
        waits("grows", 1, 268, NOW - 1_140_000), waits("grows", 2, 3_525, NOW - 20_000),
        waits("old", 1, 9_000, NOW - 1_140_000), waits("other", 1, 300, NOW - 30_000),
        alert("unknown", "firing", "critical", 1),
    ]  # fmt: skip
    assert names(facts, sort="lag") == ["grows", "other", "old", "unknown"]
    row = RankedGroups(known(*facts), NOW).overview(Wanted(sort="lag"), NOW).rows[0]
    assert row.lag == Waiting(messages=3_525, read_ts=NOW - 20_000, oldest_ts=None, is_old=False)


def test_messages_of_a_queue_that_two_alerts_name_are_counted_once() -> None:
    both = [
        alert("g", "firing", "critical", 4, seq, kind=kind, waiting=40, each=10)
        for seq, kind in ((1, "ORPHANED"), (2, "STALLED"))
    ]
    row = RankedGroups(known(*both), NOW).overview(Wanted(), NOW).rows[0]
    assert row.lag is not None
    assert row.lag.messages == 40


def test_what_is_not_seen_any_more_is_said_to_be_old() -> None:
    facts = [status("g", "healthy"), *health_of([status("g", "healthy")], "c")]
    for later, is_old in ((118_000, False), (125_000, True)):
        view = RankedGroups(known(*facts), NOW + later).overview(Wanted(), NOW + later)
        assert ([row.is_old for row in view.rows], [one.is_blind for one in view.clusters]) == ([is_old], [is_old])


def test_of_a_group_the_larger_number_counts() -> None:
    one = known(status("g", "findings", 5), alert("g", "firing", "critical", 1, 7))
    before = one.version
    assert one.take([status("g", "healthy", 4), alert("g", "resolved", "critical", 1, 6)]) == set()
    assert one.version == before
    assert one.take([status("g", "healthy", 6)]) == {("c", "g")}


def test_queues_that_no_alert_names_are_not_counted() -> None:
    """Of a retry topic in which nothing waits: else five queues would stand above an alert of four."""
    found = status("g", "findings", ORPHANED=5, SETTLING=1)
    found = replace(found, payload=replace(found.payload, retry_counts={"ORPHANED": 1, "SETTLING": 1}))
    (row,) = RankedGroups(known(found), NOW).overview(Wanted(), NOW).rows
    assert row.findings == (("ORPHANED", 4),)


def test_of_alerts_that_are_pending_the_overview_says_since_when_too() -> None:
    facts = [status("g", "findings", 0, NOW - 9_000, ORPHANED=1), alert("g", "pending", "critical", 1, 1)]
    (row,) = RankedGroups(known(*facts), NOW).overview(Wanted(), NOW).rows
    assert (row.since_ts, row.since_is_lower_bound) == (NOW - 60_000, False)


def test_what_is_right_for_now_comes_after_what_fires() -> None:
    flaps = alert("g", "firing", "critical", 2, 1, kind="DUPLICATED")
    flaps = replace(flaps, payload=replace(flaps.payload, kept_open="comes_and_goes", right_since_ts=NOW - 9_000))
    (row,) = RankedGroups(known(flaps), NOW).overview(Wanted(), NOW).rows
    assert (row.level, row.severity) == ("right", "critical")
    (row,) = RankedGroups(known(flaps, alert("g", "firing", "warning", 1, 2)), NOW).overview(Wanted(), NOW).rows
    assert (row.level, row.alerts[0].fact.kind) == ("warning", "ORPHANED")


def test_a_healthy_group_shows_what_waits_for_it() -> None:
    one = status("g", "healthy", ts=NOW)
    one = replace(one, payload=replace(one.payload, waiting=4_000, read_ts=NOW - 60_000))
    row = RankedGroups(known(one), NOW).overview(Wanted(), NOW).rows[0]
    assert row.lag == Waiting(messages=4_000, read_ts=NOW - 60_000, oldest_ts=None, is_old=False)
    later = NOW + 3_700_000
    old = RankedGroups(known(one), later).overview(Wanted(), later).rows[0].lag
    assert old is not None
    assert old.is_old
    for waits, read_ts, shown in ((9_000, NOW, 9_000), (9_000, NOW - 120_000, 4_000), (50, NOW, 4_000)):
        both = known(one, alert("g", "firing", "critical", 1, waiting=waits, read_ts=read_ts))
        lag = RankedGroups(both, NOW).overview(Wanted(), NOW).rows[0].lag
        assert lag is not None
        assert lag.messages == shown, "of the whole group, unless an alert knows of more by now"
