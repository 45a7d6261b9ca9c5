"""Queues of gRPC clients, which own none: polled, polled by nobody, or not known."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict
from msgspec.structs import replace as with_fields

from schemas.events import TopicPolls
from schemas.facts import AlertFact, BrokerPolls, GroupFact, Kind, Severity
from schemas.identity import MessageQueue, proxy_name
from schemas.observed import BlockedQueue, HeadBlocked
from schemas.reasons import Reason, ReasonKind
from streaming.core.default_settings import DEFAULT_SETTINGS, DEFAULT_TIMING
from streaming.core.evidence.polls import PolledQueue
from streaming.core.findings.polled import judge_polled
from streaming.core.settings import GroupRule, Settings
from tests.core.fleet import Fleet, Offsets, running, said

A, B = proxy_name("10.0.0.5:8080"), proxy_name("10.0.0.6:8080")
JAVA = ("host-1@11@0@hoi3xrg9u3", "host-2@12@0@hoi3xrg9u4")
BROKERS = ("a", "b")


class Popping(Fleet):
    """gRPC clients behind two proxies. ``popped``: brokers where messages are taken; ``polls``: what waits at each.

    ``rate`` 0: no message comes, and polls wait; else messages wake them at once, and none is seen to wait.
    """

    def __init__(self, rate: int = 4, language: str = "JAVA", consume_type: str = "CONSUME_PASSIVELY") -> None:
        super().__init__(rate=rate, progress_every=20)
        self.proxies = {A: JAVA, B: JAVA}
        self.proxy_heartbeat = {"language": language, "consume_type": consume_type, "message_model": "CLUSTERING"}
        self.popped = set(BROKERS)
        self.polls = dict.fromkeys(BROKERS, 2)

    def silence(self, *brokers: str) -> None:
        """No client polls there any more."""
        self.popped -= set(brokers)
        self.polls |= dict.fromkeys(brokers, 0)

    def silence_idle_clients(self, *brokers: str) -> None:
        """The same, while no message comes: their polls waited when they were last seen."""
        rate, self.rate = self.rate, 0
        self.run(25)
        self.silence(*brokers)
        self.rate = rate

    def kinds(self) -> dict[str, set[str]]:
        """The findings of each broker's queues."""
        found: dict[str, set[str]] = {}
        for queue, finding in self.findings().items():
            found.setdefault(queue[0], set()).add(finding)
        return found


def settled(rate: int = 4, **fields: str) -> Popping:
    fleet = Popping(rate, **fields)
    fleet.run(120)
    return fleet


def unseen() -> Popping:
    """A busy group of which no poll is seen to wait."""
    fleet = busy()
    fleet.run(120)
    return fleet


def test_a_group_that_polls_is_healthy() -> None:
    for rate in (0, 4):
        fleet = settled(rate)
        assert fleet.kinds() == {"a": {"POLLED"}, "b": {"POLLED"}}
        assert fleet.status().status == "healthy"
        fleet.run(1200)
        assert fleet.status().status == "healthy"
        assert not fleet.fired()


def test_a_busy_group_of_which_no_poll_is_seen_is_healthy_by_its_offsets() -> None:
    fleet = busy()
    fleet.run(900)
    assert fleet.kinds() == {"a": {"POLLED"}, "b": {"POLLED"}}
    assert fleet.status().status == "healthy"


def test_without_polls_all_is_as_before() -> None:
    """A broker of the 4.x line, or an older collector."""
    fleet = Popping()
    fleet.polls = {}
    fleet.run(120)
    assert fleet.kinds() == {"a": {"EXCLUDED"}, "b": {"EXCLUDED"}}
    assert (fleet.status().status, fleet.status().reason) == ("excluded", "PROXY_CLIENT")
    fleet.silence("a", "b")
    fleet.run(700)
    assert ("T", "STALLED") in fleet.firing()


def test_a_broker_that_nobody_polls_is_found_soon() -> None:
    fleet = settled()
    fleet.silence_idle_clients("a")
    fleet.run(120)
    alert = fleet.alert("UNPOLLED")
    assert (alert.state, alert.severity, alert.cause) == ("firing", "critical", "BROKER_NOT_REACHED")
    assert {queue.broker_name for queue in alert.queues} == {"a"}
    assert "and no client has polled" in said(alert)
    assert fleet.kinds() == {"a": {"UNPOLLED"}, "b": {"POLLED"}}
    assert fleet.status().status == "findings"
    fleet.popped, fleet.polls = set(BROKERS), dict.fromkeys(BROKERS, 2)
    fleet.run(60)
    assert fleet.alert("UNPOLLED").state == "resolved"
    assert fleet.kinds() == {"a": {"POLLED"}, "b": {"POLLED"}}


