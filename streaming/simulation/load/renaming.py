"""Renames a simulated group to a generated one, with names in the same order.

The order of client ids and of topics is kept, since the strategies go by it. A strategy that goes by the names
themselves (CONSISTENT_HASH, or rooms in client ids) cannot be renamed.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from schemas.identity import host_of, is_retry_topic, java_order, retry_topic
from streaming.simulation.load.event_template import NameKind, Placeholders

_HOSTS = 254 * 256 * 256  # addresses in 10.0.0.0/8 whose last number is 1 to 254


class GroupIdentity(NamedTuple):
    """The names of a group. ``source``: the producer of its events.

    ``has_nanos``: client ids are ``ip@pid#nanoseconds``, as clients from 4.9 on make them, else ``ip@pid``.
    """

    cluster: str
    source: str
    group: str
    topic: str
    has_nanos: bool = True


def new_names(placeholders: Placeholders, identity: GroupIdentity, random: Random) -> list[bytes]:
    """The group's names, as ``EventTemplate.fill`` takes them."""
    clients = _by_kind(placeholders, NameKind.CLIENT)
    found = dict(zip(clients, _client_ids(len(clients), identity.has_nanos, random), strict=True))
    hosts = {host_of(old): host_of(new) for old, new in found.items()}
    topics = [topic for topic in _by_kind(placeholders, NameKind.TOPIC) if not is_retry_topic(topic)]
    others = {topic: f"{identity.topic}-{index + 1}" if index else identity.topic for index, topic in enumerate(topics)}

    def named(kind: NameKind, text: str) -> str:
        if kind is NameKind.TOPIC:
            return others.get(text) or retry_topic(identity.group)
        if kind is NameKind.CLIENT:
            return found[text]
        return hosts[text] if kind is NameKind.HOST else str(getattr(identity, kind.value))

    return [named(kind, text).replace("%", "%%").encode() for kind, text in placeholders.names]


def _by_kind(placeholders: Placeholders, expected: NameKind) -> list[str]:
    return sorted((text for kind, text in placeholders.names if kind is expected), key=java_order)


def _client_ids(count: int, has_nanos: bool, random: Random) -> list[str]:
    """The client ids in their order, each on its own host."""
    made = []
    for number in random.sample(range(_HOSTS), count):
        high, low = divmod(number, 254)
        address = f"10.{high >> 8}.{high & 255}.{low + 1}"
        nanos = f"#{random.randrange(10**14, 8 * 10**14)}" if has_nanos else ""
        made.append(f"{address}@{random.randrange(1, 65_536)}{nanos}")
    return sorted(made, key=java_order)
