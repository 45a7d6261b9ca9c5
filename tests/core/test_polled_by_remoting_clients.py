"""Queues of remoting clients that pop: they own none, and poll all queues of a broker at once, or single ones."""

from typing import Any

import pytest

from schemas.events import ANY_QUEUE, OwnedQueue, OwnedQueues, TopicPolls
from schemas.reasons import ReasonKind
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.state.group import Group
from tests.core import test_polled
from tests.core.fleet import Offsets, queues, said

BROKERS, PROXY = ("a", "b"), "proxy 10.0.0.5:8080"
QUEUES = tuple(f"{broker}{number}" for broker in BROKERS for number in range(4))


def report(*popped: int) -> dict[str, Any]:
    """What a client reports that pops these queues of both brokers."""
    pop = tuple(OwnedQueues("T", broker, tuple(map(OwnedQueue, popped))) for broker in BROKERS if popped)
    return {"owned": (), "pop": pop, "client_rebalance": False}


class Popping(test_polled.Popping):
    """Three clients. ``places``: what they poll, brokers or queues. ``rate`` 0: no message comes, and polls wait."""

    def __init__(self, *places: str, rate: int = 4, popped: tuple[int, ...] = (ANY_QUEUE,)) -> None:
        super().__init__(rate)
        self.proxies, self.proxy_heartbeat = {}, {}
        self.places = places
        self.popped = set(places)
        self.polls = dict.fromkeys(places, 2)
        self.round_fields = {"pop_topics": ("T",)}
        fields = {"is_pinned": True, "consumes": False, "heartbeat": {"language": "JAVA"}}
        self.join("x", "y", "z", report=report(*popped), **fields)
        for one in self.instances:
            one.owned = set()

    def found(self) -> dict[str, set[str]]:
        """Finding -> queues."""
        found: dict[str, set[str]] = {}
        for queue, finding in self.findings().items():
            found.setdefault(finding, set()).add(queue)
        return found


def at_any(rate: int = 4) -> Popping:
    fleet = Popping(*BROKERS, rate=rate)
    fleet.run(120)
    return fleet


def at_single(rate: int = 4) -> Popping:
    fleet = Popping(*QUEUES, rate=rate, popped=(0, 1, 2, 3))
    fleet.run(120)
    return fleet


@pytest.mark.parametrize("is_proxy_first", [False, True])
def test_clients_of_proxies_decide_which_rules_judge_a_mixed_group(is_proxy_first: bool) -> None:
    grpc = {PROXY: ("host-1@7@0@hoi3xrg8z9",)}
    fleet = Popping(*BROKERS)
    fleet.proxy_heartbeat = {"language": "JAVA", "consume_type": "CONSUME_PASSIVELY", "message_model": "CLUSTERING"}
    fleet.proxies = grpc if is_proxy_first else {}
    fleet.down = set(BROKERS) if is_proxy_first else set()
    fleet.run(30)
    fleet.proxies, fleet.down = grpc, set()
    fleet.run(60)
    evidence = GroupEvidence(Group(fleet.state, fleet.settings))
    assert {member.exclusion for member in evidence.members.values()} == {ReasonKind.POP, ReasonKind.PROXY_CLIENT}
    first = next(iter(evidence.members.values()))
    assert (first.exclusion is ReasonKind.PROXY_CLIENT) is is_proxy_first
    assert evidence.exclusion is ReasonKind.PROXY_CLIENT


@pytest.mark.parametrize("settled", [at_any, at_single])
@pytest.mark.parametrize("rate", [0, 4])
def test_a_group_that_polls_is_healthy(settled: Any, rate: int) -> None:
    fleet = settled(rate)
    assert fleet.found() == {"POLLED": set(QUEUES)}
    assert fleet.status().status == "healthy"
    fleet.run(1_200)
    assert fleet.status().status == "healthy"
    assert not fleet.fired()


@pytest.mark.parametrize("settled", [at_any, at_single])
def test_a_busy_group_of_which_no_poll_is_seen_is_healthy_by_its_offsets(settled: Any) -> None:
    fleet = settled()
    fleet.polls = dict.fromkeys(fleet.polls, 0)
    fleet.run(900)
    assert fleet.found() == {"POLLED": set(QUEUES)}
    assert fleet.status().status == "healthy"


