"""Committed offsets that go back: by a broker with an old file of them, and by an operator."""

from collections.abc import Iterator

from tests.real.stage import Part, Play

UNTIL_S = 390
SAVED_S, STOPPED_S, BACK_S = 40, 190, 215  # two messages a second come to each queue meanwhile
RESET_S, RESET_BY_S = 190, 170
SLOWLY_MS = 600  # for a message, of one thread: what is to be consumed again takes minutes


def old_file(part: Part) -> Iterator[float]:
    """As of a slave that became the master: its offsets are older. The clients were restarted meanwhile."""
    (client,) = part.join("c1")
    files = part.cluster.offset_files("broker-a")
    yield SAVED_S
    saved = files[0].read_bytes()
    part.note("save the offsets of broker-a")
    yield STOPPED_S
    part.do("terminate", client)
    part.kill_broker("broker-a")
    for file in files:
        file.write_bytes(saved)
    yield BACK_S
    part.start_broker("broker-a")
    part.join("c2", threads=1, sleep_ms=SLOWLY_MS)
    yield UNTIL_S


def reset(part: Part) -> Iterator[float]:
    (client,) = part.join("c1")
    yield RESET_S - 10
    part.do("terminate", client)
    part.join("c2", threads=1, sleep_ms=SLOWLY_MS)
    yield RESET_S + 20
    part.reset_offsets("reset-T", "broker-b", RESET_BY_S)
    yield UNTIL_S


PLAYS = (
    Play("oldfile", {"oldfile-T": {"broker-a": 1}}, old_file),
    Play("reset", {"reset-T": {"broker-b": 1}}, reset),
)
