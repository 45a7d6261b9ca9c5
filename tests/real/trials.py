"""What goes wrong, or only looks like it, in ways that were once told wrongly, late or never."""

from collections.abc import Iterator
from functools import partial

from testing.rocketmq.collecting import Collecting
from tests.real.detour import Detour
from tests.real.stage import Part, Play

UNTIL_S = 390
TWO_EACH = {"broker-a": 2, "broker-b": 2}
ONE_EACH = {"broker-a": 1, "broker-b": 1}
FOUR_EACH = {"broker-a": 4, "broker-b": 4}

GONE_S, BLIND_FROM_S, BLIND_UNTIL_S = 100, 140, 160
CUT_FROM_S, CUT_UNTIL_S = 25, 300
STUCK_FROM_S = 20
BATCH_FROM_S, BATCH_UNTIL_S = 165, 345
CROWD_STOPS_S = 305
BRIEF_FROM_S, BRIEF_STEP_S, BRIEF_STOPS_S = 5, 7, 60


def pulling(part: Part) -> Iterator[float]:
    part.join_together("c1", "c2", kind="pull")
    yield 180
    part.join("c3", kind="pull")


def lite_pulling(part: Part) -> Iterator[float]:
    part.join_together("c1", "c2", kind="lite")
    yield 200
    part.join("c3", kind="lite")


def plain_shutdown(part: Part) -> Iterator[float]:
    """Of eight clients of one address, each a member for over five minutes."""
    crowd = part.join_together(*(f"c{number}" for number in range(8)))
    yield CROWD_STOPS_S
    part.do("terminate", crowd)


def brief_run(part: Part) -> Iterator[float]:
    """Four clients of one address that start one by one, and end likewise within five minutes."""
    few = []
    for number in range(4):
        yield BRIEF_FROM_S + BRIEF_STEP_S * number
        few += part.join(f"c{number}")
    for number, one in enumerate(few):
        yield BRIEF_STOPS_S + BRIEF_STEP_S * number
        part.do("terminate", one)


def stuck(part: Part) -> Iterator[float]:
    """Listeners never return; clients go on to pull and to answer."""
    both = part.join_together("c1", "c2")
    yield STUCK_FROM_S
    part.do("hang", both)
    yield UNTIL_S


def long_batch(part: Part) -> Iterator[float]:
    """Listeners that return after three minutes, and then catch up."""
    both = part.join_together("c1", "c2")
    yield BATCH_FROM_S
    part.do("hang", both)
    yield BATCH_UNTIL_S
    part.do("recover", both)


def slow(part: Part) -> Iterator[float]:
    """Each message takes two and a half minutes; so many are worked on at once that all are in time."""
    part.join_together("c1", "c2", threads=400, sleep_ms=150_000)
    yield UNTIL_S


def gone(collecting: Collecting, part: Part) -> Iterator[float]:
    """All stop, messages keep coming, and the collector is killed before it has told of that for long."""
    all_of_it = part.join_together("c1", "c2")
    yield GONE_S
    part.do("terminate", all_of_it)
    yield BLIND_FROM_S
    collecting.kill()
    part.note("the collector killed")
    yield BLIND_UNTIL_S
    collecting.start()
    part.note("the collector started")


def cut_off(part: Part) -> Iterator[float]:
    """A client that can't reach one of two brokers for a while; the others ask either of them at each rebalance."""
    with Detour(part.cluster.namesrv, part.cluster.brokers["broker-b"].address) as detour:
        part.join("c0", namesrv=detour.namesrv)
        part.join_together("c1", "c2")
        yield CUT_FROM_S
        detour.cut()
        part.note("c0 can't reach broker-b")
        yield CUT_UNTIL_S
        detour.mend()
        part.note("c0 can reach broker-b")
        yield UNTIL_S


def trials(collecting: Collecting) -> tuple[Play, ...]:
    return (
        Play("pull", {"pull-T": FOUR_EACH}, pulling),
        Play("lite", {"lite-T": FOUR_EACH}, lite_pulling),
        Play("crowd", {"crowd-T": FOUR_EACH}, plain_shutdown),
        Play("brief", {"brief-T": FOUR_EACH}, brief_run),
        Play("stuck", {"stuck-T": TWO_EACH}, stuck),
        Play("batch", {"batch-T": TWO_EACH}, long_batch),
        Play("slow", {"slow-T": ONE_EACH}, slow),
        Play("gone", {"gone-T": TWO_EACH}, partial(gone, collecting)),
        Play("cut", {"cut-T": FOUR_EACH}, cut_off),
    )
