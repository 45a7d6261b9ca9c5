"""What evenkeel says of remoting clients that pop: a real RocketMQ, collector, Kafka and core.

``pytest -rP`` prints what was done, what fired, when and why.
"""

from collections.abc import Iterator

import pytest

from schemas.facts import AlertFact, QueueFact
from schemas.identity import MessageQueue
from streaming.core.allocation.averagely import Averagely
from streaming.core.allocation.popping import allocate_pop
from streaming.loopback import LoopbackKafka
from tests.real.played import Played, play
from tests.real.pop_assignments import PoppingRocketMQ, assigned, set_pop
from tests.real.stage import Part, Play

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.kafka,
    pytest.mark.deep("a real RocketMQ, for minutes"),
    pytest.mark.timeout(600),
]

UNTIL_S = 150
BROKER = "broker-a"


def all_pop_all(part: Part) -> Iterator[float]:
    """Three clients of one process, popShareQueueNum 0."""
    set_pop(part.cluster.brokers[BROKER].address, part.group, "all-T", 0)
    part.join_together("c1", "c2", "c3", pops=True)
    yield UNTIL_S


def one_id_twice(part: Part) -> Iterator[float]:
    """Each client pops its own queue and that of the next one. Two processes have one id: to nobody goes queue 1."""
    address = part.cluster.brokers[BROKER].address
    set_pop(address, part.group, "same-T", 1)
    part.join_together("c1", "c2", "c3", pops=True)
    part.join("c1", pops=True)
    yield UNTIL_S - 5
    ids = [f"127.0.0.1@same-{name}" for name in ("c1", "c1", "c2", "c3")]
    allocated = allocate_pop(Averagely(), [MessageQueue("same-T", BROKER, n) for n in range(4)], ids, 1)
    for client_id, share in zip(allocated.client_ids, allocated.shares, strict=True):
        places = sorted((queue.broker_name, queue.queue_id) for queue in share)
        assert assigned(address, part.group, "same-T", client_id) == places


PLAYS = (Play("all", {"all-T": {BROKER: 2}}, all_pop_all), Play("same", {"same-T": {BROKER: 4}}, one_id_twice))


@pytest.fixture(scope="module")
def played(kafka: LoopbackKafka, tmp_path_factory: pytest.TempPathFactory) -> Played:
    name = "popping"
    return play(
        PoppingRocketMQ(brokers=(BROKER,)), kafka, name, tmp_path_factory.mktemp(name), lambda _: PLAYS, UNTIL_S
    )


def found(played: Played, group: str) -> dict[int, str]:
    """The newest finding of each queue of the group's topic."""
    facts = [fact for fact in played.of(group).facts if fact.topic == f"{group}-T"]
    return {one.queue_id: one.finding for fact in facts if isinstance(one := fact.payload, QueueFact)}


def test_nothing_is_refused_or_fails(played: Played) -> None:
    played.assert_all_is_well()


def test_clients_that_pop_all_queues_are_healthy(played: Played) -> None:
    assert found(played, "all") == {0: "POLLED", 1: "POLLED"}
    assert played.of("all").status(UNTIL_S) == "healthy"
    assert played.of("all").firings == []


def test_a_queue_that_no_client_may_pop_is_found(played: Played) -> None:
    assert found(played, "same") == {0: "POLLED", 1: "UNPOLLED", 2: "POLLED", 3: "POLLED"}
    (firing,) = (one for one in played.of("same").firings if one.kind == "UNPOLLED")
    assert (firing.severity, firing.causes[-1], firing.queues) == ("critical", "SAME_CLIENT_ID", f"{BROKER} 1")
    alerts = [fact.payload for fact in played.of("same").facts if isinstance(fact.payload, AlertFact)]
    assert {client.client_id for one in alerts if one.kind == "UNPOLLED" for client in one.clients} == {
        "127.0.0.1@same-c1"
    }
