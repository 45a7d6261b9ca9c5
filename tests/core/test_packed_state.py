"""How a group is packed: a queue at rest costs little, and what is kept of one that is not comes back."""

from typing import Any

import msgspec
import pytest

from streaming.core.finding_kinds import KINDS, Scope
from streaming.core.state import packing
from streaming.core.state.group_state import FINDING_CODES, new_state
from streaming.core.state.packing import MIGRATIONS, OLDEST_READABLE, STATE_VERSION, pack, unpack
from streaming.core.state.queue_state import Queue, QueueAnomaly
from streaming.errors import StateVersionError

LONGEST_SHORT_ARRAY = 15  # MessagePack: longer ones have a header of three bytes, not one


def test_a_queue_at_rest_has_a_short_array_and_no_unrest() -> None:
    queue = Queue(0, 0, 0)
    assert len(msgspec.msgpack.decode(msgspec.msgpack.encode(queue))) <= LONGEST_SHORT_ARRAY
    assert queue.anomaly is None
    assert (queue.cause, queue.mismatch_since_ts, queue.idle_since_ts) == (None, 0, 0)


def test_what_is_noted_of_a_queue_is_packed_and_goes_when_it_is_over() -> None:
    state = new_state("c", "g")
    state.queues = [Queue(0, 0, 0), Queue(0, 0, 1)]
    noted = state.queues[1]
    noted.cause, noted.mismatch_since_ts = "LOCK_STUCK", 5
    again = unpack(pack(state)).queues
    assert [queue.anomaly for queue in again] == [None, QueueAnomaly(cause="LOCK_STUCK", mismatch_since_ts=5)]
    noted.cause = None
    assert noted.anomaly == QueueAnomaly(mismatch_since_ts=5)
    noted.mismatch_since_ts = 0
    assert noted.anomaly is None
    noted.idle_since_ts = 0
    assert noted.anomaly is None


def test_every_finding_of_a_queue_has_its_number() -> None:
    assert {kind for kind, row in KINDS.items() if row.scope is Scope.QUEUE} <= set(FINDING_CODES)


def test_each_older_version_that_can_be_read_has_its_step() -> None:
    assert set(MIGRATIONS) == set(range(OLDEST_READABLE, STATE_VERSION))


def test_a_state_of_an_older_version_is_migrated_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    state = new_state("c", "g")
    state.now = 7
    old = pack(state)

    def two_fields_change_places(values: list[Any]) -> list[Any]:
        return [values[1], values[0], *values[2:]]

    monkeypatch.setattr(packing, "STATE_VERSION", STATE_VERSION + 2)
    steps = {STATE_VERSION: two_fields_change_places, STATE_VERSION + 1: two_fields_change_places}
    monkeypatch.setattr(packing, "MIGRATIONS", steps)
    assert unpack(old) == state
    steps[STATE_VERSION + 1] = list
    assert (unpack(old).cluster, unpack(old).group, unpack(old).now) == ("g", "c", 7)


def test_a_state_of_a_version_that_is_not_known_is_refused() -> None:
    for version in (0, OLDEST_READABLE - 1, STATE_VERSION + 1):
        with pytest.raises(StateVersionError, match="run 'evenkeel reseed'"):
            unpack(bytes([version]) + pack(new_state("c", "g"))[1:])
