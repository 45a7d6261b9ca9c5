"""What the judge expects, by the truth: which causes are right beside those that the fault names, and what differs."""

from dataclasses import replace

import pytest

from bench.proof.deadlines import Deadlines
from bench.proof.detector import Detector
from bench.proof.expected_pages import ExpectedPages
from bench.proof.results import ActiveFault, ExpectedPage, Page
from schemas.facts import Kind
from schemas.identity import MessageQueue
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.simulation.faults import FAULT_NAMED
from streaming.simulation.simulated_group import OTHER_TOPIC, TOPIC, Shape, SimulatedGroup

SHAPE = Shape(clients=3, brokers=2, queues=4, strategy="AVG", orderly=False, version=5, rate=4)


class Judged:
    """A group in which something goes wrong, and what its pages are compared with."""

    def __init__(self, shape: Shape = SHAPE) -> None:
        self.group = SimulatedGroup(shape, "judged")
        self.detector = Detector(self.group.fleet, DEFAULT_SETTINGS)
        self.group.warm_up()
        self.active: list[ActiveFault] = []

    def run(self, seconds: float) -> None:
        self.group.fleet.run(seconds)

    def inject(self, name: str) -> None:
        """For as long as the test lasts."""
        from_ts = self.group.fleet.now
        FAULT_NAMED[name].inject(self.group)
        self.active.append(ActiveFault(FAULT_NAMED[name], from_ts, from_ts + 3_600_000))

    def nobodys(self) -> set[MessageQueue]:
        """Queues that have no owner now."""
        windows = self.group.fleet.truth.windows
        return {window.queue for window in windows if window.kind is Kind.ORPHANED and window.to_ts is None}

    def all_expected(self, pages: tuple[Page, ...] = ()) -> list[ExpectedPage]:
        """What had to be found."""
        deadlines = Deadlines(self.group, self.detector, self.active, DEFAULT_SETTINGS.timing)
        return ExpectedPages(self.group, self.active, deadlines, list(pages)).all()

    def expected(self, kind: Kind, pages: tuple[Page, ...] = ()) -> ExpectedPage:
        """What had to be found of this kind, first."""
        return next(one for one in self.all_expected(pages) if one.kind is kind)


def page_of(kind: Kind, cause: str, expected: ExpectedPage) -> Page:
    """One that was sent in time, of every queue."""
    queues = frozenset(
        MessageQueue(TOPIC, f"broker-{broker}", n) for broker in range(SHAPE.brokers) for n in range(SHAPE.queues)
    )
    return Page(kind, TOPIC, cause, "critical", expected.due_ts, queues, is_true=True, resolved_ts=expected.due_ts + 1)


# --- CLIENT_STALLED of a listener that hangs


@pytest.mark.deep_rows("a short measurement")
@pytest.mark.parametrize(
    ("cause", "is_right"), [("CLIENT_STALLED", True), ("MEMBER_GONE", False), ("ROUTE_LAG", False)]
)
def test_of_a_listener_that_hangs_no_other_cause_is_right_than_that_its_client_does_nothing(
    cause: str, is_right: bool
) -> None:
    """A client that is not heard: by its offsets its queues are STALLED, and its threads show the listener."""
    judged = Judged()
    judged.inject("stuck_code")
    judged.run(600)
    slow = judged.expected(Kind.SLOW_CONSUMER)
    judged.detector.collector.timeouts.append((slow.from_ts, "x"))
    judged_page = judged.expected(Kind.SLOW_CONSUMER, (page_of(Kind.STALLED, cause, slow),))
    assert judged_page.found is not None
    assert judged_page.cause_is_right is is_right


def test_a_page_about_who_owns_its_queues_is_none_of_a_listener_that_hangs() -> None:
    judged = Judged()
    judged.inject("stuck_code")
    judged.run(600)
    slow = judged.expected(Kind.SLOW_CONSUMER)
    judged.detector.collector.timeouts.append((slow.from_ts, "x"))
    assert judged.expected(Kind.SLOW_CONSUMER, (page_of(Kind.ORPHANED, "CLIENT_STALLED", slow),)).found is None


@pytest.mark.parametrize(("name", "kind"), [("not_taken_over", Kind.ORPHANED), ("clings", Kind.DUPLICATED)])
def test_no_client_is_stalled_where_another_kind_of_thing_is_wrong(name: str, kind: Kind) -> None:
    judged = Judged()
    judged.inject(name)
    judged.run(300)
    assert "CLIENT_STALLED" not in judged.expected(kind).causes


# --- ROUTE_LAG where rebalance threads hang


def hung(topic: str = TOPIC, before_s: float = 0, after_s: float = 0) -> Judged:
    """A client no longer rebalances; ``before_s`` before that, or after it, a topic gets twice as many queues."""
    judged = Judged()
    if before_s:
        judged.group.put_topic(2 * SHAPE.queues, topic)
        judged.run(before_s)
    judged.inject("clings")
    if after_s:
        judged.run(after_s)
        judged.group.put_topic(2 * SHAPE.queues, topic)
    judged.run(400)
    return judged


