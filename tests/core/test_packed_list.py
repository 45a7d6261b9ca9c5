"""A list from packed state behaves like a plain list, and packs what was not used as it was."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from streaming.core.settings import Settings
from streaming.core.state.group import Group
from streaming.core.state.group_state import Client, GroupState, new_state
from streaming.core.state.packed_list import PackedList, keys_of
from streaming.core.state.packing import pack, unpack
from streaming.core.state.queue_state import Queue
from streaming.errors import StateVersionError


def state_with(clients: int, queues: int = 2) -> GroupState:
    state = new_state("c", "g")
    state.clients = [Client(f"client-{n}", since_ts=n) for n in range(clients)]
    state.queues = [Queue(0, n % 2, n, owners=[n]) for n in range(queues)]
    return state


def still_packed(items: list[Any]) -> list[bool]:
    return [type(list.__getitem__(items, place)) is Raw for place in range(len(items))]


READING: dict[str, Callable[[list[Client]], Any]] = {
    "all": list,
    "a slice": lambda clients: clients[1:],
    "the last": lambda clients: clients[-1],
    "backwards": lambda clients: list(reversed(clients)),
    "equal": lambda clients: clients == state_with(3).clients,
    "equal to a plain list": lambda clients: state_with(3).clients == clients,
    "contains": lambda clients: Client("client-1", since_ts=1) in clients,
    "index": lambda clients: clients.index(Client("client-2", since_ts=2)),
    "count": lambda clients: clients.count(Client("client-2", since_ts=2)),
    "sum of lists": lambda clients: clients.__add__([Client("x")]),
    "sorted": lambda clients: sorted(clients, key=lambda one: -one.since_ts),
    "spread": lambda clients: [*clients],
    "text": repr,
    "popped": lambda clients: clients.pop(0),
    "copy": lambda clients: clients.copy(),
}


@pytest.mark.parametrize("read", READING.values(), ids=READING)
def test_it_reads_as_a_plain_list_does(read: Callable[[list[Client]], Any]) -> None:
    assert read(unpack(pack(state_with(3))).clients) == read(state_with(3).clients)


CHANGES: dict[str, Callable[[list[Client]], Any]] = {
    "append": lambda clients: clients.append(Client("new")),
    "extend": lambda clients: clients.extend([Client("new")]),
    "insert": lambda clients: clients.insert(0, Client("new")),
    "replace": lambda clients: clients.__setitem__(1, Client("new")),
    "delete": lambda clients: clients.__delitem__(1),
    "sort": lambda clients: clients.sort(key=lambda one: -one.since_ts),
    "clear": lambda clients: clients.clear(),
    "change a field": lambda clients: setattr(clients[2], "alive", 7),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_it_changes_and_packs_as_a_plain_list_does(change: Callable[[list[Client]], Any]) -> None:
    state, plain = unpack(pack(state_with(3))), state_with(3)
    change(state.clients)
    change(plain.clients)
    assert pack(state) == pack(plain)
    assert [key.client_id for key in keys_of(state.clients)] == [client.client_id for client in plain.clients]


def test_only_what_is_used_is_unpacked() -> None:
    state = unpack(pack(state_with(3)))
    group = Group(state, Settings())
    assert still_packed(state.clients) == [True, True, True]
    assert state.clients[group.client("client-1")].since_ts == 1
    assert group.queue(0, 1, 1) == 1
    assert still_packed(state.clients) == [True, False, True]
    assert still_packed(state.queues) == [True, True]
    group.unpack_all()
    assert type(state.clients) is type(state.queues) is list


@given(st.lists(st.integers(0, 4), max_size=6))
def test_whatever_is_used_it_packs_to_the_same(used: list[int]) -> None:
    packed = pack(state_with(5, queues=5))
    state = unpack(packed)
    for place in used:
        assert state.queues[place].queue_id == state.clients[place].since_ts == place
    assert pack(state) == packed


def test_a_damaged_item_is_named_when_it_is_used() -> None:
    state = unpack(pack(state_with(2)))
    damaged = PackedList(Raw(msgspec.msgpack.encode([["client-0"], [5]])), state.clients._form)  # type: ignore[attr-defined]
    assert damaged[0] == Client("client-0")
    with pytest.raises(StateVersionError, match=r"damaged .*evenkeel reseed"):
        damaged[1]