def test_without_polls_the_topic_is_excluded_as_before() -> None:
    fleet = Popping(*BROKERS)
    fleet.polls = {}
    fleet.run(120)
    assert fleet.found() == {"EXCLUDED": set(QUEUES)}
    assert (fleet.status().status, fleet.status().reason) == ("excluded", "POP")


def test_a_client_that_has_nothing_to_pop_changes_nothing() -> None:
    fleet = at_any()
    fleet.instances[0].report = report()
    fleet.run(60)
    assert fleet.found() == {"POLLED": set(QUEUES)}
    assert fleet.status().status == "healthy"


def test_a_client_that_shares_out_queues_itself_is_no_polling_client() -> None:
    fleet = at_any()
    fleet.join("w")
    fleet.run(120)
    assert "POLLED" not in fleet.found()


def test_a_broker_that_nobody_polls_is_found() -> None:
    fleet = at_any()
    fleet.silence_idle_clients("a")
    fleet.run(120)
    alert = fleet.alert("UNPOLLED")
    assert (alert.state, alert.severity, alert.cause) == ("firing", "critical", "BROKER_NOT_REACHED")
    assert said(alert).endswith("; clients poll b meanwhile")
    assert {queue.broker_name for queue in alert.queues} == {"a"}
    fleet.popped, fleet.polls = set(BROKERS), dict.fromkeys(BROKERS, 2)
    fleet.run(60)
    assert fleet.alert("UNPOLLED").state == "resolved"
    assert fleet.found() == {"POLLED": set(QUEUES)}


def test_a_queue_that_nobody_polls_is_found_when_those_who_did_would_be_listed_no_more() -> None:
    fleet = at_single()
    fleet.silence_idle_clients("a2")
    fleet.run(240)
    assert fleet.found()["POLLED"] == set(QUEUES) - {"a2"}
    assert not fleet.fired()
    fleet.run(60)
    assert fleet.found()["UNPOLLED"] == {"a2"}
    alert = fleet.alert("UNPOLLED")
    assert [(queue.broker_name, queue.queue_id) for queue in alert.queues] == [("a", 2)]


def test_a_queue_that_nobody_ever_polled_is_found() -> None:
    fleet = Popping(*QUEUES, popped=(0, 1, 2, 3))
    (untouched,) = queues("a2")
    fleet.silence("a2")
    fleet.offsets = {untouched: Offsets(100, 0, 0, 0)}
    fleet.run(330)
    assert fleet.found() == {"UNPOLLED": {"a2"}, "POLLED": set(QUEUES) - {"a2"}}


def popping(*shares: tuple[int, ...]) -> Popping:
    """Each client pops these queues, the same ones of both brokers."""
    fleet = at_single()
    for one, share in zip(fleet.instances, shares, strict=True):
        one.report = report(*share)
    return fleet


def test_a_queue_that_no_client_reports_to_pop_is_found_soon() -> None:
    fleet = popping((0, 1), (1, 3), (3, 0))
    fleet.run(60)
    fleet.silence("a2", "b2")
    fleet.run(130)
    assert fleet.found() == {"UNPOLLED": {"a2", "b2"}, "POLLED": set(QUEUES) - {"a2", "b2"}}
    assert fleet.alert("UNPOLLED").cause == "UNEXPLAINED"


@pytest.mark.parametrize("lacking", ["a report", "a list", "single queues", "a process"])
def test_without_reports_of_all_that_takes_longer(lacking: str) -> None:
    fleet = popping((0, 1), (1, 3), (3, 0))
    if lacking == "a report":
        fleet.instances[0].answers = False
    elif lacking == "single queues":
        fleet.instances[0].report = report(ANY_QUEUE)
    fleet.run(100)
    if lacking == "a process":
        fleet.ghost("x")
    fleet.silence("a2", "b2")
    fleet.run(10)
    if lacking == "a list":
        fleet.no_lists = {"b"}
    fleet.run(120)
    assert not fleet.fired()


def test_two_instances_with_one_id_leave_a_queue_to_nobody() -> None:
    fleet = popping((0, 1), (1, 3), (3, 0))
    fleet.join("x", report=fleet.instances[0].report, is_pinned=True, consumes=False)
    fleet.instances[-1].owned = set()
    fleet.run(60)
    fleet.silence("a2", "b2")
    fleet.run(200)
    alert = fleet.alert("UNPOLLED")
    assert (alert.state, alert.cause) == ("firing", "SAME_CLIENT_ID")
    assert {queue.queue_id for queue in alert.queues} == {2}


