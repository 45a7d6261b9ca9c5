"""One client of another message model in a group."""

from collections.abc import Iterator

from tests.real.stage import Part, Play

UNTIL_S = 150
JOINS_S = 60


def one_broadcasting(part: Part) -> Iterator[float]:
    """A second version of an application, set to BROADCASTING by mistake, beside two clients that share queues out."""
    part.join("c1", "c2")
    yield JOINS_S
    part.join("c3", model="BROADCASTING")
    yield UNTIL_S


def first_broadcasting(part: Part) -> Iterator[float]:
    """The oldest member is the wrong one."""
    part.join("c1", model="BROADCASTING")
    yield JOINS_S
    part.join("c2", "c3")
    yield UNTIL_S


PLAYS = (
    Play("models", {"models-T": {"broker-a": 4, "broker-b": 2}}, one_broadcasting),
    Play("oldest", {"oldest-T": {"broker-a": 4, "broker-b": 2}}, first_broadcasting),
)
