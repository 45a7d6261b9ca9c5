"""What goes wrong, or only looks like it, in groups of a real cluster."""

from collections.abc import Iterator

from tests.real.stage import Part, Play

UNTIL_S = 400
FOUR_EACH = {"broker-a": 4, "broker-b": 4}
ON_THE_LOST_BROKER = {"broker-a": 4, "broker-c": 4}
LOST_FROM_S, LOST_UNTIL_S = 100, 160
SUBSCRIBES_WRONGLY_UNTIL_S = 230
PAUSED_FROM_S, PAUSED_UNTIL_S = 90, 190


def scale_out(part: Part) -> Iterator[float]:
    part.join("c1", "c2")
    yield 30
    (joined,) = part.join("c3")
    yield 120
    part.do("terminate", joined)


def kill(part: Part) -> Iterator[float]:
    *_, killed = part.join("c1", "c2", "c3")
    yield 40
    part.do("kill", killed)
    yield 130
    part.join("c3")


def rolling_deploy(part: Part) -> Iterator[float]:
    """A new container for an old one, one after the other: their ids are new."""
    old = part.join("c1", "c2", "c3")
    for number, leaving in enumerate(old):
        yield 50 + 20 * number
        part.join(f"d{number}")
        yield 60 + 20 * number
        part.do("terminate", leaving)


def same_client_id(part: Part) -> Iterator[float]:
    _, second = part.join("same", "same")
    yield 230
    part.do("terminate", second)


def different_subscriptions(part: Part) -> Iterator[float]:
    """Two versions of an application in one group; the second is then made to subscribe like the first."""
    part.join("c1", topics=["subs-T"])
    (wrong,) = part.join("c2", topics=["subs-U"])
    yield SUBSCRIBES_WRONGLY_UNTIL_S
    part.do("terminate", wrong)
    part.join("c3", topics=["subs-T"])


def mixed_strategies(part: Part) -> Iterator[float]:
    """For ever; half of its queues are on the broker that is lost."""
    part.join("c1")
    part.join("c2", strategy="AVG_BY_CIRCLE")
    yield UNTIL_S


def pause(part: Part) -> Iterator[float]:
    """Once it has said what it owns: clients are let be for 75 s at most."""
    _, paused, _ = part.join("c1", "c2", "c3")
    yield PAUSED_FROM_S
    part.do("pause", paused)
    yield PAUSED_UNTIL_S
    part.do("resume", paused)


def expansion(part: Part) -> Iterator[float]:
    part.join("c1", "c2")
    yield 45
    part.grow("expand-T", FOUR_EACH)


def lost_broker(part: Part) -> Iterator[float]:
    part.join("c1", "c2")
    yield LOST_FROM_S
    part.kill_broker("broker-c")
    yield LOST_UNTIL_S
    part.start_broker("broker-c")


def orderly(part: Part) -> Iterator[float]:
    *_, killed = part.join("c1", "c2", "c3", orderly=True)
    yield 70
    part.do("kill", killed)


def broadcasting(part: Part) -> Iterator[float]:
    part.join("c1", "c2", model="BROADCASTING")
    yield 80
    (joined,) = part.join("c3", model="BROADCASTING")
    yield 200
    part.do("terminate", joined)


PLAYS = (
    Play("scale", {"scale-T": FOUR_EACH}, scale_out),
    Play("kill", {"kill-T": FOUR_EACH}, kill),
    Play("deploy", {"deploy-T": FOUR_EACH}, rolling_deploy),
    Play("same", {"same-T": FOUR_EACH}, same_client_id),
    Play("subs", {"subs-T": FOUR_EACH, "subs-U": FOUR_EACH}, different_subscriptions),
    Play("mixed", {"mixed-T": ON_THE_LOST_BROKER}, mixed_strategies),
    Play("pause", {"pause-T": FOUR_EACH}, pause),
    Play("expand", {"expand-T": {"broker-a": 2, "broker-b": 2}}, expansion),
    Play("lost", {"lost-T": ON_THE_LOST_BROKER}, lost_broker),
    Play("order", {"order-T": FOUR_EACH}, orderly),
    Play("cast", {"cast-T": FOUR_EACH}, broadcasting),
)
