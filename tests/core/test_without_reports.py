"""What is found of a group whose clients are not asked: from lists, connections, subscriptions and offsets alone."""

from typing import Any

import pytest

from tests.core.fleet import Fleet, queues, said

NEVER = 0
RIVALS = {"rival_subscriptions": (("T",), ("U",))}


def unasked(**fields: Any) -> Fleet:
    return Fleet(report_every=NEVER, **fields)


def test_members_that_overwrite_each_others_subscriptions_are_found() -> None:
    fleet = unasked()
    fleet.join("x", "y")
    fleet.run(60)
    assert not fleet.firing()
    fleet.round_fields = RIVALS
    fleet.run(60)
    alert = fleet.alert("INCONSISTENT_SUBSCRIPTION", None)
    assert (alert.state, alert.severity, alert.cause) == ("firing", "warning", "SUBSCRIPTION_MISMATCH")
    assert said(alert) == "brokers show in turn: T; U: members overwrite each other's"
    fleet.round_fields = {}
    fleet.run(60)
    assert not fleet.firing()


def test_reports_of_all_members_say_more_than_what_brokers_show() -> None:
    fleet = Fleet()
    fleet.join("x", "y")
    fleet.round_fields = RIVALS
    fleet.run(90)
    assert not fleet.firing()


@pytest.mark.parametrize(
    ("report", "finding"),
    [
        (None, "EXCLUDED"),
        ({}, "EXCLUDED"),
        ({"client_rebalance": True}, "MATCH"),
        ({"client_rebalance": False}, "EXCLUDED"),
    ],
)
def test_topic_that_is_set_to_pop_is_excluded_unless_a_member_says_that_it_balances_itself(
    report: dict[str, bool] | None, finding: str
) -> None:
    fleet = unasked() if report is None else Fleet()
    fleet.join("x", report=report or {})
    fleet.round_fields = {"pop_topics": ("T",)}
    fleet.run(60)
    assert set(fleet.findings().values()) == {finding}


@pytest.mark.parametrize(("twice", "cause"), [(True, "SAME_CLIENT_ID"), (False, "VIEW_DIVERGENCE")])
def test_queues_that_nobody_consumes_are_found_with_their_cause(twice: bool, cause: str) -> None:
    fleet = unasked()
    fleet.join("x", "x" if twice else "y")
    if not twice:
        fleet.of("y")[0].brokers = ("a",)
    fleet.run(200)
    fleet.stuck.update(queues("b0-3"))
    fleet.run(120)
    alert = fleet.alert("STALLED", "T")
    assert (alert.state, alert.severity, alert.cause) == ("firing", "warning", cause)


def test_standing_still_since_the_start_of_clients_that_were_not_asked_is_no_proof() -> None:
    """Brokers of the 4.x line do not tell whether messages were pulled, and nobody has said anything."""
    fleet = unasked(progress_every=20)
    fleet.reports_pull_offsets = False
    fleet.join("x", "y")
    fleet.stuck.update(queues("a0-3"))
    fleet.run(100)
    assert fleet.fired() == set()