@pytest.mark.deep("a short measurement")
@pytest.mark.parametrize(("before_s", "after_s"), [(0, 1), (0, 30), (10, 0), (45, 0)])
def test_a_client_that_hangs_about_when_the_route_changes_goes_by_the_old_one(before_s: int, after_s: int) -> None:
    assert "ROUTE_LAG" in hung(before_s=before_s, after_s=after_s).expected(Kind.DUPLICATED).causes


@pytest.mark.deep("a short measurement")
@pytest.mark.parametrize("before_s", [0, 60])
def test_a_client_that_shared_out_the_new_route_before_it_hangs_does_not(before_s: int) -> None:
    assert "ROUTE_LAG" not in hung(before_s=before_s).expected(Kind.DUPLICATED).causes


def test_the_route_of_another_topic_is_no_cause() -> None:
    assert "ROUTE_LAG" not in hung(OTHER_TOPIC, after_s=1).expected(Kind.DUPLICATED).causes


def test_a_route_that_changes_after_a_page_was_due_is_no_cause() -> None:
    judged = hung()
    judged.group.put_topic(2 * SHAPE.queues)
    assert "ROUTE_LAG" not in judged.expected(Kind.DUPLICATED).causes


def test_where_clients_rebalance_a_route_that_changes_is_no_cause() -> None:
    judged = Judged()
    judged.inject("pull_service_dead")
    judged.run(200)
    judged.group.put_topic(SHAPE.queues + 1)
    judged.run(300)
    assert judged.expected(Kind.STALLED).causes == ("CLIENT_STALLED",)


# --- MEMBER_GONE where rebalance threads hang


@pytest.mark.parametrize(("leaves", "is_right"), [(1, True), (2, False)])
def test_who_left_is_a_cause_only_of_queues_that_were_his(leaves: int, is_right: bool) -> None:
    """The first client hangs, so it takes over nothing of what the second releases to it, or leaves behind."""
    judged = Judged()
    clients = list(judged.group.clients)
    judged.inject("clings")
    assert clients[0].rebalance.is_stuck
    judged.run(1)
    judged.group.fleet.leave(clients[leaves])
    judged.run(300)
    last_owners = {
        next(held.owners for held in reversed(judged.group.fleet.truth.held) if held.queue == queue and held.owners)
        for queue in judged.nobodys()
    }
    assert last_owners == {(clients[1].client_id,)}
    judged.group.fleet.leave(clients[3 - leaves])  # later than a page was due
    assert ("MEMBER_GONE" in judged.expected(Kind.ORPHANED).causes) is is_right


def test_of_two_owners_it_is_no_cause_that_a_third_client_left() -> None:
    judged = Judged()
    judged.inject("clings")
    judged.run(1)
    judged.group.fleet.leave(judged.group.clients[1])
    judged.run(300)
    assert judged.expected(Kind.DUPLICATED).causes == ("UNEXPLAINED",)


def test_who_left_is_no_cause_where_clients_rebalance() -> None:
    """By configuration a client's queues are in no other list."""
    judged = Judged(replace(SHAPE, strategy="CONFIG"))
    judged.inject("config_misses_queue")
    judged.group.fleet.leave(judged.group.clients[1])
    judged.run(300)
    assert judged.expected(Kind.ORPHANED).causes == ("CONFIG_MISSES_QUEUE",)


@pytest.mark.deep("a short measurement")
def test_that_rebalance_threads_hang_is_no_cause_of_what_is_found_of_the_group() -> None:
    judged = Judged()
    judged.inject("clings")
    judged.inject("different_filters")
    judged.group.put_topic(2 * SHAPE.queues)
    judged.group.fleet.leave(judged.group.clients[1])
    judged.run(400)
    assert judged.expected(Kind.INCONSISTENT_SUBSCRIPTION).causes == ("SUBSCRIPTION_MISMATCH",)


@pytest.mark.deep_rows("a short measurement")
@pytest.mark.parametrize(("when", "left"), [("before", 2), ("after", 2), ("before", 1), ("after", 1)])
def test_a_client_that_is_alone_differs_from_nobody(when: str, left: int) -> None:
    judged = Judged()
    if when == "before":
        stop(judged, left)
    judged.inject("different_filters")
    judged.run(1)
    if when == "after":
        stop(judged, left)
    judged.run(400)
    expected = {one.kind for one in judged.all_expected()}
    assert (Kind.INCONSISTENT_SUBSCRIPTION in expected) is (left == 1)


def stop(judged: Judged, count: int) -> None:
    """Some of those that subscribe as all did."""
    group = judged.group
    for client in [one for one in group.clients if one.client_id not in group.mismatched_clients][:count]:
        group.fleet.leave(client)


def test_a_process_that_is_stopped_subscribes_to_nothing_new() -> None:
    """Nobody could know of it: what it tells brokers waits until it goes on."""
    judged = Judged()
    paused = judged.group.clients[:-1]
    for client in paused:
        client.pause()
    judged.inject("different_filters")
    assert judged.group.mismatched_clients == {judged.group.clients[-1].client_id}
