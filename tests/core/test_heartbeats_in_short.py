"""Heartbeats that a marker tells: the state is the same as after heartbeats that are events of their own."""

import pytest

from schemas.events import SCHEMA_VERSION, BrokerAnswer, Heartbeat, ListedClient, Round
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.intake import size_limits
from streaming.core.state.group import Group
from streaming.core.state.group_state import GroupState, new_state
from streaming.core.step import take

T0 = 1_790_000_000_000
PROFILE = ("JAVA", "479", "CLUSTERING", "CONSUME_PASSIVELY")
CLIENTS = (
    ListedClient("a", "10.0.0.1@1", ("10.0.0.1:5001",), *PROFILE),
    ListedClient("b", "10.0.0.1@1", ("10.0.0.1:5002",), *PROFILE),
    ListedClient("a", "10.0.0.2@1", ("10.0.0.9:5001", "10.0.0.2:5001"), *PROFILE),
    ListedClient("a", "10.0.0.3@1", (), None, None, None, None),
)
AGAIN = (ListedClient("a", "10.0.0.1@1", ("10.0.0.1:5003",), "GO", *PROFILE[1:]),)


def told(*rounds: tuple[ListedClient, ...], in_markers: bool) -> GroupState:
    group = Group(new_state("c", "g"), DEFAULT_SETTINGS)
    seq = 0
    for number, clients in enumerate(rounds):
        ts = T0 + 5_000 * number
        common = {"schema": SCHEMA_VERSION, "cluster": "c", "group": "g", "round": ts, "ts": ts}
        for one in () if in_markers else clients:
            fields = {name: getattr(one, name) for name in one.__struct_fields__}
            take(group, Heartbeat(**common, seq=seq, observed="listed", **fields))
            seq += 1
        lists = tuple(BrokerAnswer(name, True, ("10.0.0.1@1", "10.0.0.2@1", "10.0.0.3@1")) for name in "ab")
        take(group, Round(**common, seq=seq, brokers=lists, heartbeats=clients if in_markers else ()))
        seq += 1
    group.state.sources = {}  # the numbers differ
    return group.state


def test_both_forms_leave_the_same_state() -> None:
    rounds = (CLIENTS, (), AGAIN, CLIENTS[:1])
    for known in range(1, len(rounds) + 1):
        assert told(*rounds[:known], in_markers=True) == told(*rounds[:known], in_markers=False)


def test_what_they_say_is_known() -> None:
    state = told(CLIENTS, AGAIN, in_markers=True)
    clients = {client.client_id: client for client in state.clients}
    assert clients["10.0.0.1@1"].addresses == [":5003", ":5002"]
    assert state.heartbeat_profiles[clients["10.0.0.1@1"].heartbeat].language == "GO"
    assert clients["10.0.0.2@1"].two_addresses_since_ts == T0


def test_heartbeats_of_too_many_clients_are_refused_with_their_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_limits, "CLIENTS_AT_MOST", 2)
    group = Group(new_state("c", "g"), DEFAULT_SETTINGS)

    def refused(number: int, names: int) -> list[str]:
        clients = tuple(ListedClient("a", f"{index % names}", (), None, None, None, None) for index in range(6))
        common = {"schema": SCHEMA_VERSION, "cluster": "c", "group": "g", "round": number}
        marker = Round(**common, ts=T0 + number, seq=number, brokers=(), heartbeats=clients)
        return [one.why.detail for one in take(group, marker)]

    assert refused(1, 5) == ["5 clients of one group; the limit is 4"]
    assert refused(2, 4) == []