@pytest.mark.parametrize("orderly", [False, True])
@pytest.mark.parametrize("group", [{}, {"consume_type": "CONSUME_ACTIVELY"}, {"language": "PYTHON"}])
def test_a_broker_that_lets_nobody_consume_is_found_soon_whoever_was_busy(group: dict[str, str], orderly: bool) -> None:
    """The last message was taken after the last poll that was seen to wait."""
    fleet = settled(**group)
    fleet.round_fields = {"orderly": orderly}
    fleet.run(60)
    fleet.silence("a")
    fleet.run(100)
    assert not fleet.called()
    fleet.closed = {"a"}
    fleet.run(40)
    assert fleet.called() == {("T", "UNPOLLED")}
    assert fleet.alert("UNPOLLED").cause == "BROKER_REFUSES_GROUP"
    assert "a has consumeEnable=false for the group, or has no such group" in said(fleet.alert("UNPOLLED"))
    assert (places(fleet)["a"].closed, places(fleet)["b"].closed) == (True, None)
    assert fleet.kinds() == {"a": {"UNPOLLED"}, "b": {"POLLED"}}
    fleet.closed, fleet.popped, fleet.polls = set(), set(BROKERS), dict.fromkeys(BROKERS, 2)
    fleet.run(60)
    assert fleet.alert("UNPOLLED").state == "resolved"


def test_a_broker_that_no_client_ever_reached_is_found() -> None:
    fleet = Popping()
    fleet.offsets = {MessageQueue("T", "a", n): Offsets(100, 0, 0, 0) for n in range(4)}
    fleet.silence("a")
    fleet.run(180)
    assert fleet.kinds()["a"] == {"UNPOLLED"}
    assert fleet.alert("UNPOLLED").state == "firing"


@pytest.mark.slow("minutes and hours of a group are folded")
def test_an_idle_group_without_messages_is_never_found_unpolled() -> None:
    fleet = settled(rate=0)
    fleet.silence("a", "b")
    fleet.run(3_600)
    assert fleet.kinds() == {"a": {"UNKNOWN"}, "b": {"UNKNOWN"}}
    assert fleet.finding("a0").reason == "NO_POLL_SEEN"
    assert not fleet.fired()


def test_a_client_that_is_busy_with_what_it_took_is_not_silent() -> None:
    """Its cache is full: it took messages after the last poll that was seen to wait. Ten minutes are a stall."""
    fleet = unseen()
    fleet.popped = set()
    fleet.run(590)
    assert fleet.kinds() == {"a": {"UNKNOWN"}, "b": {"UNKNOWN"}}
    assert not fleet.fired()
    fleet.run(60)
    assert fleet.firing() == {("T", "STALLED")}


def test_that_brokers_do_not_list_clients_of_proxies_explains_nothing() -> None:
    fleet = unseen()
    fleet.popped = set()
    fleet.run(700)
    assert (fleet.alert("STALLED").state, fleet.alert("STALLED").cause) == ("firing", "UNEXPLAINED")
    fleet.popped = set(BROKERS)
    fleet.run(60)
    assert fleet.alert("STALLED").state == "resolved"


def test_messages_that_are_given_out_again_are_messages_taken() -> None:
    """They are taken from the topic for retries by polls of the topic itself."""
    fleet = settled(rate=0)
    retry = MessageQueue("%RETRY%g_T", "a", 0)
    fleet.route(retry.topic, a=1)
    fleet.popped = set(BROKERS)
    fleet.run(60)
    fleet.offsets[retry].broker += 1
    fleet.polls = dict.fromkeys(BROKERS, 0)
    fleet.run(20)
    fleet.rate = 1
    fleet.popped = set()
    fleet.run(400)
    assert "UNPOLLED" not in fleet.kinds()["a"]
    assert "UNPOLLED" in fleet.kinds()["b"]


@pytest.mark.slow("minutes and hours of a group are folded")
def test_ten_minutes_end_in_one_page_not_in_two() -> None:
    fleet = settled()
    fleet.silence("a")
    fleet.run(1_200)
    assert fleet.fired() == {("T", "UNPOLLED")}
    fleet = unseen()
    fleet.popped = set()
    fleet.run(700)
    fleet.polls["a"] = 2  # it waits, though messages do: FIFO, or a broker in trouble
    fleet.run(60)
    fleet.polls["a"] = 0
    fleet.run(600)
    assert fleet.fired() == {("T", "STALLED")}


def test_of_a_fifo_group_that_nobody_is_seen_to_poll_it_is_not_known_why() -> None:
    fleet = Popping()
    fleet.round_fields = {"orderly": True}
    fleet.run(120)
    fleet.silence("a")
    fleet.run(500)
    assert fleet.kinds() == {"a": {"UNKNOWN"}, "b": {"POLLED"}}
    fleet.polls["a"] = 4  # its head is blocked: clients wait though messages do
    fleet.run(30)
    assert fleet.kinds()["a"] == {"HEAD_BLOCKED"}


def test_a_group_that_may_not_consume_is_not_unpolled() -> None:
    fleet = settled()
    fleet.round_fields = {"consume_enable": False}
    fleet.silence("a", "b")
    fleet.polls = {}
    fleet.run(900)
    assert fleet.kinds() == {"a": {"CONSUME_DISABLED"}, "b": {"CONSUME_DISABLED"}}
    assert not fleet.fired()


