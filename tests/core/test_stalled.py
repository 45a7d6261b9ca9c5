"""Queues that stand still: by offsets alone, for as long as counts, and over only when they are seen to move."""

import pytest

from schemas.events import ConsumeProgress, QueueProgress
from schemas.facts import AlertFact
from tests.core.fleet import Fleet, queues, running, said

NO_OFFSETS = {"rate": 0, "progress_every": 0}


def offsets(fleet: Fleet, broker: int, consumer: int, pull: int, at: float | None = None, queue: int = 0) -> None:
    queues = (QueueProgress(queue, broker, consumer, pull),)
    fleet.say(ConsumeProgress, at, topic="T", broker_name="a", queues=queues)


def observed(fleet: Fleet, *observations: tuple[float, int, int, int]) -> str:
    """What is found of a0 at the round after the last observation: (second, broker, consumer and pull offset)."""
    for at, broker, consumer, pull in observations:
        fleet.run(at - fleet.now - 5)
        offsets(fleet, broker, consumer, pull, at - 1)
        fleet.run(5)
    return fleet.finding("a0").finding


@pytest.mark.parametrize(("last", "finding"), [(129.999, "MATCH"), (130.0, "STALLED")])
def test_a_queue_stands_still_after_60_s(last: float, finding: str) -> None:
    fleet = running(**NO_OFFSETS)
    fleet.run(5)
    offsets(fleet, 100, 50, 50, at=70)
    fleet.run(60)
    offsets(fleet, 200, 50, 50, at=last)
    fleet.run(5)
    assert fleet.finding("a0").finding == finding


def orderly_without(client_id: str = "") -> Fleet:
    """An orderly group, one client of which may have left a moment ago; a0 begins to stand still."""
    fleet = running(clients=("x", "y", "z"), how={"report": {"orderly": True}}, **NO_OFFSETS)
    fleet.leave(client_id)
    fleet.run(5)
    offsets(fleet, 100, 50, 50, at=70)
    return fleet


@pytest.mark.parametrize(("last", "is_stalled"), [(189.999, False), (190.0, True)])
def test_an_orderly_one_after_60_s_more_if_it_may_wait_for_a_lock(last: float, is_stalled: bool) -> None:
    """A broker keeps the locks of a client that left without a word for 60 s."""
    fleet = orderly_without("z")
    fleet.run(120)
    offsets(fleet, 200, 50, 50, at=last)
    fleet.run(5)
    assert (fleet.finding("a0").finding == "STALLED") is is_stalled


@pytest.mark.parametrize(("last", "finding"), [(129.999, "MATCH"), (130.0, "STALLED")])
def test_an_orderly_one_without_a_change_after_60_s(last: float, finding: str) -> None:
    """Nothing has changed: its owner is the one that had the lock all along."""
    fleet = orderly_without()
    fleet.run(60)
    offsets(fleet, 200, 50, 50, at=last)
    fleet.run(5)
    assert fleet.finding("a0").finding == finding


def test_an_orderly_one_that_stands_still_is_not_forgiven_when_a_client_leaves() -> None:
    fleet = orderly_without()
    fleet.run(60)
    offsets(fleet, 200, 50, 50, at=131)
    fleet.run(5)
    fleet.leave("z")
    offsets(fleet, 200, 50, 50, at=140)
    fleet.run(10)
    assert fleet.firing() == {("T", "STALLED")}
    assert fleet.finding("a0").finding == "STALLED"


@pytest.mark.parametrize(
    ("name", "second", "finding"),
    [
        ("nothing has moved", (200, 50, 50), "STALLED"),
        ("nothing was sent either", (100, 50, 50), "STALLED"),
        ("the consumer's offset has", (200, 51, 50), "MATCH"),
        ("the pull offset has", (200, 50, 51), "MATCH"),
        ("all is pulled and waits to be consumed", (100, 50, 100), "MATCH"),
        ("the offset was set back", (200, 40, 40), "MATCH"),
    ],
)
def test_it_moves_when_either_offset_does(name: str, second: tuple[int, int, int], finding: str) -> None:
    assert observed(running(**NO_OFFSETS), (70, 100, 50, 50), (135, *second)) == finding, name


