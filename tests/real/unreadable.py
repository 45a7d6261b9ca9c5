"""Topics whose queues can be read no more, or are no more, while messages are written."""

from collections.abc import Iterator

from tests.real.stage import Part, Play

UNTIL_S = 300
CHANGED_S, LOST_S = 40, 180
FOUR_EACH = {"broker-a": 4, "broker-b": 4}


def fewer_to_read(part: Part) -> Iterator[float]:
    """As a topic is shrunk in the wrong order; then the broker of half of these queues is lost."""
    part.join("c1", "c2")
    yield CHANGED_S
    for broker in FOUR_EACH:
        part.change("fewer-T", broker, 4, to_read=2)
    yield LOST_S
    part.kill_broker("broker-b")
    yield UNTIL_S


def no_read_permission(part: Part) -> Iterator[float]:
    """On every broker of the topic: then no queue is left to share out, and clients keep what they had."""
    part.join("c1", "c2")
    yield CHANGED_S
    for broker in part.topics[f"{part.group}-T"]:
        part.change(f"{part.group}-T", broker, 4, perm=2)
    yield UNTIL_S


def partly_no_read_permission(part: Part) -> Iterator[float]:
    part.join("c1", "c2")
    yield CHANGED_S
    part.change("partly-T", "broker-a", 4, perm=2)
    yield UNTIL_S


def shrunk(part: Part) -> Iterator[float]:
    """In one step, while listeners hang: messages are left in the queues that the topic loses."""
    (client,) = part.join("c1")
    yield 10
    part.do("hang", client)
    yield CHANGED_S
    part.change("left-T", "broker-a", 2)
    yield CHANGED_S + 60
    part.do("recover", client)
    yield UNTIL_S


PLAYS = (
    Play("fewer", {"fewer-T": FOUR_EACH}, fewer_to_read),
    Play("perm", {"perm-T": {"broker-a": 4, "broker-c": 4}}, no_read_permission),
    Play("partly", {"partly-T": {"broker-a": 4, "broker-c": 4}}, partly_no_read_permission),
    Play("left", {"left-T": {"broker-a": 4, "broker-c": 2}}, shrunk),
)