def test_a_simple_consumer_is_silent_for_as_long_as_its_application_does_not_ask() -> None:
    fleet = settled(consume_type="CONSUME_ACTIVELY")
    fleet.silence("a", "b")
    fleet.run(590)
    assert fleet.kinds() == {"a": {"UNKNOWN"}, "b": {"UNKNOWN"}}
    assert not fleet.fired()
    fleet.run(60)
    assert fleet.firing() == {("T", "STALLED")}


def test_a_simple_consumer_that_is_busy_with_its_other_topics_is_not_found() -> None:
    """receive() takes all topics in turn: meanwhile it is at one broker for this topic now and then."""
    fleet = settled(consume_type="CONSUME_ACTIVELY")
    fleet.silence("a")
    fleet.run(590)
    assert fleet.kinds()["a"] == {"UNKNOWN"}
    assert not fleet.fired()
    fleet.run(60)
    assert fleet.firing() == {("T", "STALLED")}


def test_clients_that_crash_and_are_started_again_call_nobody() -> None:
    """Their polls end within 20 s. A proxy lists them for 130 s; then the group has no members."""
    for back_s in (100, 220):
        fleet = settled()
        fleet.popped = set()
        fleet.run(20)
        fleet.polls = dict.fromkeys(BROKERS, 0)
        fleet.run(back_s)
        fleet.popped, fleet.polls = set(BROKERS), dict.fromkeys(BROKERS, 2)
        fleet.run(120)
        assert not fleet.fired(), back_s
        assert fleet.status().status == "healthy"


def test_clients_that_stay_listed_and_poll_nowhere_are_found() -> None:
    fleet = settled()
    fleet.silence_idle_clients("a", "b")
    fleet.run(240)
    assert not fleet.fired()
    fleet.run(60)
    assert fleet.firing() == {("T", "UNPOLLED")}


def test_a_client_that_is_full_of_messages_of_one_broker_may_take_those_of_others() -> None:
    """A push client counts what it has in hand by broker. After five minutes a listener that long is unlikely."""
    fleet = unseen()
    fleet.silence("a")
    fleet.run(60)
    assert not fleet.fired()
    fleet.run(60)
    assert (fleet.alert("UNPOLLED").state, fleet.alert("UNPOLLED").severity) == ("firing", "info")
    assert said(fleet.alert("UNPOLLED")).endswith(
        " messages wait, and no client has polled for 80 s; clients poll b meanwhile, and are connected to proxy"
        " 10.0.0.5:8080, 10.0.0.6:8080"
    )
    assert fleet.status().status == "settling"
    fleet.run(160)
    assert fleet.kinds() == {"a": {"UNPOLLED"}, "b": {"POLLED"}}
    assert not fleet.called()
    fleet.run(60)
    assert fleet.called() == {("T", "UNPOLLED")}


def test_what_called_nobody_three_times_does_not_keep_a_page_open() -> None:
    """Clients are full of the messages of one broker again and again. Then they are gone from it."""
    fleet = unseen()
    for silent_s in (120, 120, 120, 400):
        fleet.silence("a")
        fleet.run(silent_s)
        assert bool(fleet.called()) is (silent_s == 400)
        fleet.popped = set(BROKERS)
        fleet.run(120)
    alert = fleet.alert("UNPOLLED")
    assert (alert.state, alert.reason) == ("resolved", "right_again")
    assert alert.observed.fired_times is None


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_page_that_comes_for_the_third_time_stays_open_though_it_begins_as_a_hint() -> None:
    fleet = unseen()
    for silent_s in (400, 400, 900):  # a silence that it has shown twice is no sign of a fault
        fleet.silence("a")
        fleet.run(silent_s)
        fleet.popped = set(BROKERS)
        fleet.run(120)
    alert = fleet.alert("UNPOLLED")
    assert (alert.state, alert.reason) == ("firing", "comes_and_goes")
    assert alert.observed.fired_times == 3


def test_a_client_that_takes_nothing_elsewhere_may_be_full_for_ten_minutes() -> None:
    """It polls at the other broker, where no message comes."""
    fleet = unseen()
    fleet.silence("a")
    fleet.popped = set()
    fleet.polls = {"a": 0, "b": 2}
    fleet.run(600)
    assert fleet.alert("UNPOLLED").severity == "info"
    assert not fleet.called()
    fleet.run(60)
    assert fleet.called() == {("T", "STALLED")}


def test_messages_that_only_the_pull_offset_shows_are_taken() -> None:
    """popConsumerKVServiceEnable: the consumer offset stays at the begin of the last batch."""
    fleet = Popping()
    fleet.offsets = {MessageQueue("T", broker, n): Offsets(100, 0, 0, 0) for broker in BROKERS for n in range(4)}
    fleet.silence("a", "b")
    fleet.run(30)
    for offsets in fleet.offsets.values():
        offsets.pulled = 32
    fleet.run(500)
    assert fleet.kinds() == {"a": {"UNKNOWN"}, "b": {"UNKNOWN"}}
    assert not fleet.fired()


