"""Queues of which nothing is consumed: a batch that takes long, a listener that hangs, a client that is silent."""

import pytest

from schemas.facts import AlertFact, QueueFact
from tests.core.fleet import Fleet, running, said


def healthy(**fields: object) -> Fleet:
    return running(progress_every=20, **fields)


def found_of(fleet: Fleet, queue: str) -> set[str]:
    """Everything that was ever found of a queue."""
    told = [fact.payload for fact in fleet.told(QueueFact)]
    return {one.finding for one in told if f"{one.broker_name}{one.queue_id}" == queue}


# --- a listener that hangs


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("orderly", [False, True])
@pytest.mark.parametrize("reports_pull_offsets", [True, False])
@pytest.mark.parametrize("hung", ["a0", "a0-3", "a0-3 b0-3"])
@pytest.mark.parametrize("rate", [1, 4, 20])
def test_a_listener_that_hangs_for_ten_minutes_is_told(
    rate: int, hung: str, reports_pull_offsets: bool, orderly: bool
) -> None:
    fleet = Fleet(progress_every=20, rate=rate)
    fleet.reports_pull_offsets = reports_pull_offsets
    fleet.join("x", "y", report={"orderly": orderly})
    fleet.run(120)
    fleet.hang(hung)
    fleet.run(450)
    assert fleet.fired() == {("T", "SLOW_CONSUMER")}
    assert fleet.alert("SLOW_CONSUMER").severity == "warning"
    assert {f"{queue.broker_name}{queue.queue_id}" for queue in fleet.alert("SLOW_CONSUMER").queues} == {
        f"{word[0]}{n}" for word in hung.split() for n in (range(4) if "-" in word else (0,))
    }
    fleet.hang("")
    fleet.run(40)
    assert fleet.firing() == set()
    assert fleet.alerts("SLOW_CONSUMER")[-1][1:] == ("resolved", "right_again")


def test_one_message_that_nobody_finishes_is_told_too() -> None:
    fleet = healthy()
    fleet.hang("a0")
    fleet.run(5)
    fleet.rate = 0
    fleet.run(360)
    assert fleet.firing() == {("T", "SLOW_CONSUMER")}
    assert "unconsumed messages" in said(fleet.alert("SLOW_CONSUMER"))


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("reports_pull_offsets", [True, False])
@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("rate", [1, 50])
def test_batches_of_three_minutes_are_no_fault(rate: int, answers: bool, reports_pull_offsets: bool) -> None:
    fleet = Fleet(progress_every=20, rate=rate)
    fleet.reports_pull_offsets = reports_pull_offsets
    fleet.join("x", "y", answers=answers)
    fleet.run(120)
    for _ in range(6):
        fleet.hang()
        fleet.run(180)
        fleet.hang("")
        fleet.run(5)
    assert fleet.fired() == set()


def test_a_batch_that_a_rebalance_interrupts_begins_again() -> None:
    fleet = healthy()
    fleet.hang()
    fleet.run(170)
    fleet.join("z")
    fleet.run(200)
    assert fleet.fired() == set()
    fleet.run(120)
    assert ("T", "SLOW_CONSUMER") in fleet.firing()


def test_a_listener_that_hangs_while_others_come_and_go_is_told() -> None:
    fleet = healthy()
    fleet.hang("a0")
    for _ in range(6):
        fleet.join("z", brokers=("b",))
        fleet.run(50)
        fleet.leave("z")
        fleet.run(50)
    assert ("T", "SLOW_CONSUMER") in fleet.fired()


def test_lost_events_do_not_hide_it() -> None:
    """An offset that is the same before and after has not moved in between."""
    fleet = healthy()
    fleet.hang("a0")
    for _ in range(20):
        fleet.run(25)
        fleet.seq += 1
    assert ("T", "SLOW_CONSUMER") in fleet.fired()


def test_pull_consumers_that_store_their_offset_seldom_are_no_fault() -> None:
    """They commit when they like, a stream processor at its checkpoints: that they pull shows that they work."""
    fleet = Fleet(progress_every=20)
    for one in fleet.join("x", "y"):
        one.heartbeat = {"consume_type": "CONSUME_ACTIVELY"}
    fleet.run(60)
    fleet.hang()
    fleet.run(240)
    assert fleet.fired() == set()


