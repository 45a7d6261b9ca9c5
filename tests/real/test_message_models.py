"""What evenkeel says of a BROADCASTING client in a CLUSTERING group: a real RocketMQ, collector, Kafka and core.

``pytest -rP`` prints what was done, what fired, when and why.
"""

import pytest

from schemas.facts import AlertFact
from streaming.loopback import LoopbackKafka
from testing.rocketmq.jars import NEWEST
from testing.rocketmq.loopback import LoopbackRocketMQ
from tests.real.message_models import JOINS_S, PLAYS, UNTIL_S
from tests.real.played import Played, play

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.kafka,
    pytest.mark.deep("a real RocketMQ, for minutes"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def played(kafka: LoopbackKafka, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """All plays on a cluster, and what came of it."""
    name = "message-models"
    return play(LoopbackRocketMQ(NEWEST), kafka, name, tmp_path_factory.mktemp(name), lambda _: PLAYS, UNTIL_S)


def test_nothing_is_refused_or_fails(played: Played) -> None:
    played.assert_all_is_well()


@pytest.mark.parametrize(("group", "wrong"), [("models", "c3"), ("oldest", "c1")])
def test_one_broadcasting_client_is_named_as_the_cause(group: str, wrong: str, played: Played) -> None:
    """Each queue of the other two has two owners. Nobody else is told of, and it is one page."""
    outcome = played.of(group)
    (firing,) = outcome.firings
    assert (firing.kind, firing.severity, firing.causes) == ("DUPLICATED", "critical", ("MESSAGE_MODEL_MISMATCH",))
    assert JOINS_S < firing.fired_s < JOINS_S + 90
    alerts = [fact.payload for fact in outcome.facts if isinstance(fact.payload, AlertFact)]
    differ = next(alert for alert in alerts if alert.state == "firing").observed.message_models_differ
    assert differ is not None
    assert differ.broadcasting.client_ids == (f"127.0.0.1@{group}-{wrong}",)
    assert len(outcome.pages()) == 1