def test_pulls_are_signs_of_a_client() -> None:
    fleet = settled()
    fleet.silence("a")
    for _ in range(20):
        for queue, offsets in fleet.offsets.items():
            offsets.pulled += queue.broker_name == "a"
        fleet.run(20)
    assert fleet.kinds()["a"] == {"POLLED"}
    assert not fleet.fired()


def test_nothing_waits_where_all_has_been_pulled() -> None:
    fleet = Popping(rate=0)
    fleet.offsets = {MessageQueue("T", broker, n): Offsets(100, 70, 0, 100) for broker in BROKERS for n in range(4)}
    fleet.popped = set()
    fleet.run(120)
    fleet.silence("a", "b")
    fleet.run(500)
    assert not fleet.fired()


@pytest.mark.parametrize("clients", ["remoting", "C++"])
def test_a_group_that_is_moved_back_to_remoting_clients_is_judged_as_such(clients: str) -> None:
    fleet = settled()
    fleet.silence_idle_clients("a")
    fleet.run(150)
    assert fleet.alert("UNPOLLED").state == "firing"
    fleet.proxies, fleet.polls, fleet.popped = {A: (), B: ()}, {}, set()
    fleet.join("x", "y", answers=clients == "remoting")
    fleet.run(600)
    assert fleet.alert("UNPOLLED").state == "resolved"


# --- what facts say of polls


def places(fleet: Popping) -> dict[str, BrokerPolls]:
    return {one.broker_name: one for one in fleet.status().polls}


def test_the_status_says_where_clients_poll_and_when_that_was_read() -> None:
    fleet = settled(rate=0)
    fleet.run(400)
    a = places(fleet)["a"]
    assert (a.topic, a.queues, a.waiting, a.ready, a.taken_ts) == ("T", 4, 2, 0, None)
    assert a.read_ts == a.polled_ts == a.ready_ts
    assert fleet.told(GroupFact)[-1].ts - a.read_ts <= 20_000
    fleet.silence("a")
    fleet.rate = 4
    fleet.run(240)
    a, b = places(fleet)["a"], places(fleet)["b"]
    assert (a.waiting, a.polled_ts is not None, a.taken_ts) == (0, True, None)
    assert a.ready is not None
    assert a.ready > 0
    assert (b.ready, b.taken_ts is not None) == (0, True)


def test_what_is_not_known_of_polls_is_not_said_to_be_nothing() -> None:
    fleet = Popping()
    fleet.no_offsets = {"a"}
    fleet.polls = dict.fromkeys(BROKERS, 0)
    fleet.run(120)
    assert (places(fleet)["a"].ready, places(fleet)["a"].ready_ts, places(fleet)["a"].polled_ts) == (None, None, None)


def test_polls_that_change_are_told_every_five_minutes_at_most_and_others_each_hour() -> None:
    for rate, told in ((0, 1), (4, 12)):
        fleet = settled(rate)
        before = len(fleet.told(GroupFact))
        fleet.run(3_600)
        assert 0 <= len(fleet.told(GroupFact)) - before <= told
        assert (len(fleet.told(GroupFact)) - before > 6) is (rate > 0)


@pytest.mark.slow("minutes and hours of a group are folded")
def test_polls_of_the_past_are_neither_told_nor_kept() -> None:
    """The group consumes otherwise by now: brokers are asked no more how many polls wait."""
    fleet = settled(rate=0)
    fleet.polls = {}
    fleet.run(3_700)
    assert fleet.status().polls == ()
    fleet.idle(4_000)
    assert [topic.polls for topic in fleet.state.topics] == [[]]


def test_of_other_groups_no_poll_is_told() -> None:
    fleet = running()
    assert fleet.status().polls == ()


# --- lite topics


@pytest.mark.parametrize("after_s", [0, 120])
def test_nothing_is_judged_of_a_group_that_consumes_lite_topics(after_s: int) -> None:
    """Each lite topic has a queue of its own: of the parent topic no offset moves, and no poll waits for it."""
    fleet = Popping()
    fleet.run(after_s)
    fleet.round_fields = {"lite": True}
    fleet.silence("a", "b")
    fleet.run(900)
    assert fleet.kinds() == {"a": {"EXCLUDED"}, "b": {"EXCLUDED"}}
    assert (fleet.status().status, fleet.status().reason) == ("excluded", "LITE_TOPICS")
    assert fleet.status().waiting is None
    for offsets in fleet.offsets.values():
        offsets.consumer = offsets.pulled = 0
    fleet.run(300)
    fleet.proxies = {A: (), B: ()}
    fleet.run(900)
    assert not fleet.fired()


# --- proxies that restart


def restart(fleet: Popping, away_s: float = 30) -> None:
    """Both at once: clients are silent from now on. Another proxy has their settings, so they stay listed."""
    fleet.silence_idle_clients("a", "b")
    fleet.lose_sight_of(A, away_s)


