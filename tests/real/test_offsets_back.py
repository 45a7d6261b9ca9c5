"""Committed offsets that go back on a real RocketMQ: which are reported, with what evidence, and who is notified."""

import pytest

from schemas.facts import AlertFact
from schemas.observed import OffsetsBack
from streaming.loopback import LoopbackKafka
from testing.rocketmq.jars import NEWEST
from testing.rocketmq.loopback import LoopbackRocketMQ
from tests.real.offsets_back import BACK_S, PLAYS, RESET_S, UNTIL_S
from tests.real.outcome import Firing, Outcome
from tests.real.played import Played, play

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.kafka,
    pytest.mark.deep("a real RocketMQ, for minutes"),
    pytest.mark.timeout(900),
]
KIND = "OFFSETS_WENT_BACK"


@pytest.fixture(scope="module")
def played(kafka: LoopbackKafka, tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("offsets-back")
    return play(LoopbackRocketMQ(NEWEST), kafka, "offsets-back", folder, lambda _: PLAYS, UNTIL_S)


def only(outcome: Outcome) -> Firing:
    (firing,) = [one for one in outcome.firings if one.kind == KIND]
    return firing


def shown(outcome: Outcome) -> OffsetsBack:
    alerts = [fact.payload for fact in outcome.facts if isinstance(fact.payload, AlertFact)]
    found = next(one for one in alerts if one.kind == KIND and one.state == "firing").observed.offsets_back
    assert found is not None
    return found


def test_a_broker_that_is_back_with_an_old_file_has_lost_what_was_committed(played: Played) -> None:
    outcome = played.of("oldfile")
    firing, found = only(outcome), shown(outcome)
    assert (firing.severity, firing.queues) == ("warning", "broker-a 0")
    assert BACK_S < firing.fired_s < BACK_S + 150
    assert found.broker_names == ("broker-a",)
    assert found.messages > 100
    assert KIND in {alert.fact.kind for page in outcome.pages() for alert in page.alerts}


def test_an_operators_reset_looks_the_same_and_nobody_is_notified(played: Played) -> None:
    outcome = played.of("reset")
    firing, found = only(outcome), shown(outcome)
    assert (firing.severity, firing.queues) == ("info", "broker-b 0")
    assert firing.fired_s > RESET_S
    assert found.may_be_reset
    assert found.messages > 100
    assert KIND not in {alert.fact.kind for page in outcome.pages() for alert in page.alerts}


def test_nothing_is_refused_or_fails(played: Played) -> None:
    played.assert_all_is_well()
