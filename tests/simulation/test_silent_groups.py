"""Groups of which no client answers: what lists, connections and offsets prove of faults, and peace otherwise."""

from itertools import pairwise
from random import Random

import pytest

from bench.proof.detector import Detector
from bench.proof.groups import RemotingGroup
from bench.proof.lasting_faults import LastingFaults
from bench.proof.operations import crash, restart, rolling_deploy, scale_in, scale_out
from bench.proof.results import ActiveFault
from schemas.facts import GroupFact, Kind
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.simulation.client_config import MUTE
from streaming.simulation.faults import FAULT_NAMED
from streaming.simulation.simulated_group import Shape
from tests.simulation.alerts_fired import alerts_fired

SHAPE = Shape(clients=4, brokers=2, queues=4, strategy="AVG", orderly=False, version=5, rate=4)


class Silent:
    """A group of clients of an SDK that does not know the request for running info."""

    def __init__(self, seed: str) -> None:
        self.group = RemotingGroup(SHAPE, seed)
        self.group.sdk_of = lambda client_id: MUTE
        self.detector = Detector(self.group.fleet, DEFAULT_SETTINGS)
        self.group.warm_up()

    def fired(self) -> set[str]:
        return {alert.kind for _, alert in alerts_fired(self.detector)}

    def statuses(self) -> set[str]:
        return {fact.payload.status for fact in self.detector.facts if isinstance(fact.payload, GroupFact)}


@pytest.mark.slow("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("same_client_id", Kind.SHARED_CLIENT_ID),
        ("cut_from_a_broker", Kind.MEMBER_LISTS_DIFFER),
        ("not_taken_over", Kind.STALLED),
        ("pull_service_dead", Kind.STALLED),
        ("no_read_permission", Kind.UNREADABLE_QUEUES),
        ("all_gone", Kind.NO_MEMBERS),
        ("flapping", Kind.REBALANCE_STORM),
    ],
)
@pytest.mark.parametrize("seed", ["1", "2"])
def test_fault_that_needs_no_report_is_found(fault: str, kind: Kind, seed: str) -> None:
    played = Silent(f"{fault}/{seed}")
    assert played.fired() == set()
    FAULT_NAMED[fault].inject(played.group)
    played.group.fleet.run(480)
    assert kind in played.fired()
    assert "healthy" not in played.statuses()


@pytest.mark.slow("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize(("seed", "in_turn"), [("1", True), ("2", False)])
def test_different_topics_are_found_unless_all_heartbeats_come_together(seed: str, in_turn: bool) -> None:
    """Brokers show the topics of the last heartbeat. Where one always comes right after the other, they show one set.

    They refuse the pulls of what they do not show: that looks as if nobody subscribed to it any more.
    """
    played = Silent(f"different_topics/{seed}")
    FAULT_NAMED["different_topics"].inject(played.group)
    played.group.fleet.run(480)
    assert (Kind.INCONSISTENT_SUBSCRIPTION in played.fired()) is in_turn
    assert Kind.STALLED in played.fired()
    assert "healthy" not in played.statuses()


@pytest.mark.slow("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize("seed", range(3))
def test_everyday_life_calls_nobody_and_is_never_called_healthy(seed: int) -> None:
    played = Silent(f"everyday/{seed}")
    random = Random(seed)
    for operation in (scale_out, restart, crash, rolling_deploy, scale_in):
        operation(played.group)
        played.group.fleet.run(random.randrange(40, 200))
    played.group.fleet.run(240)
    assert played.fired() == set()
    assert "healthy" not in played.statuses()


@pytest.mark.slow("minutes and hours of a fleet are simulated")
def test_client_that_never_answers_is_asked_ever_less_often() -> None:
    played = Silent("asked")
    played.group.fleet.run(3_600)
    first = played.group.clients[0].client_id
    asked = [ts for ts, client_id in played.detector.collector.timeouts if client_id == first]
    assert all(later - earlier > 590_000 for earlier, later in pairwise(asked[5:]))
    assert len(asked) < 15


@pytest.mark.slow("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize(("answers", "expected"), [(False, [Kind.SHARED_CLIENT_ID]), (True, [])])
def test_two_clients_of_one_id_are_expected_to_be_found_where_nobody_answers(
    answers: bool, expected: list[Kind]
) -> None:
    played = Silent("twins")
    if answers:
        played.group.sdk_of = None
        _restart_all(played.group)
    began_ts, fault = played.group.fleet.now, FAULT_NAMED["same_client_id"]
    undo = fault.inject(played.group)
    played.group.fleet.run(660)
    undo()
    played.group.fleet.run(60)
    active = [ActiveFault(fault, began_ts, played.group.fleet.now)]
    of_group = [one.kind for one in LastingFaults(played.group, active, []).expected([]) if not one.topic]
    assert of_group == expected


def _restart_all(group: RemotingGroup) -> None:
    for client in list(group.clients):
        group.fleet.leave(client)
        group.start()