def test_nothing_waits_where_everything_was_pulled() -> None:
    assert observed(running(**NO_OFFSETS), (70, 100, 50, 100), (135, 100, 50, 100)) == "MATCH"


def test_brokers_of_4_x_know_no_pull_offset() -> None:
    assert observed(running(**NO_OFFSETS), (70, 100, 50, -1), (135, 200, 50, -1)) == "STALLED"


def test_offsets_that_come_late_or_twice_change_nothing() -> None:
    fleet = running(**NO_OFFSETS)
    observed(fleet, (70, 100, 50, 50), (100, 150, 50, 50))
    offsets(fleet, 90, 40, 40, at=80)
    offsets(fleet, 150, 60, 60, at=99)
    assert observed(fleet, (135, 200, 50, 50)) == "STALLED"


def test_a_backlog_from_before_there_were_members_is_not_theirs() -> None:
    """The clock of a stall does not start before the topic had members."""
    fleet = Fleet(**NO_OFFSETS)
    for at in (10, 70):
        fleet.run(at - fleet.now)
        offsets(fleet, 100, 50, 50)
    fleet.join("x", "y")
    assert observed(fleet, (90, 100, 50, 50), (125, 100, 50, 50)) != "STALLED"
    assert observed(fleet, (140, 100, 50, 50)) == "STALLED"


def test_the_offsets_of_a_topic_that_was_consumed_once_say_nothing() -> None:
    """Brokers keep them for ever; a member that has not reported yet makes no subscriber of the group."""
    fleet = running(100, how={"topics": {"T": "*"}}, topics={"T": {"a": 4, "b": 4}, "once": {"a": 4}})
    assert fleet.finding("a0", "once").reason == "NOT_SUBSCRIBED"
    fleet.join("z", topics={"T": "*"}, answers=False)
    fleet.run(30)
    assert fleet.finding("a0", "once").finding == "UNKNOWN"
    assert fleet.fired() == set()


def test_a_stall_fires_at_once_since_it_has_waited() -> None:
    fleet = running()
    fleet.stick("a0")
    fleet.run(80)
    (pending, firing) = fleet.alerts("STALLED")
    assert pending[0] == firing[0]
    assert said(fleet.alert("STALLED")).startswith("260 messages wait, none pulled for 60 s")


def test_without_any_report_it_is_a_warning() -> None:
    fleet = Fleet(report_every=0)
    fleet.join("x", "y")
    fleet.stick()
    fleet.run(100)
    assert fleet.alert("STALLED").severity == "warning"


# --- when it is over


def test_it_is_over_when_it_is_seen_to_move() -> None:
    fleet = running()
    fleet.stick("a0")
    fleet.run(100)
    fleet.stick("")
    fleet.run(20)
    assert fleet.alerts("STALLED")[-1][1:] == ("resolved", "right_again")


def test_a_stall_whose_queue_turns_out_to_be_nobodys_goes_on_beside_the_worse_alert() -> None:
    fleet = running()
    fleet.pause("x")
    fleet.run(80)
    assert fleet.firing() == {("T", "STALLED")}
    for one in fleet.of("x"):
        one.answers, one.owned = True, set()
    fleet.run(30)
    assert fleet.firing() == {("T", "STALLED"), ("T", "ORPHANED")}
    assert not fleet.alert("STALLED").stale
    fleet.resume("x")
    fleet.run(30)
    assert fleet.firing() == set()


def test_a_queue_that_is_nobodys_and_stands_still_stays_nobodys_when_reports_get_lost() -> None:
    fleet = running()
    fleet.own("x", "a1-3")
    fleet.run(60)
    assert fleet.firing() == {("T", "ORPHANED")}
    fleet.of("y")[0].answers = False
    fleet.run(120)
    assert fleet.finding("a0").finding == "STALLED"
    assert ("T", "ORPHANED") in fleet.firing()
    assert fleet.alert("ORPHANED").stale


