"""Which pages there are, and when a sink is told of them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.facts import AlertQueue, Fact
from streaming.notifier.grouping import MOST_ENDED
from streaming.notifier.pages import DueNotice, SendReason, affected, subject_name
from streaming.notifier.silences import Silence
from streaming.notifier.sink_view import Route
from tests.core.fleet import Fleet
from tests.notifier.facts import NOW, S, alert
from tests.notifier.receiver import PAGES, Receiver


def test_incident_is_told_when_it_begins_and_when_it_ends_under_one_key() -> None:
    sink = Receiver()
    sink.poll(0, [alert()])
    sink.poll(1)
    sink.poll(9, [alert(state="resolved", at=9, fired=0, seq=2)])
    sink.poll(10)
    assert sink.says() == [("firing", ("g",)), ("resolved", ("g",))]
    assert len({notice.key for notice in sink.told}) == 1
    assert sink.told[1].alerts[0].fact.state == "resolved"
    assert sink.pages == []


def test_next_incident_of_the_same_alert_has_another_key() -> None:
    sink = Receiver()
    for at, seq in ((0, 1), (20, 3)):
        sink.poll(at, [alert(at=at, seq=seq)])
        sink.poll(at + 9, [alert(state="resolved", at=at + 9, fired=at, seq=seq + 1)])
    assert len({notice.key for notice in sink.told}) == 2


@pytest.mark.parametrize(
    "quiet",
    [alert(state="pending"), alert(severity="info"), alert(state="resolved", fired=-60), alert(severity="none")],
)
def test_pending_info_and_what_is_over_page_nobody(quiet: Fact) -> None:
    sink = Receiver()
    sink.poll(0, [quiet])
    assert sink.told == []


def test_one_page_for_each_cluster_group_and_cause() -> None:
    sink = Receiver()
    sink.poll(0, [
        alert("a"), alert("a", topic="u", seq=2), alert("a", kind="STALLED", seq=3),
        alert("a", cause="ROUTE_LAG", topic="v", seq=4), alert("b"), alert("b", cluster="d"),
    ])  # fmt: skip
    said = sorted((notice.cluster, notice.groups, notice.cause, len(notice.alerts)) for notice in sink.told)
    assert said == [
        ("c", ("a",), "ROUTE_LAG", 1), ("c", ("a",), "UNEXPLAINED", 3), ("c", ("b",), "UNEXPLAINED", 1),
        ("d", ("b",), "UNEXPLAINED", 1),
    ]  # fmt: skip


def test_cause_that_changes_makes_no_new_page_and_draws_its_like_in() -> None:
    sink = Receiver()
    sink.poll(0, [alert()])
    sink.poll(5, [alert(cause="SAME_CLIENT_ID", at=5, fired=0, seq=2)])
    sink.poll(70, [alert(topic="u", cause="SAME_CLIENT_ID", at=70, seq=3)])
    assert [(notice.cause, len(notice.alerts)) for notice in sink.told] == [("UNEXPLAINED", 1), ("SAME_CLIENT_ID", 2)]
    assert len({notice.key for notice in sink.told}) == 1


def test_page_waits_for_others_of_its_kind() -> None:
    sink = Receiver(PAGES._replace(wait_ms=10 * S))
    sink.poll(0, [alert()])
    sink.poll(9.9, [alert(topic="u", at=9, seq=2)])
    assert sink.told == []
    sink.poll(10)
    assert [len(notice.alerts) for notice in sink.told] == [2]


def test_page_of_an_alert_that_fired_by_a_clock_that_is_ahead_waits_for_nothing() -> None:
    sink = Receiver(PAGES._replace(wait_ms=10 * S))
    sink.poll(0, [alert(at=0, fired=3600)])
    assert len(sink.told) == 1


def test_page_that_grows_is_told_again_but_not_at_every_turn() -> None:
    sink = Receiver(PAGES._replace(wait_ms=0, update_ms=60 * S))
    sink.poll(0, [alert()])
    sink.poll(10, [alert(topic="u", at=10, seq=2)])
    assert len(sink.told) == 1
    (grown,) = sink.poll(60)
    assert (grown.why, len(grown.notice.alerts)) == (SendReason.CHANGED, 2)
    assert sink.poll(600) == []


def queues(*ids: int, broker: str = "b") -> tuple[AlertQueue, ...]:
    return tuple(AlertQueue(broker, one) for one in ids)


def test_what_is_told_already_is_not_told_again_because_it_changes() -> None:
    """A broker goes away and comes back: other findings on the same queues, queues that leave and return, evidence."""
    sink = Receiver()
    changes: list[dict[str, Any]] = [
        {"kind": "STALLED", "queues": queues(0, 1, 2, 3)},
        {"kind": "ORPHANED", "queues": queues(0, 1)},
        {"kind": "STALLED", "queues": queues(0, 1), "reason": "queues_changed"},
        {"kind": "STALLED", "queues": queues(0, 1, 2, 3), "reason": "queues_changed"},
        {"kind": "STALLED", "queues": queues(0, 1, 2, 3), "reason": "evidence_lost", "stale": True},
        {"kind": "STALLED", "queues": queues(0, 1, 2, 3), "reason": "evidence_back"},
        {"kind": "STALLED", "queues": queues(0, 1, 2, 3), "reason": "waiting_changed", "waiting": 3_525},
        {"kind": "ORPHANED", "queues": queues(0, 1), "state": "resolved", "fired": 100},
        {"kind": "ORPHANED", "queues": queues(0, 1)},
        {"kind": "DUPLICATED", "queues": queues(2)},
        {"kind": "STALLED", "queues": queues(0, 1, 2, 3), "severity": "warning"},
        {"kind": "STALLED", "queues": queues(0, 1, 2, 3), "severity": "critical"},
    ]
    for number, change in enumerate(changes):
        fired = change.pop("fired", 0 if change["kind"] == "STALLED" else None)
        sink.poll(100 * number, [alert(at=100 * number, seq=number + 1, fired=fired, **change)])
    sink.poll(5_000)
    assert [notice.status for notice in sink.told] == ["firing"]


def test_a_queue_that_no_notice_has_named_is_told_once() -> None:
    sink = Receiver()
    sink.poll(0, [alert(queues=queues(0))])
    (grown,) = sink.poll(100, [alert(at=100, fired=0, seq=2, queues=queues(0, 1), reason="queues_changed")])
    assert grown.why is SendReason.CHANGED
    for number, those in enumerate([queues(0), queues(1), queues(0, 1)]):
        assert sink.poll(300 * (number + 2), [alert(at=300, fired=0, seq=number + 3, queues=those)]) == []


def test_a_few_more_queues_of_a_topic_that_was_named_are_no_news() -> None:
    """They are found one by one when a broker is back."""
    sink = Receiver()
    sink.poll(0, [alert(queues=queues(*range(50)))])
    for number in range(1, 6):
        facts = [alert(at=100 * number, fired=0, seq=number + 1, queues=queues(*range(50 + 4 * number)))]
        assert sink.poll(100 * number, facts) == []
    (grown,) = sink.poll(600, [alert(at=600, fired=0, seq=7, queues=queues(*range(75)))])
    assert grown.why is SendReason.CHANGED
    (elsewhere,) = sink.poll(900, [alert(topic="u", at=900, seq=8, queues=queues(0))])
    assert elsewhere.why is SendReason.CHANGED


def test_a_cause_that_is_no_longer_seen_is_no_news() -> None:
    """Evidence of it was lost with a broker."""
    sink = Receiver()
    sink.poll(0, [alert(cause="STRATEGY_MISMATCH")])
    sink.poll(100, [alert(cause="UNEXPLAINED", at=100, fired=0, seq=2)])
    assert sink.poll(600) == []


def test_a_page_that_goes_on_growing_is_told_more_and_more_rarely() -> None:
    sink = Receiver()
    for minute in range(60):
        facts = [alert(at=60 * minute, fired=0, seq=minute + 1, queues=queues(*range(minute + 1)))]
        sink.poll(60 * minute, facts)
    assert len(sink.told) == 6
    assert len(sink.told[-1].alerts[0].fact.queues) > 25


def test_another_cause_is_told_once_it_has_held() -> None:
    sink = Receiver()
    sink.poll(0, [alert()])
    sink.poll(100, [alert(cause="SAME_CLIENT_ID", at=100, fired=0, seq=2)])
    sink.poll(130, [alert(cause="MEMBER_GONE", at=130, fired=0, seq=3)])
    assert sink.poll(189) == []
    (told,) = sink.poll(190)
    assert (told.why, told.notice.cause) == (SendReason.CHANGED, "MEMBER_GONE")
    for number, cause in enumerate(["UNEXPLAINED", "MEMBER_GONE"]):
        sink.poll(400 + 200 * number, [alert(cause=cause, at=400 + 200 * number, fired=0, seq=4 + number)])
        assert sink.poll(590 + 200 * number) == [], "it was told before"


@pytest.mark.slow("hours of pages")
def test_a_broker_that_goes_away_and_comes_back_is_one_page_sent_once_or_twice() -> None:
    """By what the core finds of it."""
    fleet = Fleet({"T": {"a": 4, "b": 4}, "U": {"a": 4, "b": 4}})
    fleet.join("x", "y")
    fleet.run(120)
    fleet.own("y", "")
    fleet.own("y", "", topic="U")
    fleet.run(120)
    for _ in range(3):
        fleet.down = {"b"}
        fleet.run(200)
        fleet.restart_brokers("b")
        fleet.run(200)
    sink, facts = Receiver(), sorted(fleet.facts, key=lambda fact: fact.ts)
    for fact in facts:
        sink.poll((fact.ts - NOW) / S, [fact])
    keys = [notice.key for notice in sink.told if notice.status == "firing"]
    assert keys
    assert max(keys.count(key) for key in keys) <= 2


def test_page_that_gets_worse_is_told_at_once() -> None:
    sink = Receiver()
    sink.poll(0, [alert(severity="warning")])
    (worse,) = sink.poll(1, [alert(at=1, fired=0, seq=2)])
    assert (worse.why, worse.notice.severity) == (SendReason.CHANGED, "critical")
    assert sink.poll(2, [alert(severity="warning", at=2, fired=0, seq=3)]) == [], "that it gets better is no news"


def test_sink_that_forgets_is_told_again_and_again() -> None:
    sink = Receiver(PAGES._replace(wait_ms=0, resend_ms=60 * S))
    sink.poll(0, [alert()])
    told = [at for at in range(1, 200) if sink.poll(at)]
    assert told == [60, 120, 180]


# Storms


def test_many_groups_at_once_are_one_page_that_lists_them() -> None:
    sink = Receiver(PAGES)
    names = tuple(sorted(f"g{number}" for number in range(21)))
    sink.poll(0, [alert(name) for name in names])
    assert sink.says() == [("firing", names)]
    sink.poll(9, [alert(name, "resolved", at=9, fired=0, seq=2) for name in names])
    assert sink.says()[1:] == [("resolved", names)]


def test_twenty_groups_are_no_storm_and_clusters_do_not_add_up() -> None:
    sink = Receiver()
    sink.poll(0, [alert(f"g{number}", cluster=f"c{number % 2}") for number in range(40)])
    assert len(sink.told) == 40


def test_groups_that_follow_within_two_minutes_make_the_storm() -> None:
    sink = Receiver()
    for number in range(20):
        sink.poll(number, [alert(f"g{number}", at=number)])
    sink.poll(119, [alert("last", at=119)])
    sink.poll(179, [alert("more", at=179)])
    assert [len(notice.groups) for notice in sink.told] == [1] * 20 + [21, 22]
    sink.poll(300, [alert("later", at=300)])
    assert sink.told[-1].groups == ("later",), "the storm has passed: nobody joined it for two minutes"


def test_single_alerts_do_not_keep_a_storm_going() -> None:
    """Each of them would only be an update of its page, which is sent an hour later."""
    sink = Receiver()
    sink.poll(0, [alert(f"g{number}") for number in range(21)])
    for number in range(1, 7):
        sink.poll(100 * number, [alert(f"single-{number}", at=100 * number)])
    assert [notice.groups for notice in sink.told if len(notice.groups) == 1] == [(f"single-{n}",) for n in range(3, 7)]


@pytest.mark.slow("hours of pages")
def test_a_storm_goes_on_while_many_groups_begin() -> None:
    sink = Receiver()
    for number in range(200):
        sink.poll(5 * number, [alert(f"g{number}", at=5 * number)])
    assert len({notice.key for notice in sink.told if len(notice.groups) > 1}) == 1
    assert len(sink.pages) == 21, "that of the storm, and those from before it"


@pytest.mark.slow("hours of pages")
def test_a_page_keeps_the_newest_alerts_that_ended() -> None:
    sink = Receiver()
    sink.poll(0, [alert(f"g{number}") for number in range(21)])
    for number in range(21, 500):
        gone = alert(f"g{number - 20}", "resolved", at=number, fired=max(0, number - 20 if number > 40 else 0), seq=2)
        sink.poll(number, [alert(f"g{number}", at=number), gone])
    (page,) = sink.pages
    assert len(page.alerts) == MOST_ENDED + 21
    names = [f"g{number}" for number in range(500)]
    sink.poll(500, [alert(name, "resolved", at=500, fired=number if number > 20 else 0, seq=2)
                    for number, name in enumerate(names) if number == 0 or number > 479])  # fmt: skip
    assert sink.pages == []
    last = sink.told[-1]
    assert (last.status, len(last.alerts)) == ("resolved", MOST_ENDED + 21)
    assert {one.fact.state for one in last.alerts} == {"resolved"}


@pytest.mark.slow("hours of pages")
def test_a_storm_forgets_what_it_named_of_groups_that_ended_long_ago() -> None:
    sink = Receiver()
    sink.poll(0, [alert(f"g{number}") for number in range(21)])
    named: dict[int, set[int]] = {}  # by the number of updates
    for number in range(21, 800):
        ended = number - 21
        gone = alert(f"g{ended}", "resolved", at=5 * number, fired=5 * ended if ended > 20 else 0, seq=2)
        sink.poll(5 * number, [alert(f"g{number}", at=5 * number), gone])
        storm = next(page for page in sink.pages if page.group is None)
        assert storm.sent is not None
        named[storm.sent.updates] = {int(name.split("\n")[1][1:]) for name in storm.sent.affected or ()}
    assert len(named) > 4
    assert min(named[1]) == min(named[2]) == 0
    assert all(min(one) >= max(one) - 21 - MOST_ENDED for one in named.values())


def test_groups_over_more_than_two_minutes_are_no_storm() -> None:
    sink = Receiver()
    for number in range(30):
        sink.poll(number * 7, [alert(f"g{number}", at=number * 7)])
    assert {len(notice.groups) for notice in sink.told} == {1}


# Silences and routes


def silence(**changed: Any) -> Silence:
    return Silence(**{"id": "1", "from_ts": NOW, "until_ts": NOW + 60 * S, "by": "me", "why": "test"} | changed)


def test_silenced_incident_is_told_when_the_silence_ends_if_it_still_fires() -> None:
    sink = Receiver()
    sink.silences = [silence(group="g*")]
    sink.poll(0, [alert(), alert("gone"), alert("other")])
    sink.poll(30, [alert("gone", "resolved", at=30, fired=0, seq=2)])
    sink.poll(59.9)
    assert sink.says() == [("firing", ("other",))]
    sink.poll(60)
    assert sink.says()[1:] == [("firing", ("g",))]


def test_silence_neither_ends_an_open_page_nor_hides_its_end() -> None:
    sink = Receiver()
    sink.poll(-1, [alert(at=-1)])
    sink.silences = [silence()]
    sink.poll(0)
    sink.poll(1, [alert(topic="u", at=1, seq=2)])
    assert len(sink.told) == 1
    sink.poll(9, [alert(state="resolved", at=9, fired=-1, seq=3), alert(state="resolved", topic="u", at=9, seq=4)])
    assert sink.says() == [("firing", ("g",)), ("resolved", ("g",))]


@pytest.mark.parametrize(
    ("matcher", "matches"),
    [
        ({}, True), ({"cluster": "c"}, True), ({"cluster": "d"}, False), ({"group": "G"}, False),
        ({"kind": "ORPHANED"}, True), ({"kind": "STALLED"}, False), ({"cause": "UNEXPL*"}, True),
        ({"cause": "ROUTE_LAG"}, False), ({"from_ts": NOW + 1}, False), ({"until_ts": NOW}, False),
    ],
)  # fmt: skip
def test_silence_matches_by_all_its_patterns_while_it_lasts(matcher: dict[str, Any], matches: bool) -> None:
    sink = Receiver()
    sink.silences = [silence(**matcher)]
    sink.poll(0, [alert()])
    assert (sink.told == []) is matches


@pytest.mark.parametrize(
    ("routes", "told"),
    [
        ((), 0), ((Route(("other",)), Route(("sink",))), 0), ((Route(("other", "sink")),), 3),
        ((Route(("sink",), group="a"),), 1), ((Route((), group="a"), Route(("sink",))), 2),
        ((Route(("sink",), cluster="d"),), 0), ((Route(("sink",), severities=frozenset({"warning"})),), 1),
    ],
)  # fmt: skip
def test_first_route_that_matches_counts(routes: tuple[Route, ...], told: int) -> None:
    sink = Receiver(routes=routes)
    sink.poll(0, [alert("a"), alert("b"), alert("w", severity="warning")])
    assert len(sink.told) == told


# Whatever happens on the way


GROUPS = ("a", "b")


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Fact], list[int], list[str]]:
    """Facts of a few alerts in their order, after how many of them to poll, and what happens at each poll."""
    facts: list[Fact] = []
    fired: dict[tuple[str, str], int] = {}
    seqs = dict.fromkeys(GROUPS, 0)
    for at in range(draw(st.integers(1, 14))):
        group, topic = draw(st.sampled_from(GROUPS)), draw(st.sampled_from(["t", "u"]))
        seqs[group] += 1
        state = draw(st.sampled_from(["firing", "firing", "resolved"])) if (group, topic) in fired else "firing"
        start = fired.setdefault((group, topic), at)
        if state == "resolved":
            del fired[group, topic]
        cause = draw(st.sampled_from(["UNEXPLAINED", "ROUTE_LAG"]))
        facts.append(alert(group, state, topic=topic, at=at, fired=start, seq=seqs[group], cause=cause))
    cuts = sorted(draw(st.sets(st.integers(0, len(facts)), max_size=6)) | {len(facts)})
    return facts, cuts, draw(st.lists(st.sampled_from(["ok", "refused", "cut off", "restart"]), min_size=7, max_size=7))


@pytest.mark.slow("hours of pages")
@settings(max_examples=50)
@given(histories())
def test_what_outlives_all_polls_failures_and_restarts_is_open_under_one_key(
    history: tuple[list[Fact], list[int], list[str]],
) -> None:
    """``cut off``: the sink took it and nobody heard; the process then starts again from its files."""
    facts, cuts, fates = history
    sink = Receiver()
    took: dict[str, str] = {}
    holds: dict[str, set[str]] = {}
    named: dict[str, set[str]] = {}

    def taking(fate: str) -> Any:
        def take(one: DueNotice) -> bool:
            if fate != "refused":
                took[one.notice.key] = one.notice.status
                for unseen in one.notice.alerts:
                    holds.setdefault(subject_name(unseen), set()).add(one.notice.key)
                    for queue in affected([unseen]):
                        named.setdefault(queue, set()).add(one.notice.key)
            return {"refused": False, "cut off": None}.get(fate, True)

        return take

    begin = 0
    for cut, fate in zip(cuts, fates, strict=False):
        sink.poll(cut, facts[begin:cut], taking(fate))
        begin = cut
        if fate in ("cut off", "restart"):
            sink.restart()
    sink.poll(1000, facts[-3:], taking("ok"))  # what was read before may be read again
    firing = {subject_name(one) for one in sink.open_alerts.alerts.values()}
    queues_of_firing = affected(sink.open_alerts.alerts.values())
    still_open = {key for key, status in took.items() if status == "firing"}
    assert {queue for queue, keys in named.items() if keys & still_open} >= queues_of_firing
    assert all(len(holds.get(name, set()) & still_open) <= 1 for name in firing)
    assert all(any(key in named[queue] for queue in queues_of_firing) for key in still_open), "what is over is closed"


def test_further_alert_on_queues_that_a_page_names_joins_it_and_is_not_sent_apart() -> None:
    """People were called for these queues already: that they also stand still has another cause, and no other key."""
    sink = Receiver()
    sink.poll(0, [alert(queues=(AlertQueue("b", 0), AlertQueue("b", 1)))])
    sink.poll(70, [alert(kind="STALLED", cause="CLIENT_STALLED", at=70, seq=2, queues=(AlertQueue("b", 1),))])
    assert len({notice.key for notice in sink.told}) == 1
    sink.poll(90, [alert(kind="SLOW_CONSUMER", cause=None, at=90, seq=3, queues=(AlertQueue("b", 2),))])
    sink.poll(200)
    assert len({notice.key for notice in sink.told}) == 2, "another queue is another page"
