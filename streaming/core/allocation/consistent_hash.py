"""CONSISTENT_HASH: clients and queues are hashed onto one ring."""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import md5
from struct import Struct
from typing import ClassVar

from schemas.identity import MessageQueue
from streaming.core.allocation.strategy import Queues, Share, Strategy, check, illegal_argument, queue_text

DEFAULT_VIRTUAL_NODE_CNT = 10  # AllocateMessageQueueConsistentHash's own
_first_four_bytes = Struct(">I").unpack_from


class ConsistentHash(Strategy, frozen=True):
    """``AllocateMessageQueueConsistentHash`` with RocketMQ's own hash function.

    Every client has ``virtual_node_cnt`` nodes on the ring; a queue belongs to the first node at or after its own
    place. With 0 nodes no client gets a queue. Another count or a custom hash function cannot be seen from outside.
    """

    virtual_node_cnt: int = DEFAULT_VIRTUAL_NODE_CNT

    name: ClassVar[str] = "CONSISTENT_HASH"

    def __post_init__(self) -> None:
        if self.virtual_node_cnt < 0:
            raise illegal_argument(f"illegal virtualNodeCnt :{self.virtual_node_cnt}")

    def shares(self, queues: Queues, client_ids: Sequence[str]) -> list[Share]:
        check(client_ids[0], queues, client_ids)
        ring = ring_of(tuple(client_ids), self.virtual_node_cnt)
        shares: list[list[MessageQueue]] = [[] for _ in client_ids]
        for queue, place in zip(queues, places_of(tuple(queues)), strict=True):
            owner = ring.owner(place)
            if owner is not None:
                shares[owner].append(queue)
        return [tuple(share) for share in shares]


@dataclass(frozen=True, slots=True)
class Ring:
    """The places of all nodes in ascending order, and the position of the client that each belongs to."""

    places: "array[int]"
    owners: "array[int]"

    def owner(self, place: int) -> int | None:
        """The client of the first node at or after this place; after the last node the ring begins again."""
        index = bisect_left(self.places, place)
        if index < len(self.places):
            return self.owners[index]
        return self.owners[0] if self.owners else None


@lru_cache(maxsize=1024)
def ring_of(client_ids: tuple[str, ...], virtual_node_cnt: int) -> Ring:
    """The ring of these members, kept until others push it out: building it takes a hash for every node.

    Clients are added in the order of the list. If two nodes have the same place, the later one replaces the other. If
    an id is listed again, its new nodes get the numbers after those that it has, so they are further nodes.
    """
    owner_at: dict[int, int] = {}
    for position, client_id in enumerate(client_ids):
        owner = client_ids.index(client_id)
        present = 0 if owner == position else sum(held_by == owner for held_by in owner_at.values())
        for number in range(present, present + virtual_node_cnt):
            owner_at[place_of(f"{client_id}-{number}")] = owner
    places = sorted(owner_at)
    return Ring(array("I", places), array("I", [owner_at[place] for place in places]))


@lru_cache(maxsize=1024)
def places_of(queues: Share) -> "array[int]":
    """The places of a topic's queues, kept because groups share topics and routes seldom change."""
    return array("I", [place_of(queue_text(queue)) for queue in queues])


def place_of(key: str) -> int:
    """A place on the ring: the first four bytes of the key's MD5, as RocketMQ's ``MD5Hash`` reads them."""
    place: int = _first_four_bytes(md5(utf8(key), usedforsecurity=False).digest())[0]
    return place


def utf8(text: str) -> bytes:
    """``String.getBytes(UTF_8)``: half a surrogate pair becomes a question mark, where Python refuses it."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        paired = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
        return paired.encode(errors="replace")
