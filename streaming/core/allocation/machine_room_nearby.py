"""MACHINE_ROOM_NEARBY: queues go to clients of their own room, if it has any."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import TypeVar

from schemas.identity import MessageQueue, java_order
from streaming.core.allocation.by_config import ByConfig
from streaming.core.allocation.java import illegal_argument, null_pointer, queue_text
from streaming.core.allocation.strategy import Strategy, check, position_of

NAME_BEFORE_INNER = "MACHINE_ROOM_NEARBY"

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class MachineRoomNearby:
    """``AllocateMachineRoomNearby`` around another strategy.

    The queues of a room that has clients are shared among these; the queues of every other room, in the order of the
    rooms' names, among all clients. A client of a room without queues gets only the latter.

    RocketMQ asks a resolver of the user's for the rooms. Here two tables take its place, and ``by_prefix``: what is in
    neither has as its room what stands before this separator, as in RocketMQ's own example (``-``).
    """

    inner: Strategy
    broker_rooms: Mapping[str, str | None] = field(default_factory=dict, hash=False)
    client_rooms: Mapping[str, str | None] = field(default_factory=dict, hash=False)
    by_prefix: str = ""

    @property
    def name(self) -> str:
        return f"{NAME_BEFORE_INNER}-{self.inner.name}"

    def allocate(
        self, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> tuple[MessageQueue, ...]:
        if position_of(client_id, queues, client_ids) is None:
            return ()
        queues_in = _grouped(self._rooms_of_queues(queues), queues)
        clients_in = _grouped(self._rooms_of_clients(client_ids), client_ids)
        own_room = self._rooms_of_clients([client_id])[0]
        share: list[MessageQueue] = []
        if own_room in queues_in:
            share += self._inner_share(client_id, queues_in[own_room], clients_in[own_room])
        for room in _rooms_without_clients(queues_in, clients_in):
            share += self._inner_share(client_id, queues_in[room], client_ids)
        return tuple(share)

    def shares(self, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[tuple[MessageQueue, ...]]:
        check(client_ids[0], queues, client_ids)
        queues_in = _grouped(self._rooms_of_queues(queues), queues)
        rooms = self._rooms_of_clients(client_ids)
        clients_in = _grouped(rooms, client_ids)
        self._refuse_null_list()
        of_own_room = {
            room: iter(self.inner.shares(queues_in[room], clients))
            for room, clients in clients_in.items()
            if room in queues_in
        }
        shares = [next(of_own_room[room]) if room in of_own_room else () for room in rooms]
        for room in _rooms_without_clients(queues_in, clients_in):
            shares = list(map(add, shares, self.inner.shares(queues_in[room], client_ids)))
        return shares

    def _inner_share(
        self, client_id: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]
    ) -> tuple[MessageQueue, ...]:
        self._refuse_null_list()
        return self.inner.allocate(client_id, queues, client_ids)

    def _refuse_null_list(self) -> None:
        """Java adds the inner answer to a list, and null cannot be added."""
        if isinstance(self.inner, ByConfig) and self.inner.message_queue_list is None:
            raise null_pointer("the inner strategy returned null")

    def _rooms_of_queues(self, queues: Sequence[MessageQueue]) -> list[str]:
        broker_names = {queue.broker_name for queue in queues}
        room_of = {broker_name: self._room(self.broker_rooms, broker_name) for broker_name in broker_names}
        rooms = []
        for queue in queues:
            room = room_of[queue.broker_name]
            if not room:
                raise illegal_argument(f"Machine room is null for mq {queue_text(queue)}")
            rooms.append(room)
        return rooms

    def _rooms_of_clients(self, client_ids: Sequence[str]) -> list[str]:
        rooms = []
        for client_id in client_ids:
            room = self._room(self.client_rooms, client_id)
            if not room:
                raise illegal_argument(f"Machine room is null for consumer id {client_id}")
            rooms.append(room)
        return rooms

    def _room(self, table: Mapping[str, str | None], name: str) -> str | None:
        if name in table:
            return table[name]
        return name.partition(self.by_prefix)[0] if self.by_prefix else None


def _grouped(rooms: Sequence[str], items: Sequence[Item]) -> dict[str, list[Item]]:
    groups: dict[str, list[Item]] = {}
    for room, item in zip(rooms, items, strict=True):
        groups.setdefault(room, []).append(item)
    return groups


def _rooms_without_clients(queues_in: Iterable[str], clients_in: Container[str]) -> list[str]:
    return sorted((room for room in queues_in if room not in clients_in), key=java_order)