def test_a_restart_of_a_proxy_is_waited_for() -> None:
    fleet = settled(language="GO")
    restart(fleet)
    fleet.run(80)
    assert fleet.kinds() == {"a": {"UNPOLLED"}, "b": {"UNPOLLED"}}
    fleet.run(220)
    assert fleet.status().status == "settling"
    fleet.popped, fleet.polls = set(BROKERS), dict.fromkeys(BROKERS, 2)
    fleet.run(300)
    assert fleet.status().status == "healthy"
    alerts = [fact.payload for fact in fleet.told(AlertFact)]
    assert {(one.severity, one.cause) for one in alerts} == {("info", "PROXY_AWAY")}
    assert alerts[-1].state == "resolved"


@pytest.mark.parametrize(("language", "within_s"), [("JAVA", 270), ("GO", 360)])
def test_clients_that_do_not_come_back_are_told_with_the_proxy(language: str, within_s: int) -> None:
    fleet = settled(language=language)
    restart(fleet)
    fleet.run(within_s - 60)
    assert not fleet.called()
    fleet.run(60)
    alert = fleet.alert("UNPOLLED")
    assert (alert.state, alert.cause) == ("firing", "PROXY_AWAY")
    assert "10.0.0.5:8080" in said(alert)
    assert {client.client_id for client in alert.clients} == set(JAVA)


@pytest.mark.parametrize("language", ["PYTHON", None])
def test_python_clients_may_come_back_after_ten_minutes(language: str | None) -> None:
    fleet = Popping()
    fleet.proxy_heartbeat["language"] = language
    fleet.run(120)
    restart(fleet)
    fleet.run(550)
    assert fleet.kinds() == {"a": {"UNPOLLED"}, "b": {"UNPOLLED"}}
    assert not fleet.called()
    fleet.run(70)
    assert fleet.called() == {("T", "UNPOLLED")}
    assert fleet.alert("UNPOLLED").cause == "PROXY_AWAY"


def test_a_busy_group_of_which_no_poll_was_seen_is_told_too() -> None:
    fleet = unseen()
    restart(fleet)
    fleet.run(260)
    assert not fleet.called()
    fleet.run(60)
    assert fleet.alert("UNPOLLED").cause == "PROXY_AWAY"


def busy(consume_type: str = "CONSUME_PASSIVELY", orderly: bool = False) -> Popping:
    fleet = Popping(consume_type=consume_type)
    fleet.polls = dict.fromkeys(BROKERS, 0)
    fleet.round_fields = {"orderly": orderly}
    return fleet


@pytest.mark.parametrize(
    "fields", [{"orderly": True}, {"consume_type": "CONSUME_ACTIVELY"}, {}], ids=["fifo", "simple", "push"]
)
def test_a_proxy_that_is_not_heard_for_a_moment_proves_nothing(fields: dict[str, object]) -> None:
    """The collector leaves a slow one alone for 5 s. Clients are served all the while, and busy then."""
    fleet = busy(**fields)  # type: ignore[arg-type]
    fleet.run(300)
    fleet.lose_sight_of(A, 5)
    fleet.silence("a", "b")
    fleet.run(500)
    assert not fleet.called()


@pytest.mark.parametrize("left", [(), JAVA[:1]], ids=["nobody", "some"])
def test_a_proxy_that_has_lost_its_clients_within_seconds_was_restarted(left: tuple[str, ...]) -> None:
    """Another proxy lists them for two minutes more."""
    fleet = settled(language="GO")
    fleet.no_lists = {A}
    fleet.silence("a", "b")
    fleet.run(5)
    fleet.no_lists = set()
    fleet.proxies[A] = left
    fleet.run(90)
    alert = fleet.alert("UNPOLLED")
    assert (alert.state, alert.severity, alert.cause) == ("firing", "info", "PROXY_AWAY")
    assert fleet.status().status == "settling"
    fleet.run(200)
    assert not fleet.called()
    fleet.run(350)
    assert fleet.called() == {("T", "UNPOLLED")}


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_proxy_that_was_removed_long_ago_proves_nothing() -> None:
    fleet = busy(orderly=True)
    fleet.run(120)
    fleet.no_lists = {B}
    fleet.run(600)
    fleet.no_lists = set()
    del fleet.proxies[B]
    fleet.idle(1_800)
    fleet.silence("a")
    fleet.run(500)
    assert fleet.kinds()["a"] == {"UNKNOWN"}
    assert not fleet.called()


def local(language: str) -> Popping:
    """Each broker runs a proxy, and lists its clients itself."""
    fleet = Popping()
    fleet.proxies = {}
    heartbeat = {"language": language, "consume_type": "CONSUME_PASSIVELY"}
    fleet.join(*JAVA, heartbeat=heartbeat, answers=False, consumes=False, is_pinned=True)
    fleet.run(300)
    assert fleet.kinds() == {"a": {"POLLED"}, "b": {"POLLED"}}
    return fleet


