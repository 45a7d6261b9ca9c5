"""The members of a group as one broker names them, and what has changed since its last answer."""

from collections import Counter, deque
from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from schemas.events import BrokerAnswer, MessageModel, UnchangedList
from schemas.identity import is_retry_topic
from streaming.collector.translation import repetition
from streaming.collector.translation.alive_channels import AliveChannels, listed_twice
from streaming.collector.translation.reports import message_model
from streaming.collector.wire import answers

SUBSCRIPTION_TURNS_MS = 120_000  # heartbeats come every 30 s
LITE_SELECTIVE = "LITE_SELECTIVE"  # MessageModel of clients that subscribe to lite topics, from 5.5 on


class Profile(NamedTuple):
    """The properties of a client that a broker knows from its connections."""

    addresses: tuple[str, ...] = ()
    language: str | None = None
    version: str | None = None
    message_model: MessageModel | None = None
    consume_type: str | None = None
    alive: int | None = None


UNKNOWN = Profile()


def listed(answer: answers.ConsumerListAnswer) -> tuple[str, ...] | None:
    """The ids of an answer, double entries kept; None: the broker did not say who its members are."""
    if answer.code == answers.SUCCESS:
        return tuple(filter(None, answer.ids or ()))
    return () if answer.code == answers.SYSTEM_ERROR else None


def confirmed(answer: answers.ConsumerListAnswer, connections: answers.ConnectionsAnswer) -> answers.ConsumerListAnswer:
    """A list's code 1 says that there is no such group, but also that a request was refused, for any reason.

    Only the code that connections give tells the two apart. What is not confirmed is no answer.
    """
    if answer.code != answers.SYSTEM_ERROR or connections.code == answers.CONSUMER_NOT_ONLINE:
        return answer
    result = "members" if connections.code == answers.SUCCESS else connections.failure
    return replace(answer, code=None, ids=None, error=f"code 1, which connections do not confirm: {result}")