@pytest.mark.parametrize(("settled", "kind"), [(at_any, "UNPOLLED"), (at_single, "UNKNOWN")])
def test_a_client_that_is_full_of_messages_is_not_silent(settled: Any, kind: str) -> None:
    """It goes on at other places meanwhile. At most it is info. Ten minutes are a stall."""
    fleet = settled()
    fleet.polls = dict.fromkeys(fleet.polls, 0)
    fleet.run(60)
    full = [place for place in fleet.places if place.startswith("a")]
    fleet.popped -= set(full)
    fleet.run(590)
    assert fleet.found() == {kind: set(QUEUES[:4]), "POLLED": set(QUEUES[4:])}
    assert not fleet.called()
    fleet.run(60)
    assert fleet.called() == {("T", "STALLED")}


@pytest.mark.slow("minutes and hours of a group are folded")
def test_nobody_is_called_when_the_setting_changes() -> None:
    """Brokers are asked about both for a while; then about single queues only."""
    fleet = at_any(rate=1)
    fleet.popped, fleet.polls = set(QUEUES), {**dict.fromkeys(BROKERS, 0), **dict.fromkeys(QUEUES, 1)}
    fleet.run(60)
    fleet.polls = dict.fromkeys(QUEUES, 1)
    for one in fleet.instances:
        one.report = report(0, 1, 2, 3)
    fleet.run(900)
    assert fleet.found() == {"POLLED": set(QUEUES)}
    assert not fleet.fired()
    fleet.popped, fleet.polls = set(BROKERS), dict.fromkeys(BROKERS, 3)
    fleet.run(900)
    assert fleet.found() == {"POLLED": set(QUEUES)}
    assert not fleet.fired()


@pytest.mark.parametrize("settled", [at_any, at_single])
def test_a_restart_of_a_broker_calls_nobody(settled: Any) -> None:
    fleet = settled()
    fleet.silence(*(place for place in fleet.places if place.startswith("a")))
    fleet.down = {"a"}
    fleet.run(40)
    fleet.restart_brokers("a")
    fleet.run(20)
    assert fleet.finding("a0").reason != "PROXY_AWAY"
    fleet.popped, fleet.polls = set(fleet.places), dict.fromkeys(fleet.places, 2)
    fleet.run(300)
    assert fleet.found() == {"POLLED": set(QUEUES)}
    assert not fleet.fired()


def test_a_topic_that_only_some_of_its_brokers_pop_is_not_healthy() -> None:
    fleet = at_any()
    fleet.round_fields["popped_in_part"] = ("T",)
    fleet.run(60)
    assert fleet.found() == {"UNKNOWN": set(QUEUES)}
    assert fleet.finding("a0").reason == "POPPED_IN_PART"
    assert fleet.status().status == "unknown"
    fleet.round_fields["popped_in_part"] = ()
    fleet.run(60)
    assert fleet.found() == {"POLLED": set(QUEUES)}


def test_polls_of_queues_that_the_route_does_not_have_are_not_kept() -> None:
    fleet = at_single()
    fleet.round(polls=(TopicPolls("a", "T", 4, fleet._ts(), 1), TopicPolls("a", "T", 3, fleet._ts(), 1)))
    (topic,) = (one for one in fleet.state.topics if one.name == "T")
    assert {polls.queue_id for polls in topic.polls} == {0, 1, 2, 3}


@pytest.mark.slow("minutes and hours of a group are folded")
def test_polls_of_single_queues_are_forgotten_when_clients_poll_no_more_there() -> None:
    fleet = at_single()
    fleet.popped, fleet.polls = set(BROKERS), dict.fromkeys(BROKERS, 2)
    fleet.idle(4_000)
    (topic,) = (one for one in fleet.state.topics if one.name == "T")
    assert [polls.queue_id for polls in topic.polls] == [ANY_QUEUE, ANY_QUEUE]


def test_state_is_packed_with_polls_of_single_queues() -> None:
    fleet = at_single()
    fleet.silence_idle_clients("a2")
    fleet.run(100)
    fleet.restart()
    fleet.run(200)
    assert fleet.found()["UNPOLLED"] == {"a2"}
