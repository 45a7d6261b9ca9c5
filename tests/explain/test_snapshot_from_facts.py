"""Facts folded into a picture: of each thing what was told last."""

import pytest

from schemas.facts import EvaluationFailedFact, EventsLostFact, RebalanceFact
from schemas.observed import clients
from schemas.reasons import EXCLUSIONS, ReasonDetails
from streaming.core.alerts.phases import AlertReason
from streaming.core.finding_kinds import ALERTING_OF_QUEUES
from streaming.explain.changes import MOST_CHANGES
from streaming.explain.reasons import WHY, why_no_alert, why_of
from streaming.explain.snapshot import BrokerList, MonitorStatus
from streaming.explain.snapshot_from_facts import snapshot_of
from streaming.notices.evidence_english import reason_in_english
from streaming.wording.times import moment
from tests.explain.facts import T0, Teller, facts_of_scenario

OF_X = ReasonDetails(clients=clients(["x"]))


def test_of_each_thing_what_was_told_last() -> None:
    g = Teller()
    g.listed(0, "a", "x", 1)
    g.listed(0, "b", "x", 2)
    g.listed(0, "a", "y", 1)
    g.member(1, "y")
    g.member(1, "x")
    g.queue(2, 0, "SETTLING")
    g.queue(2, 1, "MATCH")
    g.status(2, "settling", SETTLING=1)
    g.queue(3, 0, "ORPHANED", owners=(), cause="MEMBER_GONE")
    g.queue(4, 1, "MATCH", present=False)
    g.listed(5, "a", "y", 0)
    g.member(5, "y", present=False)
    g.status(6, "findings", ORPHANED=1)
    picture = snapshot_of(g.facts)
    assert (picture.cluster, picture.group, picture.ts, picture.newest_ts) == ("c", "g", T0 + 6000, T0 + 6000)
    assert (picture.status, picture.status_ts, picture.counts) == ("findings", T0 + 6000, {"ORPHANED": 1})
    assert [member.client_id for member in picture.members] == ["x"]
    assert picture.views == (BrokerList("a", ()), BrokerList("a", ("x",)), BrokerList("b", ("x", "x")))[1:]
    assert [(q.queue_id, q.finding, q.owners) for q in picture.queues] == [(0, "ORPHANED", ())]


def test_nobody_owns_a_queue_only_where_that_was_proven() -> None:
    g = Teller()
    g.queue(0, 0, "UNKNOWN", owners=(), reason="ROUTE_NOT_KNOWN")
    g.queue(0, 1, "ORPHANED", owners=())
    g.queue(0, 2, "EXCLUDED", owners=(), reason="POP")
    assert [q.owners for q in snapshot_of(g.facts).queues] == [None, (), None]


def test_what_was_not_told_is_null() -> None:
    g = Teller()
    g.listed(0, "a", "x", 1)
    picture = snapshot_of(g.facts)
    assert (picture.counts, picture.brokers_covered, picture.brokers_known, picture.members_reporting) == (None,) * 4


def test_why_something_is_not_known_is_as_of_when_it_was_told() -> None:
    """It is not told again while the finding stays the same: the broker may answer by now."""
    g = Teller()
    g.queue(0, 0, "UNKNOWN", owners=(), reason="ROUTE_NOT_KNOWN")
    g.queue(40, 1, "UNKNOWN", owners=(), reason="ROUTE_NOT_KNOWN")
    picture = snapshot_of(g.facts, T0 + 90_000)
    assert [q.told_ts for q in picture.queues] == [T0, T0 + 40_000]
    assert [one.told_ts for one in picture.unalerted] == [T0 + 40_000]


def test_an_alert_shows_its_life_since_it_was_found_last() -> None:
    g = Teller()
    g.alert(0, "pending", "found")
    g.alert(5, "resolved", "cleared_before_firing")
    g.alert(10, "pending", "found")
    g.alert(15, "firing", "held_long_enough")
    g.alert(20, "firing", "queues_changed", (0, 1, 2))
    (alert,) = snapshot_of(g.facts).alerts
    assert [(step.state, step.reason, step.queues) for step in alert.transitions] == [
        ("pending", "found", 1),
        ("firing", "held_long_enough", 1),
        ("firing", "queues_changed", 3),
    ]
    assert alert.queues == (("a", 0), ("a", 1), ("a", 2))
    assert alert.transitions[1].why == WHY[AlertReason.HELD_LONG_ENOUGH]


@pytest.mark.parametrize(("after_s", "shown"), [(3600, True), (3601, False)])
def test_what_is_over_is_shown_for_an_hour(after_s: int, shown: bool) -> None:
    g = Teller()
    g.alert(0, "firing", "held_long_enough")
    g.alert(10, "resolved", "right_again")
    assert bool(snapshot_of(g.facts, T0 + (10 + after_s) * 1000).alerts) is shown