@pytest.mark.parametrize(("seconds", "progress_every"), [(130, 30), (155, 30), (150, 60)])
def test_a_queue_that_gets_an_owner_has_a_minute_before_it_is_stalled(seconds: float, progress_every: float) -> None:
    """It stood still because it was nobody's: the offsets from before say nothing of who has it now."""
    fleet = running(progress_every=progress_every)
    fleet.own("x", "a1-3")
    fleet.run(seconds)
    assert fleet.firing() == {("T", "ORPHANED")}
    fleet.own("x", "a0-3")
    fleet.run(100)
    assert fleet.fired() == {("T", "ORPHANED")}
    assert fleet.firing() == set()


def test_a_queue_that_was_nobodys_has_a_minute_when_its_group_is_repaired() -> None:
    """Until reports count again nobody is known to have it: that is no stall either."""
    fleet = running()
    fleet.own("x", "a1-3")
    fleet.run(150)
    fleet.leave("x")
    fleet.join("z")
    fleet.own("y", "b0-3")
    fleet.own("z", "a1-3")
    fleet.run(30)
    assert fleet.finding("a0").finding == "SETTLING"
    fleet.resume("y")
    fleet.resume("z")
    fleet.run(100)
    assert fleet.fired() == {("T", "ORPHANED")}
    assert fleet.firing() == set()


def test_and_is_stalled_after_that_minute_if_its_owner_does_not_move_it() -> None:
    fleet = running()
    fleet.own("x", "a1-3")
    fleet.run(150)
    fleet.stick("a0")
    fleet.own("x", "a0-3")
    fleet.run(60)
    assert fleet.firing() == set()
    fleet.run(40)
    assert fleet.firing() == {("T", "STALLED")}


@pytest.mark.parametrize(("progress_every", "delay"), [(30, 0), (20, 0), (20, 50)])
def test_a_queue_that_can_be_read_at_last_has_a_minute_too(progress_every: float, delay: float) -> None:
    """Messages waited in it before; clients learn of the route some time after it was mended."""
    fleet = Fleet({"T": {"a": (1, 2, 6)}}, progress_every=progress_every)
    (x,) = fleet.join("x")
    fleet.run(145)
    x.knows_route = False
    fleet.route("T", a=2)
    fleet.run(delay)
    x.knows_route = True
    fleet.balance()
    fleet.run(150)
    assert fleet.fired() == {("T", "UNREADABLE_QUEUES")}


@pytest.mark.parametrize(("seconds", "fires"), [(55, False), (120, True)])
def test_so_does_one_whose_owner_kept_it_while_it_could_not_be_read(seconds: float, fires: bool) -> None:
    """The permission to read is given back: people have just mended it, and are called if it goes on standing still."""
    fleet = running(200)
    owner = next(one for one in fleet.instances if queues("a0")[0] in one.owned)
    fleet.own(owner.client_id, " ".join(f"{q.broker_name}{q.queue_id}" for q in owner.owned if q.topic == "T"))
    fleet.route(a=(4, 4, 2), b=4)
    fleet.stick("a0-3")
    fleet.run(250)
    fleet.route(a=4, b=4)
    fleet.run(seconds)
    assert (("T", "STALLED") in fleet.firing()) is fires


def test_slow_turns_into_stalled_when_its_owner_has_nothing_in_hand_any_more() -> None:
    fleet = running()
    fleet.stick("a0-3")
    fleet.of("x")[0].busy = 9
    fleet.run(330)
    assert fleet.firing() == {("T", "SLOW_CONSUMER")}
    fleet.of("x")[0].busy = 0
    fleet.run(40)
    assert fleet.firing() == {("T", "STALLED")}
    assert fleet.alerts("SLOW_CONSUMER")[-1][1:] == ("resolved", "right_again")


@pytest.mark.parametrize(("moved", "finding"), [(True, "MATCH"), (False, "STALLED")])
def test_an_owner_that_has_just_finished_is_judged_by_the_offsets_that_follow(moved: bool, finding: str) -> None:
    fleet = running(**NO_OFFSETS)
    fleet.of("x")[0].busy = 9
    for broker in (100, 200, 300, 400):
        offsets(fleet, broker, 50, 50)
        fleet.run(100)
    assert fleet.finding("a0").finding == "SLOW_CONSUMER"
    fleet.of("x")[0].busy = 0
    fleet.run(25)
    assert fleet.finding("a0").finding == "SLOW_CONSUMER"
    offsets(fleet, 400, *((400, 400) if moved else (50, 50)))
    fleet.run(10)
    assert fleet.finding("a0").finding == finding
    assert ("T", "STALLED") in fleet.firing() or moved


