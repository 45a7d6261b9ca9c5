"""Client versions by RocketMQ's own names. The numbers stand in MQVersion.java of 4.9.7 and 5.3.3 alike."""

import pytest

from schemas.facts import AlertFact
from streaming.core.intake.client_versions import NAMES, named
from tests.core.fleet import running
from tests.core.test_member_facts import members


@pytest.mark.parametrize(
    ("ordinal", "name"),
    [
        (0, "V3_0_0_SNAPSHOT"),
        (1, "V3_0_0_ALPHA1"),
        (7, "V3_0_0_BETA6_SNAPSHOT"),
        (15, "V3_0_0_FINAL"),
        (45, "V3_0_15"),
        (46, "V3_1_0_SNAPSHOT"),
        (86, "V3_3_1_SNAPSHOT"),
        (317, "V4_5_2"),
        (407, "V4_9_7"),
        (475, "V5_3_1"),
        (479, "V5_3_3"),
        (611, "V5_9_9"),
        (612, "HIGHER_VERSION"),
    ],
)
def test_the_ordinal_of_mqversion_has_its_name(ordinal: int, name: str) -> None:
    assert named(str(ordinal)) == name


def test_there_are_as_many_as_in_mqversion() -> None:
    assert len(NAMES) == len(set(NAMES)) == 613


@pytest.mark.parametrize(
    ("given", "told"),
    [(None, None), ("V5_3_3", "V5_3_3"), ("613", "HIGHER_VERSION"), ("9" * 5000, "HIGHER_VERSION"), ("-1", "-1"),
     ("", ""), ("٣", "٣"), ("5.1", "5.1")],
)  # fmt: skip
def test_what_is_no_ordinal_stands_for_itself(given: str | None, told: str | None) -> None:
    assert named(given) == told


def test_members_and_pages_name_the_version_that_a_broker_tells_as_a_number() -> None:
    fleet = running(how={"heartbeat": {"language": "JAVA", "version": "407"}})
    fleet.own("y", "a0 b0-3")
    fleet.run(120)

    assert {member.version for member in members(fleet)} == {"V4_9_7"}
    assert {client.version for fact in fleet.told(AlertFact) for client in fact.payload.clients} == {"V4_9_7"}
