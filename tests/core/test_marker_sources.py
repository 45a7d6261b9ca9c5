"""Markers of several producers: two collectors side by side are taken in turn, producers that contradict are not."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from schemas.events import BrokerAnswer, Round, UnchangedList
from schemas.facts import Contradiction
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.intake.marker_sources import MARKERS_TO_FOLLOW, SOURCES_AT_MOST
from streaming.core.state.group import Group
from streaming.core.state.group_state import GroupState, new_state
from streaming.core.state.packing import pack, unpack
from streaming.core.step import Refused, take

T0 = 1_700_000_000_000
S = 1_000
HOUR = 3_600
FIRST, SECOND = "collector a 1 1", "collector b 2 2"


class Markers:
    """Markers as they come into Kafka, each with its producer's time; seconds after T0."""

    def __init__(self) -> None:
        self.group = Group(new_state("c", "g"), DEFAULT_SETTINGS)
        self.seq: dict[str, int] = {}
        self.listed: dict[str, tuple[tuple[str, ...], int]] = {}
        self.refused: list[Refused] = []

    @property
    def state(self) -> GroupState:
        return self.group.state

    @property
    def clock(self) -> float:
        return (self.state.now - T0) / S

    def send(self, source: str, at: float, *clients: str, **fields: Any) -> Contradiction | None:
        ts = T0 + round(at * S)
        clients = clients or ("x",)
        known, since = self.listed.get(source, ((), 0))
        self.listed[source] = (clients, since if known == clients else ts)
        answer = BrokerAnswer("b", True, clients, listed_since=self.listed[source][1], data_version=hash(clients) % 999)
        self.seq[source] = self.seq.get(source, 0) + 1
        event = Round(
            schema=1, cluster="c", group="g", ts=ts, round=ts, seq=self.seq[source], source=source,
            **{"brokers": (answer,), **fields},
        )  # fmt: skip
        refused = take(self.group, event)
        self.refused += refused
        return next((one.contradiction for one in refused if one.contradiction), None)

    def beside(self, rounds: int, apart: float, begin: float = 0) -> list[Contradiction | None]:
        """Both go on, a round every 5 s: what came of the second one's markers."""
        found = []
        for at in range(rounds):
            self.send(FIRST, begin + at * 5)
            found.append(self.send(SECOND, begin + at * 5 + apart))
        return found


@pytest.mark.parametrize("apart", [-40, -4, 0, 2.5, 4, 9])
def test_two_collectors_side_by_side_with_clocks_in_order_contradict_nobody(apart: float) -> None:
    markers = Markers()
    assert markers.beside(100, apart) == [None] * 100
    assert not any(refused.contradiction for refused in markers.refused)


@pytest.mark.parametrize("apart", [HOUR, -HOUR, 30 * 24 * HOUR, -120, 300])
def test_times_that_stay_apart_are_a_contradiction_and_the_clock_is_that_of_the_first(apart: float) -> None:
    markers = Markers()
    for at in range(3):
        markers.send(FIRST, at * 5)
    found = markers.beside(40, apart, begin=15)
    assert found[:2] == [None, None]
    assert all(found[4:])
    assert markers.clock == 15 + 39 * 5
    assert found[-1] is not None
    assert (found[-1].followed, found[-1].source) == (FIRST, SECOND)
    assert found[-1].ahead_ms == round(apart * S)
    assert {refused.why.reason for refused in markers.refused} <= {"contradicts", "ahead_of_clock"}


@pytest.mark.parametrize("together", [2, 4, 5])
def test_a_clock_that_was_set_ahead_by_several_markers_at_once_does_not_come_and_go(together: int) -> None:
    """Several markers of one producer may come between two of the other, now and then."""
    markers = Markers()
    clocks = []
    for at in range(60):
        markers.send(FIRST, at * 5)
        for of in range(together if at % 3 else 1):
            markers.send(SECOND, HOUR + at * 5 + of)
        clocks.append(markers.clock >= HOUR)
    changes = sum(before != after for before, after in pairwise(clocks))
    assert changes <= 3
    assert markers.refused[-1].contradiction is not None


def test_a_producer_that_stays_alone_is_followed() -> None:
    markers = Markers()
    markers.beside(20, HOUR)
    results = [markers.send(SECOND, HOUR + 100 + at * 5) for at in range(MARKERS_TO_FOLLOW + 2)]
    assert results[0] is not None
    assert results[-1] is None
    assert markers.clock == HOUR + 100 + (MARKERS_TO_FOLLOW + 1) * 5


