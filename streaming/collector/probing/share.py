"""The share of a cluster that one collector asks, where several share it: which groups, and which clients.

A cluster has ``SLOTS`` slots. Each slot is asked by one collector, as a whole cluster is without sharing. Its limits of
requests are those of a cluster divided by ``SLOTS``. So their sum is never exceeded, however many collectors there are.
A group belongs to a slot by its name, unless it was given to another one.

A client may be in groups of several slots, and must be asked by one collector alone. So all slots of a cluster write to
one log, whose order is the same for all readers:

- **A claim** says that a slot's groups have this client. The slot whose claim comes first may ask the client, until
  that slot itself takes its claim back. It does so only when no request to the client is on its way.
- **A gift** says that a group belongs to another slot from here on. Only the slot to which it belongs writes it, when
  nothing of the group is asked any more.

Each slot writes only about what it has. So a reader that is behind may wait for too long, but never asks beside
another one. Where two slots claim one client, the groups that share it go to the slot with the lower number, with all
other groups that share clients with them. Groups that share nothing any more go back after ``RETURN_MS``. A group that
lost its members goes back when its slot has reported that for long enough: its home does not know that it had members.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import NamedTuple
from zlib import crc32

SLOTS = 4  # the smallest limit of requests, ``wire.client.Lane.TABLES``, is divided by it
RELEASE_MS = 60_000  # after no group has the client any more: it may only have lost its connection
RETURN_MS = 600_000  # groups of a deploy that share clients for a moment need not move twice
OTHER_COLLECTOR = "another collector asks it, or did so a moment ago"
CLIENT, GROUP = "client", "group"
Write = Callable[[str, bytes | None], None]


def home_of(group: str) -> int:
    """The slot of a group that was not given to another one."""
    return crc32(group.encode("utf-8", "surrogatepass")) % SLOTS


class Log:
    """The log of one cluster as far as it was read.

    One thread calls ``add`` and ``begin``, and any thread ``has_stayed``. All else is called by the event loop.

    Keys are ``client/SLOT/CLIENT_ID`` for claims, and ``group/NAME`` for gifts, whose value is the slot. An empty value
    takes the claim back, or gives the group back. The newest record of a key counts, so the log may be compacted.
    """

    def __init__(self) -> None:
        self.changes = 0  # of the groups' slots
        self._moved: dict[str, int] = {}  # groups that were seen to move since this collector was started: which change
        self._unread: deque[tuple[str, bytes | None] | None] = deque()
        self._claims: dict[str, tuple[int, ...]] = {}  # by client id, the first one first
        self._of_slot: tuple[set[str], ...] = tuple(set() for _ in range(SLOTS))
        self._contested: set[str] = set()
        self._away: dict[str, int] = {}  # groups that are not at home -> their slot
        self._waiting: dict[str, int] = {}  # keys -> how many own records were written and not read

    def add(self, key: str, value: bytes | None) -> None:
        self._unread.append((key, value))

    def begin(self) -> None:
        """The log is read from its beginning once more."""
        self._unread.append(None)

    # --- what the slots ask

    def slot_of(self, group: str) -> int:
        self.follow()
        return self._away.get(group, home_of(group))

    def away(self, slot: int) -> list[str]:
        """Groups that belong to a slot which is not their home."""
        self.follow()
        return [group for group, at in self._away.items() if at == slot]

    def claims(self, client_id: str) -> tuple[int, ...]:
        self.follow()
        return self._claims.get(client_id, ())

    def claimed(self, slot: int) -> Set[str]:
        self.follow()
        return self._of_slot[slot]

    def contested(self) -> Set[str]:
        """Clients that several slots claim."""
        self.follow()
        return self._contested

    def moved_after(self, change: int) -> list[str]:
        """Groups whose slot may be another one than at that change."""
        return [group for group, at in self._moved.items() if at > change] if change < self.changes else []

    def has_stayed(self, group: str, slot: int) -> bool:
        """Returns whether a slot has had the group since this collector was started, by what the event loop knows."""
        return group not in self._moved and home_of(group) == slot

    # --- what they write

    def is_waiting(self, key: str) -> bool:
        """Returns whether a record was written that was not read yet: what it changes is not decided."""
        self.follow()
        return key in self._waiting

    def written(self, key: str) -> None:
        self._waiting[key] = self._waiting.get(key, 0) + 1

    # --- reading

    def follow(self) -> None:
        """Takes up what was read. Nothing else does where this collector asks no slot of the cluster."""
        while self._unread:
            record = self._unread.popleft()
            if record is None:
                self._forget()
            else:
                self._take(*record)

    def _forget(self) -> None:
        self.changes += 1
        given = (key.removeprefix(f"{GROUP}/") for key in self._waiting if key.startswith(f"{GROUP}/"))
        self._moved |= dict.fromkeys((*self._away, *given), self.changes)
        self._claims, self._contested, self._away, self._waiting = {}, set(), {}, {}
        self._of_slot = tuple(set() for _ in range(SLOTS))

    def _take(self, key: str, value: bytes | None) -> None:
        if key in self._waiting:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key]
        kind, _, rest = key.partition("/")
        if kind == GROUP:
            self._take_gift(rest, value)
        elif kind == CLIENT:
            slot, _, client_id = rest.partition("/")
            self._take_claim(int(slot), client_id, is_made=bool(value))

    def _take_gift(self, group: str, value: bytes | None) -> None:
        slot = int(value) if value else home_of(group)
        if slot != self._away.get(group, home_of(group)):
            self.changes += 1
            self._moved[group] = self.changes
        if slot == home_of(group):
            self._away.pop(group, None)
        else:
            self._away[group] = slot

    def _take_claim(self, slot: int, client_id: str, is_made: bool) -> None:
        others = tuple(one for one in self._claims.get(client_id, ()) if one != slot)
        now = (*others, slot) if is_made else others
        (self._of_slot[slot].add if is_made else self._of_slot[slot].discard)(client_id)
        (self._contested.add if len(now) > 1 else self._contested.discard)(client_id)
        if now:
            self._claims[client_id] = now
        else:
            self._claims.pop(client_id, None)


class Members(NamedTuple):
    """Who shares what, in one slot: the groups of each client, and the clients of each group."""

    groups_of: Callable[[str], Iterable[str]]
    clients_of: Callable[[str], Iterable[str]]

    def together(self, group: str) -> tuple[set[str], set[str]]:
        """All groups that share clients with the group, or with one of those; and all their clients."""
        groups, clients, to_see = {group}, set[str](), [group]
        while to_see:
            new = set(self.clients_of(to_see.pop())) - clients
            clients |= new
            more = {other for client_id in new for other in self.groups_of(client_id)} - groups
            groups |= more
            to_see += more
        return groups, clients


class Move(NamedTuple):
    """Groups that share clients, all these clients, and the slot to which they are to go."""

    groups: frozenset[str]
    clients: frozenset[str]
    slot: int


class Share:
    """One slot of a cluster, as long as one collector asks it. ``write`` adds a record to the log; it raises
    CancelledError, if another collector may ask the slot now. ``report_empty_ms``: how long rounds are made of a group
    that lost its members.
    """

    def __init__(self, slot: int, log: Log, write: Write, report_empty_ms: int) -> None:
        self.slot = slot
        self._report_empty_ms = report_empty_ms
        self._log = log
        self._write = write
        self._leaving: set[str] = set()  # clients of groups that are to move
        self._unlisted_ts: dict[str, int] = {}
        self._lonely_ts: dict[tuple[str, bool], int] = {}  # groups that could go home, with clients or not: since when
        self._changes = 0

    # --- what may be asked

    def has(self, group: str) -> bool:
        return self._log.slot_of(group) == self.slot and not self._log.is_waiting(_gift(group))

    def has_always_had(self, group: str) -> bool:
        """Another thread asks this."""
        return self._log.has_stayed(group, self.slot)

    def may_ask(self, client_id: str) -> bool:
        if client_id in self._leaving or self._log.claims(client_id)[:1] != (self.slot,):
            return False
        return not self._log.is_waiting(self._claim(client_id))

    def moved(self) -> list[str]:
        """Groups that may have come or gone since the last time."""
        before, self._changes = self._changes, self._log.changes
        return self._log.moved_after(before)

    # --- what is written

    def claim(self, client_id: str) -> None:
        """A group of this slot has the client. A second claim would count as made later than the first."""
        if client_id not in self._log.claimed(self.slot):
            self._put(self._claim(client_id), is_wanted=True)

    def reconcile(self, listed: Set[str], is_busy: Callable[[str], bool], now: int) -> None:
        """Claims the clients that are listed, and releases those that have not been for a while."""
        claimed = self._log.claimed(self.slot)
        for client_id in listed - claimed:
            self.claim(client_id)
        gone = set(claimed - listed)
        self._unlisted_ts = {client_id: self._unlisted_ts.get(client_id, now) for client_id in gone}
        for client_id, ts in self._unlisted_ts.items():
            if now - ts >= RELEASE_MS and not is_busy(client_id):
                self._put(self._claim(client_id), is_wanted=False)

    def moves(self, listed: Set[str], members: Members, now: int) -> Iterator[Move]:
        """What is to move. Their clients are not asked from here on, until they have moved or need not move."""
        self._leaving = set()
        before, self._lonely_ts = self._lonely_ts, {}
        seen: set[str] = set()
        for group in [*self._contested_groups(listed, members), *self._log.away(self.slot)]:
            if group in seen or not self.has(group):
                continue
            groups, clients = members.together(group)
            seen |= groups
            slot = self._slot_for(groups, clients, now, before)
            if slot != self.slot:
                self._leaving |= clients
                yield Move(frozenset(groups), frozenset(clients), slot)

    def may_move(self, move: Move, is_busy: Callable[[str], bool]) -> bool:
        """Returns whether nothing is on its way to one of the clients, and nothing about them in the log."""
        keys = [*map(self._claim, move.clients), *map(_gift, move.groups)]
        return not any(map(self._log.is_waiting, keys)) and not any(map(is_busy, move.clients))

    def give(self, move: Move) -> None:
        """Nothing of these groups is asked any more. Claims first: a reader of the gift must find none of this slot."""
        for client_id in sorted(move.clients):
            self._put(self._claim(client_id), is_wanted=False)
        for group in sorted(move.groups):
            value = None if move.slot == home_of(group) else str(move.slot).encode()
            self._write_record(_gift(group), value)

    def _contested_groups(self, listed: Set[str], members: Members) -> Iterator[str]:
        for client_id in sorted(self._log.contested() & listed):
            if min(self._log.claims(client_id)) < self.slot:
                yield from members.groups_of(client_id)

    def _slot_for(
        self, groups: Set[str], clients: Set[str], now: int, lonely_before: Mapping[tuple[str, bool], int]
    ) -> int:
        """The lowest slot that claims one of the clients. If there is no other: the lowest home, after a while."""
        others = {slot for client_id in clients for slot in self._log.claims(client_id)} - {self.slot}
        home = min(map(home_of, groups))
        if others or home == self.slot:
            return min(others | {self.slot})
        keys = [(group, bool(clients)) for group in groups]
        since_ts = {key: lonely_before.get(key, now) for key in keys}
        self._lonely_ts |= since_ts
        wait_ms = RETURN_MS if clients else self._report_empty_ms
        return home if now - max(since_ts.values()) >= wait_ms else self.slot

    def _claim(self, client_id: str) -> str:
        return f"{CLIENT}/{self.slot}/{client_id}"

    def _put(self, key: str, is_wanted: bool) -> None:
        if not self._log.is_waiting(key):
            self._write_record(key, b"1" if is_wanted else None)

    def _write_record(self, key: str, value: bytes | None) -> None:
        self._write(key, value)
        self._log.written(key)


def _gift(group: str) -> str:
    return f"{GROUP}/{group}"


class Whole:
    """Stands for ``Share`` where one collector asks the whole cluster."""

    def has(self, _: str) -> bool:
        return True

    def has_always_had(self, _: str) -> bool:
        return True

    def may_ask(self, _: str) -> bool:
        return True

    def claim(self, _: str) -> None:
        """Nobody else asks it."""


WHOLE = Whole()