@pytest.mark.parametrize(("language", "back_s"), [("GO", 300), ("PYTHON", 540)])
def test_a_broker_that_restarts_in_local_mode_is_a_proxy_that_restarts(language: str, back_s: int) -> None:
    fleet = local(language)
    fleet.silence("a")
    fleet.down = {"a"}
    fleet.run(30)
    fleet.down, fleet.forgetful = set(), {"a"}
    fleet.run(back_s)
    assert fleet.kinds() == {"a": {"SETTLING"}, "b": {"POLLED"}}
    assert fleet.finding("a0").reason == "PROXY_AWAY"
    assert not fleet.called()
    fleet.forgetful, fleet.popped, fleet.polls = set(), set(BROKERS), dict.fromkeys(BROKERS, 2)
    fleet.run(120)
    assert fleet.kinds() == {"a": {"POLLED"}, "b": {"POLLED"}}
    assert not fleet.called()


def test_clients_that_do_not_come_back_to_a_broker_in_local_mode_are_found() -> None:
    fleet = local("GO")
    fleet.silence("a")
    fleet.down = {"a"}
    fleet.run(30)
    fleet.down, fleet.forgetful = set(), {"a"}
    fleet.run(420)
    assert fleet.firing() == {("T", "UNPOLLED")}
    assert {queue.broker_name for queue in fleet.alert("UNPOLLED").queues} == {"a"}


def test_a_proxy_that_stays_away_is_named() -> None:
    fleet = settled()
    fleet.silence_idle_clients("a", "b")
    fleet.no_lists = {A}
    fleet.run(300)
    assert (fleet.alert("UNPOLLED").state, fleet.alert("UNPOLLED").cause) == ("firing", "PROXY_AWAY")


def test_who_fell_silent_long_after_a_restart_did_not_do_so_because_of_it() -> None:
    fleet = settled()
    fleet.lose_sight_of(A, 20)
    fleet.run(300)
    fleet.silence_idle_clients("a")
    fleet.run(120)
    assert fleet.alert("UNPOLLED").cause == "BROKER_NOT_REACHED"


def test_healthy_restarts_call_nobody() -> None:
    """Polls of clients that are gone are counted for 20 s more; then the clients come back one by one."""
    for back_s in (5, 45, 100, 290):
        fleet = settled(language="GO")
        fleet.no_lists, fleet.popped = {A}, set()
        fleet.run(20)
        fleet.polls = dict.fromkeys(BROKERS, 0)
        fleet.run(10)
        fleet.no_lists = set()
        fleet.run(back_s)
        fleet.popped, fleet.polls = set(BROKERS), dict.fromkeys(BROKERS, 2)
        fleet.run(600)
        assert not fleet.called(), back_s
        assert fleet.status().status == "healthy"


def test_a_deploy_of_clients_calls_nobody() -> None:
    fleet = settled()
    for number in range(6):
        new = (f"host-{number}@7@0@hoi3xrg9u9", JAVA[1])
        fleet.proxies = {A: new, B: new}
        fleet.polls = dict.fromkeys(BROKERS, 1)
        fleet.run(25)
    fleet.polls = dict.fromkeys(BROKERS, 2)
    fleet.run(200)
    assert not fleet.called()
    assert fleet.status().status == "healthy"


# --- groups of which nobody is listed since a proxy was away


def silent_since_a_restart(language: str, *others: str, settings: Settings = DEFAULT_SETTINGS) -> Popping:
    """Proxy A is restarted, and lists nobody until clients send their settings. ``others`` drop them after 130 s."""
    fleet = Popping(language=language)
    fleet.settings = settings
    fleet.proxies = dict.fromkeys((A, *others), JAVA)
    fleet.run(300)
    fleet.silence("a", "b")
    fleet.lose_sight_of(A, 20)
    fleet.proxies[A] = ()
    fleet.run(110)
    fleet.proxies |= dict.fromkeys(others, ())
    return fleet


@pytest.mark.parametrize(("language", "within_s"), [("GO", 300), ("PYTHON", 600)])
@pytest.mark.parametrize("others", [(), (B,)])
def test_nobody_is_missed_while_clients_may_be_listed_again(
    language: str, within_s: int, others: tuple[str, ...]
) -> None:
    fleet = silent_since_a_restart(language, *others)
    fleet.run(within_s - 110)
    alert = fleet.alert("NO_MEMBERS", None)
    assert (alert.state, alert.severity) == ("firing", "info")
    assert said(alert).startswith("no broker and no proxy lists a member; ")
    assert fleet.status().status == "empty"
    fleet.proxies = dict.fromkeys(fleet.proxies, JAVA)
    fleet.popped, fleet.polls = set(BROKERS), dict.fromkeys(BROKERS, 2)
    fleet.run(300)
    assert not fleet.called()
    assert fleet.alert("NO_MEMBERS", None).state == "resolved"
    assert fleet.status().status == "healthy"


def test_a_group_that_is_always_on_calls_nobody_while_its_clients_may_be_listed_again() -> None:
    rule = GroupRule(group="g", always_on=True)
    fleet = silent_since_a_restart("GO", settings=Settings(timing=DEFAULT_TIMING, groups=(rule,)))
    fleet.run(200)
    assert fleet.alert("NO_MEMBERS", None).severity == "info"
    fleet.run(100)
    assert fleet.alert("NO_MEMBERS", None).severity == "critical"