def test_messages_that_are_filtered_and_not_committed_are_no_fault() -> None:
    """Some SDKs store no offset for what their filter skips: pushConsumer.correctTagsOffset of Go up to 2.1.0."""
    fleet = healthy()
    for offsets in fleet.offsets.values():
        offsets.consumed_ts = 0
    fleet._consume = lambda queue, offsets: setattr(offsets, "pulled", offsets.broker)  # type: ignore[method-assign]
    fleet.run(600)
    assert fleet.fired() == set()


# --- silence


@pytest.mark.parametrize("times", [1, 2])
def test_a_request_that_timed_out_turns_nothing_slow_into_a_stall(times: int) -> None:
    """The last report counts until it is too old."""
    fleet = healthy()
    fleet.hang("a0-3")
    fleet.run(340)
    assert fleet.firing() == {("T", "SLOW_CONSUMER")}
    (x,) = fleet.of("x")
    for _ in range(3):
        x.answers = False
        fleet.run(20 * times)
        x.answers = True
        fleet.run(60)
    assert fleet.fired() == {("T", "SLOW_CONSUMER")}
    assert found_of(fleet, "a0") == {"MATCH", "SLOW_CONSUMER"} | (found_of(fleet, "a0") & {"UNKNOWN", "SETTLING"})
    assert [reason for _, _, reason in fleet.alerts()] == ["found", "held_long_enough"]


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("busy", [0, 9])
@pytest.mark.parametrize("reports_pull_offsets", [True, False])
def test_a_client_that_is_stopped_is_stalled_soon_whatever_it_held(busy: int, reports_pull_offsets: bool) -> None:
    fleet = Fleet(progress_every=20)
    fleet.reports_pull_offsets = reports_pull_offsets
    fleet.join("x", "y")
    fleet.of("x")[0].busy = busy
    fleet.run(60)
    fleet.pause("x")
    fleet.run(130)
    assert fleet.fired() == {("T", "STALLED")}
    alert = fleet.alert("STALLED")
    assert (alert.severity, alert.cause) == ("critical", "CLIENT_STALLED")
    fleet.run(400)
    assert fleet.fired() == {("T", "STALLED")}


def test_one_time_out_is_not_named_as_a_silent_client() -> None:
    fleet = healthy()
    fleet.stick("a0-1")
    fleet.run(55)
    fleet.of("x")[0].answers = False
    fleet.run(25)
    assert fleet.firing() == {("T", "STALLED")}
    assert "not answered" not in said(fleet.alert("STALLED"))


# --- clients that have never spoken


def mute(reports_pull_offsets: bool, rate: int = 4) -> Fleet:
    fleet = Fleet(progress_every=20, rate=rate)
    fleet.reports_pull_offsets = reports_pull_offsets
    fleet.join("x", "y", answers=False)
    return fleet.run(60)


def test_without_reports_and_pull_offsets_a_stall_is_what_no_batch_takes() -> None:
    fleet = mute(reports_pull_offsets=False)
    fleet.stick("a0")
    fleet.run(290)
    assert fleet.fired() == set()
    fleet.run(60)
    assert fleet.firing() == {("T", "STALLED")}
    alert = fleet.alert("STALLED")
    assert alert.severity == "warning"
    assert "messages wait, none consumed for 3" in said(alert)
    assert "answered" not in said(alert)


def test_pull_offsets_tell_that_nobody_holds_any() -> None:
    fleet = mute(reports_pull_offsets=True)
    fleet.stick("a0")
    fleet.run(100)
    assert fleet.firing() == {("T", "STALLED")}
    assert fleet.alert("STALLED").severity == "warning"


def test_pull_offsets_tell_a_listener_that_hangs() -> None:
    fleet = mute(reports_pull_offsets=True)
    fleet.hang("a0")
    fleet.run(290)
    assert fleet.fired() == set()
    fleet.run(60)
    assert fleet.firing() == {("T", "SLOW_CONSUMER")}
    assert "were pulled, none consumed for 3" in said(fleet.alert("SLOW_CONSUMER"))