class BrokerView:
    """One broker's members of one group. ``ids`` is the last list it answered, None before the first."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ids: tuple[str, ...] | None = None
        self.is_lite = False  # whether its clients consume lite topics, by their newest connections
        self._list_ts = -1
        self._connections_ts = -1
        self._profiles: dict[str, Profile] = {}
        self._connections_digest = 0  # of those that the profiles are made of
        self._alive = AliveChannels()
        self._last_heartbeats: dict[str, repetition.Sent] = {}
        self._heartbeats_from_ts: dict[str, int] = {}  # by client id: none is due before, unless something changes
        self.turns: deque[tuple[int, tuple[str, ...]]] = deque()  # sets of topics subscribed to, and since when
        self._is_other = False  # than the list in the last marker
        self._listed_since = 0
        self._version = 0  # of the list
        self._sent: repetition.Sent | None = None  # the list in markers

    def is_outdated(self, answer: answers.ConsumerListAnswer) -> bool:
        """Returns whether a list that was asked for later has been taken already."""
        return answer.ts < self._list_ts

    def take_list(self, answer: answers.ConsumerListAnswer) -> tuple[list[str], list[str]]:
        """Ids that appeared and that disappeared, once for each entry. The first list only says where we start."""
        self._list_ts = answer.ts
        ids = listed(answer)
        if ids is None:
            return [], []
        before, self.ids = self.ids, ids
        if before == ids:
            return [], []
        self._version = repetition.data_version("\n".join(sorted(ids)).encode("utf-8", "surrogatepass"))
        self._connections_digest = 0
        self._heartbeats_from_ts.clear()
        self._alive.keep_only(listed_twice(ids))
        for client_id in set(self._last_heartbeats) - set(ids):
            del self._last_heartbeats[client_id]
            self._profiles.pop(client_id, None)
        if before is None:
            return [], []
        if sorted(before) != sorted(ids):
            self.turns.clear()
            self._is_other = True
        then, now = Counter(before), Counter(ids)
        return sorted((now - then).elements()), sorted((then - now).elements())

    def take_connections(self, answer: answers.ConnectionsAnswer) -> None:
        if answer.ts < self._connections_ts:
            return
        if answer.code == answers.CONSUMER_NOT_ONLINE:
            self._connections_ts = answer.ts
            self._profiles.clear()
            self._connections_digest = 0
            self._heartbeats_from_ts.clear()
        elif answer.code == answers.SUCCESS and answer.body is not None:
            self._connections_ts = answer.ts
            self.is_lite = answer.body.message_model == LITE_SELECTIVE
            self._take_profiles(answer.body)
            self._note_subscriptions(answer.ts, answer.body.topics)

    def take_heartbeats(self, answer: answers.HeartbeatsAnswer) -> None:
        self._alive.take(answer.channels, answer.ts)
        self._heartbeats_from_ts.clear()

    def _take_profiles(self, body: answers.ConsumerConnection) -> None:
        """From one answer to the next they are mostly the same, in another order."""
        digest = hash((frozenset(body.connection_set or ()), body.consume_type, body.message_model))
        if digest != self._connections_digest:
            listed_ids = set(self.ids or ())
            still_listed = {c: p for c, p in self._profiles.items() if c in listed_ids}
            self._profiles = {**still_listed, **_profiles(body)}
            self._connections_digest = digest
            self._heartbeats_from_ts.clear()

    def _note_subscriptions(self, ts: int, named: Iterable[str]) -> None:
        topics = tuple(topic for topic in named if not is_retry_topic(topic))
        if not self.turns or self.turns[-1][1] != topics:
            self.turns.append((ts, topics))
        while len(self.turns) > 1 and self.turns[1][0] < ts - SUBSCRIPTION_TURNS_MS:
            self.turns.popleft()

    def set_back(self, by_ms: int) -> None:
        self._list_ts -= by_ms
        self._connections_ts -= by_ms
        self._listed_since = max(0, self._listed_since - by_ms)
        self._last_heartbeats = {client_id: sent.set_back(by_ms) for client_id, sent in self._last_heartbeats.items()}
        self._heartbeats_from_ts.clear()
        self._sent = self._sent and self._sent.set_back(by_ms)
        self.turns = deque((ts - by_ms, topics) for ts, topics in self.turns)

    def subscribed(self, since_ts: int) -> tuple[str, ...] | None:
        """The topics of the last heartbeat without retry topics; None: it has not shown them since.

        ``ConsumerGroupInfo.updateSubscription`` drops what that heartbeat does not name.
        """
        return self.turns[-1][1] if self.turns and self._connections_ts >= since_ts else None

    def rival_subscriptions(self) -> set[tuple[str, ...]]:
        """Sets of topics that took turns: one came back after another. A single change is no rivalry."""
        sets = [topics for _, topics in self.turns]
        return set(sets) if len(set(sets)) < len(sets) else set()

    def send_due_heartbeats(self, ts: int) -> Iterable[tuple[str, Profile, bool]]:
        """Yields the listed clients whose heartbeat is sent now, and whether it is news, and notes that it is sent.

        Those are new or changed ones, and those whose turn it is.
        """
        from_ts = self._heartbeats_from_ts
        for client_id in [one for one in dict.fromkeys(self.ids or ()) if from_ts.get(one, 0) <= ts]:
            profile = self._profile(client_id)
            sent, version = self._last_heartbeats.get(client_id), hash(profile)
            is_news = sent is None or sent.version != version
            is_apart = sent is None or is_news or ts - sent.ts >= repetition.HEARTBEATS_APART_MS
            if is_apart and repetition.is_due(client_id, sent, version, ts, repetition.HEARTBEATS_WITHIN_MS):
                sent = self._last_heartbeats[client_id] = repetition.sent_now(sent, version, ts)
                yield client_id, profile, is_news
            if sent is not None:
                within_ms, apart_ms = repetition.HEARTBEATS_WITHIN_MS, repetition.HEARTBEATS_APART_MS
                from_ts[client_id] = repetition.may_be_due_from(client_id, sent, within_ms, apart_ms)

    def alive_twice(self) -> frozenset[str]:
        """Ids under which two connections are alive."""
        return frozenset(c for c in self._profiles if (self._profile(c).alive or 0) > 1)

    def _profile(self, client_id: str) -> Profile:
        profile = self._profiles.get(client_id, UNKNOWN)
        alive = self._alive.of(client_id, profile.addresses) if len(profile.addresses) > 1 else None
        return profile if alive is None else profile._replace(alive=alive)

    def answer(
        self, answer: answers.ConsumerListAnswer | None, marker_ts: int, may_confirm: bool
    ) -> BrokerAnswer | UnchangedList:
        """Its line in the round's marker, which has the time ``marker_ts``.

        ``may_confirm`` false: with the whole list, even if it has not changed.
        """
        ids = None if answer is None else listed(answer)
        if ids is None:
            self._sent = None
            return BrokerAnswer(self.name, answered=False, error="no answer" if answer is None else answer.failure)
        if self._is_other:
            self._is_other, self._listed_since = False, marker_ts
        is_in_full = not may_confirm or repetition.is_due(
            self.name, self._sent, self._version, marker_ts, repetition.MARKERS_WITHIN_MS, repetition.LIST_EVERY_MS
        )
        if not is_in_full:
            return UnchangedList(self.name, self._version, self._listed_since)
        self._sent = repetition.sent_now(self._sent, self._version, marker_ts)
        return BrokerAnswer(
            self.name, answered=True, client_ids=ids, listed_since=self._listed_since, data_version=self._version
        )

    def send_all(self) -> None:
        self._sent = None
        self._last_heartbeats.clear()
        self._heartbeats_from_ts.clear()


def _profiles(body: answers.ConsumerConnection) -> dict[str, Profile]:
    """The last connection of an id, by address, gives its language and version."""
    last: dict[str, answers.Connection] = {}
    addresses: dict[str, list[str]] = {}
    for one in sorted(body.connection_set or (), key=lambda c: (c.client_id, c.address or "")):
        last[one.client_id] = one
        if one.address:
            addresses.setdefault(one.client_id, []).append(one.address)
    return {
        client_id: Profile(
            addresses=tuple(addresses.get(client_id, ())),
            language=one.language,
            version=None if one.version is None else str(one.version),
            message_model=message_model(body.message_model),
            consume_type=body.consume_type,
        )
        for client_id, one in last.items()
    }