def test_a_page_does_not_become_a_hint_when_a_proxy_restarts_after_it() -> None:
    fleet = settled(language="PYTHON")
    fleet.silence("a", "b")
    fleet.proxies = dict.fromkeys(fleet.proxies, ())
    fleet.run(150)
    assert fleet.alert("NO_MEMBERS", None).severity == "warning"
    fleet.lose_sight_of(A, 20)
    fleet.run(60)
    alert = fleet.alert("NO_MEMBERS", None)
    assert (alert.state, alert.severity) == ("firing", "warning")


def test_two_proxies_that_restart_one_after_the_other_call_nobody() -> None:
    fleet = settled(language="GO")
    fleet.silence("a", "b")
    for proxy in (A, B):
        fleet.lose_sight_of(proxy, 15)
        fleet.run(15)
    fleet.run(70)
    fleet.proxies = {A: (), B: ()}
    fleet.run(230)
    assert not fleet.called()


def test_a_lone_proxy_that_restarts_again_and_again_hides_no_end() -> None:
    fleet = silent_since_a_restart("GO")
    for _ in range(10):
        fleet.lose_sight_of(A, 20)
        fleet.run(40)
    fleet.run(100)
    assert fleet.firing() == {("", "NO_MEMBERS")}


@pytest.mark.deep_rows("minutes and hours of a group are folded")
@pytest.mark.parametrize(
    ("language", "others", "after_s"),
    [("JAVA", (), 120), ("DOTNET", (), 330), ("DOTNET", (B,), 330), ("PYTHON", (B,), 630)],
)
def test_clients_that_are_not_listed_again_are_missed(language: str, others: tuple[str, ...], after_s: int) -> None:
    """People are called 120 s later, or when the clients had the time to come back. It is shown after a minute."""
    fleet = silent_since_a_restart(language, *others)
    fleet.run(after_s - 110 - 5)
    assert fleet.alert("NO_MEMBERS", None).severity == "info"
    assert not fleet.called()
    fleet.run(10)
    alert = fleet.alert("NO_MEMBERS", None)
    assert (alert.state, alert.severity) == ("firing", "warning")
    assert said(alert).startswith("no broker and no proxy lists a member; ")
    assert said(alert).endswith(
        " messages wait; proxy 10.0.0.5:8080 did not answer at about the time when they left: clients may run without"
        " being listed"
    )
    fleet.no_lists = {A}  # that it is away again takes nothing back
    fleet.run(20)
    fleet.no_lists = set()
    fleet.run(600)
    assert ("", "NO_MEMBERS") in fleet.firing()
    assert fleet.called() == {("", "NO_MEMBERS")}


def test_a_group_that_ends_while_its_proxies_answer_is_missed_at_once() -> None:
    fleet = settled(language="GO")
    fleet.lose_sight_of(A, 20)
    fleet.idle(900)
    fleet.silence("a", "b")
    fleet.proxies = {A: (), B: ()}
    fleet.run(200)
    alert = fleet.alert("NO_MEMBERS", None)
    assert alert.state == "firing"
    assert said(alert).endswith(" messages wait")


def test_a_silent_broker_is_not_unpolled() -> None:
    fleet = settled()
    fleet.silence("a")
    fleet.down = {"a"}
    fleet.run(120)
    assert fleet.kinds()["a"] == {"UNKNOWN"}
    assert fleet.finding("a0").reason == "NO_ANSWER"
    assert not fleet.called()


def test_polls_that_are_not_read_any_more_prove_nothing() -> None:
    fleet = settled()
    fleet.polls = {}
    fleet.popped = set()
    fleet.run(400)
    assert fleet.finding("a0").reason == "POLLS_NOT_READ"
    assert not fleet.called()


def test_polls_of_what_is_not_known_are_not_kept() -> None:
    fleet = settled()
    fleet.round(polls=(TopicPolls("x", "T", -1, fleet._ts(), 1), TopicPolls("a", "U", -1, fleet._ts(), 1)))
    assert {topic.name for topic in fleet.state.topics} == {"T"}
    assert {broker.name for broker in fleet.state.brokers} == {"a", "b", A, B}


def test_state_is_packed_with_its_polls() -> None:
    fleet = settled()
    fleet.silence_idle_clients("a")
    fleet.run(40)
    fleet.restart()
    fleet.run(80)
    assert fleet.alert("UNPOLLED").state == "firing"


# --- the rules by themselves