def test_a_clock_that_is_set_right_ends_the_contradiction() -> None:
    markers = Markers()
    assert markers.beside(20, HOUR)[-1] is not None
    assert markers.beside(20, 1, begin=100) == [None] * 20


def test_what_waited_in_a_collector_while_kafka_was_away_contradicts_nobody() -> None:
    markers = Markers()
    markers.beside(10, 1)
    for at in range(10, 130):
        markers.send(FIRST, at * 5)
    found = []
    for at in range(10, 130):  # 10 minutes in 10 s, beside the other's rounds
        found.append(markers.send(SECOND, at * 5 + 1))
        if at % 60 == 59:
            markers.send(FIRST, (130 + at // 60) * 5)
    assert found == [None] * 120
    assert markers.beside(20, 1, begin=670) == [None] * 20


def test_a_collector_that_is_started_again_is_followed_without_a_word() -> None:
    markers = Markers()
    for at in range(10):
        markers.send(FIRST, at * 5)
    assert [markers.send(SECOND, HOUR + at * 5) for at in range(20)] == [None] * 20
    assert markers.clock == HOUR + 95


# --- lists


def test_lists_that_differ_for_a_minute_are_a_contradiction_and_those_of_the_first_count() -> None:
    markers = Markers()
    found = []
    for at in range(40):
        markers.send(FIRST, at * 5, "x", "y")
        found.append(markers.send(SECOND, at * 5 + 2, "z"))
    assert found[:12] == [None] * 12
    assert all(found[16:])
    assert found[-1] is not None
    assert (found[-1].broker_name, found[-1].ahead_ms) == ("b", 0)
    assert found[-1].both_ms > 60 * S
    listed = [client.client_id for client in markers.state.clients if any(client.entries)]
    assert listed == ["x", "y"]


def test_lists_that_are_only_confirmed_count_as_what_was_sent_in_full() -> None:
    markers = Markers()
    found = []
    for at in range(60):
        for source, clients, version in ((FIRST, ("x",), 1), (SECOND, ("z",), 2)):
            full = BrokerAnswer("b", True, clients, listed_since=T0 + 5 * S, data_version=version)
            lists = (
                {"brokers": (full,)}
                if at % 20 == 1
                else {"brokers": (), "unchanged_lists": (UnchangedList("b", version),)}
            )
            found.append(markers.send(source, at * 5, **lists))
    assert found[:24] == [None] * 24
    assert all(found[41::2])
    assert not any(found[::2])


def test_lists_in_another_order_are_the_same() -> None:
    markers = Markers()
    for at in range(40):
        markers.send(FIRST, at * 5, "x", "y")
        assert markers.send(SECOND, at * 5 + 2, "y", "x") is None


def test_members_that_change_all_the_time_are_no_contradiction() -> None:
    markers = Markers()
    for at in range(100):
        markers.send(FIRST, at * 5, "x", f"y{at // 2}")
        assert markers.send(SECOND, at * 5 + 2, "x", f"y{(at + 1) // 2}") is None


def test_lists_of_a_producer_that_does_not_say_since_when_count_since_its_markers_say_the_same() -> None:
    markers = Markers()
    found, others = [], []
    for at in range(40):
        markers.send(FIRST, at * 5, "x")
        found.append(markers.send(SECOND, at * 5 + 2, brokers=(BrokerAnswer("b", True, ("z",)),)))
        others.append(markers.send("third", at * 5 + 3, brokers=(BrokerAnswer("b", True, (f"z{at // 5}",)),)))
    assert found[:12] == [None] * 12
    assert all(found[16:])
    assert others == [None] * 40


# --- what is remembered


def test_producers_that_somebody_makes_up_are_bounded() -> None:
    markers = Markers()
    for at in range(200):
        markers.send(FIRST, at * 5)
        markers.send(f"made up {at}", HOUR + at)
    assert len(markers.state.marker_sources) <= SOURCES_AT_MOST
    assert markers.clock == 199 * 5


def test_what_is_known_of_producers_is_packed_and_older_state_has_none() -> None:
    markers = Markers()
    markers.beside(10, HOUR)
    assert unpack(pack(markers.state)) == markers.state
    fields = msgspec.msgpack.decode(pack(markers.state)[1:])
    before = GroupState.__struct_fields__.index("marker_sources")
    older = pack(markers.state)[:1] + msgspec.msgpack.encode(fields[:before])
    assert unpack(older).marker_sources == []
