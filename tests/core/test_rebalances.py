"""Rebalances as facts: what set one off, when it was over, what it cost, and how little would have been enough."""

import pytest

from schemas.facts import RebalanceFact
from tests.core.fleet import T0, Fleet, running


def healthy(*client_ids: str, **fields: object) -> Fleet:
    fleet = running(clients=client_ids or ("x", "y"), report_every=5, rate=0, **fields)
    fleet.facts.clear()
    return fleet


def rebalances(fleet: Fleet) -> list[RebalanceFact]:
    return [fact.payload for fact in fleet.told(RebalanceFact)]


def test_a_group_at_rest_has_no_rebalance() -> None:
    assert rebalances(healthy().run(300)) == []


@pytest.mark.parametrize("late", [(), ("b",)], ids=["all brokers at once", "one broker later"])
def test_a_group_that_is_seen_for_the_first_time_has_no_rebalance(late: tuple[str, ...]) -> None:
    fleet = Fleet(report_every=20, rate=0)
    fleet.no_lists.update(late)
    fleet.join(*(f"c{number}" for number in range(40)))
    fleet.run(10)
    fleet.no_lists.clear()
    fleet.run(120)
    assert rebalances(fleet) == []


def test_nobody_lacks_an_owner_before_every_member_was_heard() -> None:
    fleet = healthy()
    (z,) = fleet.join("z", answers=False)
    fleet.run(40)
    z.answers = True
    fleet.run(40)
    (told,) = rebalances(fleet)
    assert (told.joined, told.duplicated_ms, told.orphaned_ms) == (("z",), 0, 0)


def test_a_join_that_is_taken_up_at_once() -> None:
    fleet = healthy()
    fleet.join("z")
    fleet.run(30)
    (told,) = rebalances(fleet)
    assert told == RebalanceFact(
        trigger="join",
        joined=("z",),
        left=(),
        topics=("T",),
        from_ts=T0 + 65_000,
        to_ts=T0 + 70_000,
        converged=True,
        queues_moved=3,  # x a0-2, y a3 b0-1, z b2-3: of x one, of y two
        fewest_moves=2,
        duplicated_ms=0,
        orphaned_ms=0,
    )


@pytest.mark.parametrize(
    ("change", "trigger"),
    [
        (lambda fleet: fleet.join("z"), "join"),
        (lambda fleet: fleet.leave("y"), "leave"),
        (lambda fleet: (fleet.join("z"), fleet.leave("y")), "join and leave"),
        (lambda fleet: fleet.route("T", a=4, b=6), "route"),
        (lambda fleet: fleet.own("y", "a0 b0-3"), "not seen"),
    ],
    ids=["join", "leave", "join and leave", "route", "not seen"],
)
def test_what_set_it_off(change: object, trigger: str) -> None:
    fleet = healthy()
    change(fleet)  # type: ignore[operator]
    fleet.run(20)
    fleet.thaw()
    fleet.run(60)
    (told,) = rebalances(fleet)
    assert (told.trigger, told.converged) == (trigger, True)


def test_a_change_that_is_seen_a_round_after_its_effect_names_its_trigger() -> None:
    fleet = healthy()
    (z,) = fleet.join("z", brokers=())
    z.owned = set()
    fleet.own("y", "b0-2")
    fleet.run(5)
    z.brokers = None
    fleet.thaw()
    fleet.run(30)
    (told,) = rebalances(fleet)
    assert (told.trigger, told.joined) == ("join", ("z",))


def test_queue_milliseconds_with_two_owners_and_with_none() -> None:
    fleet = healthy()
    fleet.own("x", "a0-3 b0")  # b0 twice
    fleet.own("y", "b0-2")  # b3 by nobody
    fleet.join("z")
    fleet.of("z")[0].owned = set()
    fleet.of("z")[0].is_pinned = True
    fleet.run(20)
    fleet.thaw()
    fleet.run(30)
    (told,) = rebalances(fleet)
    assert (told.from_ts, told.to_ts) == (T0 + 65_000, T0 + 85_000)
    assert (told.duplicated_ms, told.orphaned_ms) == (15_000, 15_000)


@pytest.mark.slow("minutes and hours of a group are folded")
def test_one_that_never_ends_is_given_up_after_ten_minutes() -> None:
    fleet = healthy()
    fleet.own("y", "a0 b0-3")
    fleet.run(700)
    (told,) = rebalances(fleet)
    assert not told.converged
    assert told.to_ts - told.from_ts == 600_000
    fleet.run(700)
    assert len(rebalances(fleet)) == 1


def test_changes_while_it_goes_on_belong_to_it() -> None:
    fleet = healthy()
    fleet.freeze()
    fleet.join("z")
    fleet.run(10)
    fleet.leave("z")
    fleet.route("T", a=4, b=3)
    fleet.run(10)
    fleet.thaw()
    fleet.run(30)
    (told,) = rebalances(fleet)
    assert (told.joined, told.left, told.topics) == (("z",), ("z",), ("T",))


def test_retry_topics_are_left_out() -> None:
    fleet = healthy(topics={"T": {"a": 2}, "%RETRY%g": {"a": 1}})
    fleet.route("%RETRY%g", a=1, b=1)
    fleet.run(10)
    assert rebalances(fleet) == []


def test_a_topic_that_is_new_to_the_group_is_no_rebalance() -> None:
    fleet = healthy()
    fleet.route("U", a=1)
    fleet.run(100)
    assert rebalances(fleet) == []


def test_broadcasting_counts_no_owners() -> None:
    fleet = Fleet(report_every=5)
    fleet.join("x", "y", report={"message_model": "BROADCASTING"})
    fleet.run(60)
    fleet.facts.clear()
    fleet.join("z", report={"message_model": "BROADCASTING"})
    fleet.run(60)
    (told,) = rebalances(fleet)
    assert (told.duplicated_ms, told.orphaned_ms) == (0, 0)