SILENT = PolledQueue(
    is_consume_enabled=True, is_broker_covered=True, is_popped_in_part=False, uncovered=(), is_known=True,
    is_seen=False, was_seen=False, is_closed=False,
    waiting=9, stands_still=True, is_to_be_consumed=True, silent_ms=60_000, is_missed=True, is_overdue=False,
    enough_ms=60_000, was_free=True,
    is_in_no_report=False, is_taken_elsewhere=False, is_alive_elsewhere=False, is_orderly=False, head_blocked=None,
    is_blocked_for_long=False, pulls=False,
    is_silent_since_proxy=False, last_change=None, proxy_away=None,
)  # fmt: skip
AWAY = Reason(ReasonKind.PROXY_AWAY)
BLOCKED = HeadBlocked(queues=(BlockedQueue("a", 0, 67, 9),), waiting=9, stands_ms=60_000, polled_ts=1)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, Kind.UNPOLLED),
        ({"silent_ms": 59_999}, Kind.UNKNOWN),
        ({"stands_still": False}, Kind.UNKNOWN),
        ({"stands_still": False, "was_seen": True}, Kind.POLLED),
        ({"was_seen": True}, Kind.UNPOLLED),
        ({"is_seen": True}, Kind.POLLED),
        ({"is_seen": True, "is_popped_in_part": True}, Kind.UNKNOWN),
        ({"is_popped_in_part": True}, Kind.UNPOLLED),
        ({"was_free": False}, Kind.UNKNOWN),
        ({"was_free": False, "is_taken_elsewhere": True}, Kind.UNPOLLED),
        ({"was_free": False, "is_in_no_report": True}, Kind.UNPOLLED),
        ({"was_free": False, "is_silent_since_proxy": True}, Kind.UNPOLLED),
        ({"was_free": False, "is_alive_elsewhere": True}, Kind.UNPOLLED),
        ({"was_free": False, "is_alive_elsewhere": True, "is_missed": False}, Kind.UNKNOWN),
        ({"was_free": False, "is_alive_elsewhere": True, "is_orderly": True}, Kind.UNKNOWN),
        ({"was_free": False, "is_alive_elsewhere": True, "is_overdue": True}, Kind.UNKNOWN),
        ({"was_free": False, "is_alive_elsewhere": True, "pulls": True}, Kind.UNKNOWN),
        ({"last_change": Reason(ReasonKind.ROUTE_CHANGED), "is_alive_elsewhere": True}, Kind.SETTLING),
        ({"is_orderly": True}, Kind.UNKNOWN),
        ({"is_orderly": True, "is_silent_since_proxy": True}, Kind.UNPOLLED),
        ({"pulls": True}, Kind.UNKNOWN),
        ({"pulls": True, "is_closed": True}, Kind.UNPOLLED),
        ({"is_orderly": True, "was_free": False, "is_closed": True}, Kind.UNPOLLED),
        ({"pulls": True, "is_silent_since_proxy": True}, Kind.UNKNOWN),
        ({"is_to_be_consumed": False}, Kind.UNKNOWN),
        ({"is_known": False}, Kind.UNKNOWN),
        ({"is_broker_covered": False, "uncovered": ("a",)}, Kind.UNKNOWN),
        ({"is_consume_enabled": False}, Kind.CONSUME_DISABLED),
        ({"is_consume_enabled": False, "stands_still": False}, Kind.UNKNOWN),
        ({"proxy_away": AWAY}, Kind.SETTLING),
        ({"last_change": Reason(ReasonKind.ROUTE_CHANGED)}, Kind.SETTLING),
        ({"proxy_away": AWAY, "is_seen": True}, Kind.POLLED),
        ({"proxy_away": AWAY, "is_silent_since_proxy": True, "is_missed": False}, Kind.SETTLING),
        ({"proxy_away": AWAY, "is_silent_since_proxy": True, "pulls": True}, Kind.SETTLING),
        ({"proxy_away": AWAY, "is_silent_since_proxy": True, "stands_still": False}, Kind.SETTLING),
        ({"head_blocked": BLOCKED, "is_seen": True}, Kind.HEAD_BLOCKED),
        ({"head_blocked": BLOCKED, "is_known": False}, Kind.UNKNOWN),
        ({"head_blocked": BLOCKED, "is_consume_enabled": False}, Kind.CONSUME_DISABLED),
    ],
)
def test_rules(fields: dict[str, object], kind: Kind) -> None:
    assert judge_polled(with_fields(SILENT, **fields)).kind is kind


FLAGS = [name for name, value in asdict(SILENT).items() if isinstance(value, bool)]


@pytest.mark.slow("minutes and hours of a group are folded")
@settings(max_examples=300, deadline=None)
@given(st.tuples(*(st.booleans() for _ in FLAGS)), st.integers(0, 120_000), st.sampled_from([None, AWAY]))
def test_nothing_is_unpolled_without_waiting_messages_and_enough_silence(
    flags: tuple[bool, ...], silent_ms: int, away: Reason | None
) -> None:
    q = with_fields(SILENT, **dict(zip(FLAGS, flags, strict=True)), silent_ms=silent_ms, proxy_away=away)
    verdict = judge_polled(q)
    if verdict.kind is Kind.UNPOLLED:
        assert q.stands_still
        assert q.is_known
        assert not q.is_seen
        assert not q.pulls or q.is_closed
        if verdict.severity is Severity.INFO:
            assert (q.is_missed, q.is_overdue) == (True, False)
            assert q.is_silent_since_proxy if away is AWAY else q.is_alive_elsewhere
        elif away is not None:
            assert q.is_overdue
        else:
            assert q.silent_ms >= q.enough_ms
