"""MACHINE_ROOM_NEARBY: queues go to clients of their own room, if it has any."""

from collections.abc import Mapping, Sequence
from operator import add
from typing import TypeVar

from schemas.identity import java_order
from streaming.core.allocation.by_config import ByConfig
from streaming.core.allocation.strategy import (
    Queues,
    Share,
    Strategy,
    check,
    illegal_argument,
    null_pointer,
    queue_text,
)

NAME_BEFORE_INNER = "MACHINE_ROOM_NEARBY"

Item = TypeVar("Item")


class MachineRoomNearby(Strategy, frozen=True):
    """``AllocateMachineRoomNearby`` around another strategy.

    The queues of a room that has clients are shared among these; the queues of every other room, in the order of the
    rooms' names, among all clients. A client of a room without queues gets only the latter.

    RocketMQ asks a resolver of the user's for the rooms. Here two tables take its place, and ``by_prefix``: what is in
    neither has as its room what stands before this separator, as in RocketMQ's own example (``-``).
    """

    inner: Strategy
    broker_rooms: Mapping[str, str | None] = {}
    client_rooms: Mapping[str, str | None] = {}
    by_prefix: str = ""

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"{NAME_BEFORE_INNER}-{self.inner.name}"

    def __hash__(self) -> int:
        return hash((self.inner, self.by_prefix))

    def shares(self, queues: Queues, client_ids: Sequence[str]) -> list[Share]:
        check(client_ids[0], queues, client_ids)
        queues_in = _grouped(self._rooms_of_queues(queues), queues)
        rooms = [_required(self._room(self.client_rooms, one), f"consumer id {one}") for one in client_ids]
        clients_in = _grouped(rooms, client_ids)
        if isinstance(self.inner, ByConfig) and self.inner.message_queue_list is None:
            raise null_pointer("the inner strategy returned null")  # Java adds it to a list, and null cannot be added
        of_own_room = {
            room: iter(self.inner.shares(queues_in[room], clients))
            for room, clients in clients_in.items()
            if room in queues_in
        }
        shares = [next(of_own_room[room]) if room in of_own_room else () for room in rooms]
        for room in sorted(queues_in.keys() - clients_in.keys(), key=java_order):
            shares = list(map(add, shares, self.inner.shares(queues_in[room], client_ids)))
        return shares

    def _rooms_of_queues(self, queues: Queues) -> list[str]:
        broker_names = {queue.broker_name for queue in queues}
        room_of = {broker_name: self._room(self.broker_rooms, broker_name) for broker_name in broker_names}
        return [room_of[queue.broker_name] or _required(None, f"mq {queue_text(queue)}") for queue in queues]

    def _room(self, table: Mapping[str, str | None], name: str) -> str | None:
        if name in table:
            return table[name]
        return name.partition(self.by_prefix)[0] if self.by_prefix else None


def _required(room: str | None, of_what: str) -> str:
    if not room:
        raise illegal_argument(f"Machine room is null for {of_what}")
    return room


def _grouped(rooms: Sequence[str], items: Sequence[Item]) -> dict[str, list[Item]]:
    groups: dict[str, list[Item]] = {}
    for room, item in zip(rooms, items, strict=True):
        groups.setdefault(room, []).append(item)
    return groups