def test_who_has_room_for_more_and_pulls_none_has_stopped() -> None:
    """Its owner died with a few messages in hand, and nobody has taken the queue over."""
    fleet = mute(reports_pull_offsets=True)
    fleet.hang("a0")
    fleet.run(10)
    fleet.stick("a0")
    fleet.run(350)
    assert fleet.fired() == {("T", "STALLED")}


# --- what is read in the wrong order


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize("after", [0, 4, 9, 14, 19])
@pytest.mark.parametrize("reports_pull_offsets", [True, False])
def test_who_has_just_finished_is_judged_by_offsets_that_follow(reports_pull_offsets: bool, after: int) -> None:
    """It has nothing in hand when it is asked, and the offsets that were read before still stand."""
    fleet = Fleet(progress_every=20, every=1, rate=20)
    fleet.reports_pull_offsets = reports_pull_offsets
    fleet.join("x", "y")
    fleet.run(60 + after)
    fleet.hang()
    fleet.run(180)
    fleet.hung = set()
    kept, fleet.progress_every = fleet.progress_every, 0
    fleet.run(19)
    assert fleet.fired() == set()
    fleet.progress_every = kept
    fleet.run(60)
    assert fleet.fired() == set()


# --- first causes


def twice(**fields: object) -> Fleet:
    fleet = Fleet(progress_every=20, **fields)
    fleet.join("x", "y")
    fleet.run(60)
    return fleet


def causes(fleet: Fleet) -> list[str | None]:
    """Of everything that was told of alerts while they fired."""
    told = [fact.payload for fact in fleet.told(AlertFact)]
    return [alert.cause for alert in told if alert.state == "firing"]


@pytest.mark.parametrize("answers", [True, False])
def test_an_id_that_is_listed_twice_is_told_once_it_is_known_what_it_is(answers: bool) -> None:
    """Two processes: of the second share nobody takes care, and only the first is ever heard."""
    fleet = twice()
    fleet.join("x", answers=answers)
    fleet.of("x")[1].report, fleet.of("x")[1].answers = {}, answers
    fleet.run(300)
    assert set(causes(fleet)) == {"SAME_CLIENT_ID"}
    assert min(at for at, state, _ in fleet.alerts() if state == "firing") < 60 + 200


def test_a_dead_connection_that_goes_calls_nobody() -> None:
    fleet = twice()
    ghost = fleet.ghost("x")
    fleet.run(130)
    assert fleet.finding("b0").cause == "STALE_CONNECTION"
    fleet.drop(ghost)
    fleet.run(100)
    assert fleet.fired() == set()


def test_an_id_that_stays_listed_twice_is_told_though_its_addresses_change() -> None:
    fleet = twice()
    ghost = fleet.ghost("x")
    for _ in range(6):
        fleet.run(50)
        fleet.drop(ghost)
        ghost = fleet.ghost("x")
    assert ("T", "STALLED") in fleet.fired()


def test_the_first_instance_that_answers_after_the_second_has_started_proves_it() -> None:
    fleet = twice()
    fleet.join("x")
    first, second = fleet.of("x")
    second.start_ts = first.start_ts + 3_600_000
    fleet.run(55)
    fleet.join("z", brokers=("b",))  # another change of the list that holds it twice
    first.answers = False
    fleet.run(60)
    assert "STALE_CONNECTION" not in causes(fleet)


def test_brokers_that_show_subscriptions_in_turn_say_why_pulls_are_refused() -> None:
    """Before all have reported: nobody is known not to subscribe."""
    fleet = Fleet(progress_every=20)
    fleet.join("x", "y", answers=False)
    fleet.run(60)
    fleet.round_fields = {"rival_subscriptions": (("T",), ("U",))}
    fleet.stick("b0-3")
    fleet.run(150)
    assert fleet.firing() == {("", "INCONSISTENT_SUBSCRIPTION"), ("T", "STALLED")}
    assert set(causes(fleet)) == {"SUBSCRIPTION_MISMATCH"}


# --- a topic that nobody subscribes to any more