def test_a_stall_is_over_when_consuming_is_forbidden() -> None:
    fleet = running()
    fleet.stick("a0")
    fleet.run(80)
    fleet.round_fields = {"consume_enable": False}
    fleet.run(20)
    assert fleet.finding("a0").finding == "CONSUME_DISABLED"
    assert fleet.firing() == set()


# --- retry topics


def retrying(rate: int) -> Fleet:
    """A retry topic's queue that nobody has, and messages in it or not."""
    fleet = running(clients=("x",), topics={"T": {"a": 2}, "%RETRY%g": {"a": 1}}, rate=rate)
    fleet.own("x", "", topic="%RETRY%g")
    return fleet.run(60)


def test_a_retry_queue_pages_only_if_messages_wait_in_it() -> None:
    assert retrying(rate=4).firing() == {("%RETRY%g", "ORPHANED")}
    quiet = retrying(rate=0)
    assert quiet.finding("a0", "%RETRY%g").finding == "ORPHANED"
    assert quiet.told(AlertFact) == []


def test_a_retry_queue_is_critical_only_while_messages_wait_in_it() -> None:
    fleet = retrying(rate=0)
    assert fleet.finding("a0", "%RETRY%g").severity == "info"
    since_ts = fleet.finding("a0", "%RETRY%g").since_ts
    fleet.rate = 4
    fleet.run(60)
    told = fleet.finding("a0", "%RETRY%g")
    assert (told.finding, told.severity, told.since_ts) == ("ORPHANED", "critical", since_ts)
    assert told.ended is not None
    assert (told.ended.finding, told.ended.severity) == ("ORPHANED", "info")
    fleet.run(60)
    assert fleet.finding("a0", "%RETRY%g") == told


def test_a_queue_is_told_as_severe_as_its_alert_whatever_becomes_of_it() -> None:
    """Brokers of the 4.x line, and a client that never answers."""
    fleet = Fleet()
    fleet.reports_pull_offsets = False
    fleet.join("x")
    fleet.join("y", answers=False, heartbeat={"message_model": "CLUSTERING"})
    fleet.run(60)
    fleet.stick("b0-3")
    severities = set()
    for _ in range(100):
        fleet.run(5)
        if fleet.findings()["b0"] == "STALLED":
            severities.add((fleet.finding("b0").severity, fleet.alert("STALLED").severity))
    assert severities
    assert all(of_queue == of_alert for of_queue, of_alert in severities)


def test_what_another_has_just_taken_over_is_not_his_doing() -> None:
    """A client that is stopped stays listed a while after the others have shared out its queues."""
    fleet = running()
    fleet.stick("a0-3")
    fleet.run(90)
    assert fleet.firing() == {("T", "STALLED")}
    fleet.pause("x")
    fleet.own("y", "a0-3 b0-3")
    fleet.of("y")[0].busy = 9
    fleet.run(50)
    assert fleet.fired() == {("T", "STALLED")}


def test_where_members_do_not_subscribe_to_the_topic_brokers_refuse_pulls() -> None:
    fleet = running()
    fleet.join("z", topics={"U": "*"})
    fleet.stick()
    fleet.run(150)
    assert fleet.alert("STALLED").cause == "SUBSCRIPTION_MISMATCH"


@pytest.mark.parametrize(("last", "fires"), [(129.999, set()), (130.0, {("T", "ORPHANED")})])
def test_a_queue_that_nobody_owns_and_that_stands_still_fires_at_once(last: float, fires: set[tuple[str, str]]) -> None:
    """Without the offsets all members must say again that they do not own it."""
    fleet = running(65, **NO_OFFSETS, report_every=0)
    offsets(fleet, 100, 50, 50, at=70)
    fleet.run(60)
    fleet.own("x", "a1-3")
    fleet.report("x", 127)
    fleet.report("y", 128)
    offsets(fleet, 200, 50, 50, at=last)
    fleet.run(5)
    assert fleet.finding("a0").finding == "ORPHANED"
    assert fleet.firing() == fires
