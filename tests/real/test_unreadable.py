"""What evenkeel says where messages wait that nobody can read: a real RocketMQ, collector, Kafka and core.

``pytest -rP`` prints what was done, what fired, when and why.
"""

from typing import NamedTuple

import pytest

from schemas.facts import AlertFact, EvaluationFailedFact, Fact, QuarantineFact
from schemas.observed import UnreadableQueues
from streaming.core.settings import Settings
from streaming.loopback import LoopbackKafka
from tests.e2e.job import Job
from tests.e2e.workload import PARTITIONS, folded, received
from tests.real.collecting import Collecting
from tests.real.jars import NEWEST, OLD_LINE
from tests.real.outcome import Firing, Outcome
from tests.real.rocketmq import LoopbackRocketMQ
from tests.real.stage import conduct
from tests.real.unreadable import CHANGED_S, LOST_S, PLAYS, UNTIL_S

pytestmark = [pytest.mark.rocketmq, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]


class Played(NamedTuple):
    facts: list[Fact]
    outcomes: dict[str, Outcome]
    said: str

    def of(self, group: str) -> Outcome:
        outcome = self.outcomes[group]
        print(outcome.account())
        return outcome


@pytest.fixture(scope="module", params=[NEWEST, OLD_LINE])
def played(request: pytest.FixtureRequest, kafka: LoopbackKafka, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """All plays on a cluster of that version, and what came of it."""
    topic = f"unreadable-of-{request.param}"
    kafka.create_topic(topic, PARTITIONS)
    folder = tmp_path_factory.mktemp(f"unreadable-{request.param}-")
    with LoopbackRocketMQ(request.param, ("broker-a", "broker-b", "broker-c")) as cluster:
        config = Job(folder, kafka.bootstrap_servers, topic, {"collector.clusters": {"real": cluster.namesrv}}).config
        with Collecting(config, folder / "recording.jsonl") as collecting:
            began_ts, parts = conduct(PLAYS, cluster, UNTIL_S)
    facts = folded((received(kafka, topic), Settings()))
    outcomes = {group: Outcome(part, facts, began_ts) for group, part in parts.items()}
    return Played(facts, outcomes, collecting.log)


def only(outcome: Outcome) -> Firing:
    """One fault, one key."""
    (firing,) = outcome.firings
    assert (firing.kind, firing.severity) == ("UNREADABLE_QUEUES", "warning")
    assert len(outcome.pages()) == 1
    return firing


def numbers(outcome: Outcome) -> tuple[UnreadableQueues, ...]:
    """Those of the fact with which it fired."""
    alerts = [fact.payload for fact in outcome.facts if isinstance(fact.payload, AlertFact)]
    unreadable = next(alert for alert in alerts if alert.state == "firing").observed.unreadable
    assert unreadable is not None
    return unreadable.causes


def test_nothing_is_refused_or_fails(played: Played) -> None:
    print(played.said)
    bad = (QuarantineFact, EvaluationFailedFact)
    assert [fact for fact in played.facts if isinstance(fact.payload, bad)] == []
    assert {fact.group for fact in played.facts} == set(played.outcomes)
    assert "Traceback" not in played.said


def test_what_arrives_beyond_the_readable_queues_is_counted_of_each(played: Played) -> None:
    """Two messages a second in each of the four queues."""
    outcome = played.of("fewer")
    firing = only(outcome)
    assert (firing.queues, firing.causes) == ("broker-a 2-3, broker-b 2-3", ("READ_LT_WRITE",))
    assert CHANGED_S < firing.fired_s < CHANGED_S + 100
    (found,) = numbers(outcome)
    assert found.waiting is not None
    assert found.read_ts is not None
    assert found.waiting >= 4 * 20
    assert outcome.status(LOST_S) == "findings"


def test_it_is_not_over_because_a_broker_is_lost(played: Played) -> None:
    firing = only(played.of("fewer"))
    assert firing.resolved_s is None


@pytest.mark.parametrize(("group", "queues"), [("perm", "broker-a 0-3, broker-c 0-3"), ("partly", "broker-a 0-3")])
def test_read_permission_that_was_removed_is_one_fault(group: str, queues: str, played: Played) -> None:
    firing = only(played.of(group))
    assert (firing.queues, firing.causes) == (queues, ("NO_READ_PERM",))
    assert firing.resolved_s is None


def test_messages_left_in_queues_that_left_the_route_are_counted(played: Played) -> None:
    """They were written for 30 s, two a second in each queue."""
    outcome = played.of("left")
    firing = only(outcome)
    assert (firing.queues, firing.causes) == ("broker-a 2-3", ("LEFT_ROUTE",))
    (found,) = numbers(outcome)
    assert found.waiting is not None
    assert found.waiting >= 2 * 20
    assert firing.resolved_s is None
