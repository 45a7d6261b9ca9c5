"""What a restarted collector must know of the groups that it watched before.

Brokers know every group that ever was, but not which of them had members a moment ago.
"""

from msgspec import Struct, field

Turns = dict[str, list[tuple[int, tuple[str, ...]]]]  # broker name -> sets of topics, and since when


class Remembered(Struct, omit_defaults=True):
    """A group of which rounds are told. ``empty_since``: when it last had members, 0: it has them."""

    topics: tuple[str, ...] = ()
    empty_since: int = 0
    turns: Turns = field(default_factory=dict)  # where members overwrite each other's subscriptions


class Memory(Struct):
    """The groups of one cluster; ``ts`` is when this was known. ``blind_ts``: when it began without a memory, or 0."""

    ts: int
    groups: dict[str, Remembered]
    blind_ts: int = 0