def test_a_topic_that_a_deploy_drops_is_no_more_of_the_group() -> None:
    """Others still write to it, and its clients never say what they subscribe to."""
    fleet = Fleet({"T": {"a": 4, "b": 4}, "U": {"a": 4}}, progress_every=20)
    fleet.join("x", "y", answers=False)
    fleet.round_fields = {"subscribed": ("T", "U")}
    fleet.run(60)
    fleet.leave("x", "y")
    fleet.join("v", "w", answers=False, topics={"T": "*"})
    fleet.round_fields = {"subscribed": ("T",)}
    fleet.run(600)
    assert fleet.fired() == set()
    assert fleet.finding("a0", "U").reason == "NOT_SUBSCRIBED"
    fleet.stick("a0")
    fleet.run(120)
    assert fleet.firing() == {("T", "STALLED")}


def test_a_stall_of_a_topic_ends_when_nobody_subscribes_to_it_any_more() -> None:
    fleet = Fleet({"T": {"a": 4, "b": 4}, "U": {"a": 4}}, progress_every=20)
    fleet.join("x", "y", answers=False)
    fleet.round_fields = {"subscribed": ("T", "U")}
    fleet.run(60)
    fleet.stick("a0-3", topic="U")
    fleet.run(100)
    assert fleet.firing() == {("U", "STALLED")}
    fleet.round_fields = {"subscribed": ("T",)}
    fleet.run(140)
    assert fleet.firing() == set()


def test_topics_that_members_show_in_turn_stay_of_the_group() -> None:
    fleet = Fleet({"T": {"a": 4, "b": 4}, "U": {"a": 4}}, progress_every=20)
    fleet.join("x", "y", answers=False)
    fleet.run(60)
    fleet.stick("a0-3", topic="U")
    for turn in range(20):
        fleet.round_fields = {"subscribed": ("T", "U")[turn % 2 :][:1]}
        fleet.run(20)
    assert ("U", "STALLED") in fleet.firing()


# --- queues that nobody consumed for another reason


def test_queues_that_were_nobodys_are_no_slow_consumer_when_they_are_taken_over() -> None:
    """Their new owner has a backlog in hand at once, and it has not held that for ten minutes."""
    fleet = healthy()
    fleet.own("x", "")
    fleet.stick("a0-3")
    fleet.run(600)
    assert ("T", "ORPHANED") in fleet.firing()
    for one in fleet.of("x"):
        one.is_pinned = False
    fleet.balance()
    fleet.hang("a0-3")
    fleet.stick("")
    fleet.run(250)
    assert "SLOW_CONSUMER" not in {kind for _, kind in fleet.fired()}
    fleet.run(300)
    assert ("T", "SLOW_CONSUMER") in fleet.fired(), "by then the new owner has"


def test_stall_that_is_proven_is_none_of_a_client_that_joins_and_was_not_heard() -> None:
    fleet = healthy()
    fleet.hang("a0")
    fleet.run(60)
    fleet.pause("x")
    fleet.run(160)
    assert ("T", "STALLED") in fleet.firing()
    fleet.leave("x")
    for n in range(6):
        fleet.join(f"mute-{n}", answers=False)
        fleet.run(40)
        fleet.leave(f"mute-{n}")
        fleet.run(20)
    assert fleet.now < 670, "then the ten minutes are over, and y holds messages"
    assert "SLOW_CONSUMER" not in {kind for _, kind in fleet.fired()}


@pytest.mark.parametrize("in_hand", [0, 1, 20])
def test_client_that_is_stopped_with_a_few_messages_in_hand_is_stalled_before_its_report_is_old(in_hand: int) -> None:
    """A slow listener would have gone on pulling."""
    fleet = healthy()
    if in_hand:
        fleet.hang("a0")
        fleet.run(5)
    fleet.pause("x")
    fleet.run(105)
    assert fleet.firing() == {("T", "STALLED")}
    assert fleet.alert("STALLED").cause == "CLIENT_STALLED"
    fleet.resume("x")
    fleet.hang("")
    fleet.run(60)
    assert fleet.firing() == set()
    assert len(fleet.fired()) == 1
