"""What evenkeel says where messages wait that nobody can read: a real RocketMQ, collector, Kafka and core.

``pytest -rP`` prints what was done, what fired, when and why.
"""

import pytest

from schemas.facts import AlertFact
from schemas.observed import UnreadableQueues
from streaming.loopback import LoopbackKafka
from testing.rocketmq.jars import NEWEST, OLD_LINE
from testing.rocketmq.loopback import LoopbackRocketMQ
from tests.real.outcome import Firing, Outcome
from tests.real.played import Played, play
from tests.real.unreadable import CHANGED_S, LOST_S, PLAYS, UNTIL_S

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.kafka,
    pytest.mark.deep("a real RocketMQ, for minutes"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module", params=[NEWEST, OLD_LINE])
def played(request: pytest.FixtureRequest, kafka: LoopbackKafka, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """All plays on a cluster of that version, and what came of it."""
    name = f"unreadable-of-{request.param}"
    cluster = LoopbackRocketMQ(request.param, ("broker-a", "broker-b", "broker-c"))
    return play(cluster, kafka, name, tmp_path_factory.mktemp(name), lambda _: PLAYS, UNTIL_S)


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
    played.assert_all_is_well()


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