def test_queues_that_differ_without_an_alert_say_why() -> None:
    g = Teller()
    g.queue(0, 0, "ORPHANED", cause="MEMBER_GONE")
    for queue_id in (1, 2):
        g.queue(0, queue_id, "UNKNOWN", reason="NO_REPORT_SINCE_CHANGE", reason_details=OF_X)
    g.queue(0, 3, "MATCH")
    g.queue(0, 0, "ORPHANED", topic="%RETRY%g")
    g.alert(1, "firing", "held_long_enough", (0,))
    found = {(one.topic, one.finding): one for one in snapshot_of(g.facts).unalerted}
    assert set(found) == {("T", "UNKNOWN"), ("%RETRY%g", "ORPHANED")}
    assert found["T", "UNKNOWN"].queues == (("a", 1), ("a", 2))
    assert "does not alert on what it does not know" in found["T", "UNKNOWN"].why
    assert "only while messages wait" in found["%RETRY%g", "ORPHANED"].why
    g.alert(2, "resolved", "right_again", (0,))
    assert ("T", "ORPHANED") in {(one.topic, one.finding) for one in snapshot_of(g.facts).unalerted}


def test_a_reason_is_a_sentence_and_the_same_as_data() -> None:
    g = Teller()
    g.queue(0, 0, "UNKNOWN", reason="NO_REPORT_SINCE_CHANGE", reason_details=OF_X)
    g.queue(0, 1, "EXCLUDED", reason="POP")
    g.status(0, "unknown", reason="NO_REPORT_SINCE_CHANGE", reason_details=OF_X)
    picture = snapshot_of(g.facts)
    sentence = "x has not reported since the last change"
    of_x = (sentence, "NO_REPORT_SINCE_CHANGE", OF_X)
    assert [(q.reason, q.reason_kind, q.reason_details) for q in picture.queues] == [of_x, ("POP", "POP", None)]
    one = picture.unalerted[0]
    assert (one.reason, one.reason_kind, one.reason_details) == of_x
    assert (picture.reason, picture.reason_kind, picture.reason_details) == of_x


def test_what_changed_is_told_once_for_all_brokers() -> None:
    g = Teller()
    g.listed(0, "b", "x", 1)
    g.listed(0, "a", "x", 1)
    g.listed(1, "a", "y", 2)
    rebalance = RebalanceFact(
        trigger="join", joined=("x",), left=(), topics=("T",), from_ts=T0, to_ts=T0 + 20_000, converged=True,
        queues_moved=3, fewest_moves=2, duplicated_ms=0, orphaned_ms=0,
    )  # fmt: skip
    g.tell(rebalance, 20)
    g.tell(EventsLostFact(source="collector-1", expected_seq=3, received_seq=9), 30)
    g.tell(EvaluationFailedFact(error="KeyError: 1", where="x:1"), 40)
    assert [change.what for change in snapshot_of(g.facts).changes] == [
        "x appeared: lists of a, b",
        "y appeared, 2 times: list of a",
        "a rebalance (join) converged after 20 s: 3 queues moved, 2 had to",
        "events were lost on the way from collector-1: evidence started afresh",
        "evaluating the group failed (KeyError: 1): this is evenkeel's own fault, please report it",
    ]


def test_who_stood_in_a_broker_s_first_list_is_no_change_each() -> None:
    g = Teller()
    for n in range(40):
        g.listed(0, "a", f"x{n}", 1, first_seen=True)
        g.listed(0, "b", f"x{n}", 2, first_seen=True)
    g.listed(5, "c", "x0", 1, first_seen=True)
    g.listed(5, "a", "y", 1)
    assert [change.what for change in snapshot_of(g.facts).changes] == [
        "the first lists of a, b: 40 clients there already",
        "the first list of c: 1 client there already",
        "y appeared: list of a",
    ]


def test_of_many_changes_the_last_are_told() -> None:
    g = Teller()
    for n in range(100):
        g.listed(n, "a", f"x{n}", 1)
    changes = snapshot_of(g.facts).changes
    assert len(changes) == MOST_CHANGES
    assert changes[-1].what == "x99 appeared: list of a"


def test_without_a_time_it_is_as_late_as_was_seen() -> None:
    g = Teller()
    g.queue(0, 0, "MATCH")
    assert snapshot_of(g.facts, None, MonitorStatus(T0 + 90_000, "ok", T0 + 88_000)).ts == T0 + 88_000
    assert snapshot_of(g.facts, T0 + 5).ts == T0 + 5


def test_every_reason_is_spelled_out() -> None:
    assert set(WHY) >= set(AlertReason)
    assert why_of("of_another_version") == "of_another_version"
    assert all(why_no_alert("T", "EXCLUDED", kind) == reason_in_english(kind, None, moment) for kind in EXCLUSIONS)
    assert why_no_alert("T", "EXCLUDED", "OF_ANOTHER_VERSION") == "evenkeel does not judge these queues"
    assert {why_no_alert("T", finding, None) for finding in ALERTING_OF_QUEUES} == {
        "its alert had not been written yet at that time"
    }


def test_a_real_incident_while_it_lasts() -> None:
    facts = facts_of_scenario("same_client_id")
    fired = next(n for n, f in enumerate(facts) if getattr(f.payload, "reason", None) == AlertReason.HELD_LONG_ENOUGH)
    picture = snapshot_of(facts[: fired + 1])
    assert {view.clients for view in picture.views} == {("172.17.0.1@1", "172.17.0.1@1", "172.17.0.1@7")}
    assert {alert.cause for alert in picture.alerts} == {"SAME_CLIENT_ID"}
    assert all(alert.transitions[0].reason == "found" for alert in picture.alerts)
    assert any(alert.state == "firing" for alert in picture.alerts)
