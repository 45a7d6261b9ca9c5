"""The state of each group under inspection: the core's state, and what the core does not need, such as the rates at
which messages arrive in each queue and leave it, from its offsets at two moments.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from schemas.events import AnyEvent, AssignmentReport, BrokerAnswer, ConsumeProgress, QueueProgress, Round, TopicRoute
from schemas.records import Rejected
from streaming.core.settings import Settings
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.step import take

WINDOW_MS = 60_000  # rates are taken over at most so long
SHORTEST_MS = 1_000  # a shorter time gives no useful rate
OLDEST_MS = 30_000  # brokers are asked every 10 s at least
OLDEST_EMPTY_MS = 120_000  # groups that have been without members for long are asked less often

Key = tuple[str, str, int]  # topic, broker name, queue id


class Flow(NamedTuple):
    """The rates of a queue; None: not known. ``out`` counts consumed messages: clients pull up to 1,000 ahead.

    ``over_ms``: the time between the two readings that the rates are made of.
    """

    in_per_s: float | None = None
    out_per_s: float | None = None
    lag: int | None = None
    over_ms: int = 0


class Waiting(NamedTuple):
    """The waiting messages; None: not known. ``consumed_ts``: when the newest message consumed there was stored."""

    messages: int | None
    queues: int
    consumed_ts: int | None


class _Sample(NamedTuple):
    ts: int
    offsets: QueueProgress


class OffsetHistory:
    """The offsets of every queue of one group within the last minute."""

    def __init__(self) -> None:
        self._samples: dict[Key, deque[_Sample]] = {}

    def take(self, event: ConsumeProgress) -> None:
        for offsets in event.queues:
            samples = self._samples.setdefault((event.topic, event.broker_name, offsets.queue_id), deque())
            if samples and event.ts <= samples[-1].ts:
                continue
            samples.append(_Sample(event.ts, offsets))
            while len(samples) > 2 and event.ts - samples[1].ts >= WINDOW_MS:
                samples.popleft()

    def flow(self, key: Key, now: int) -> Flow:
        """The flow at ``now``; not known if the offsets are old."""
        samples = self._samples.get(key)
        if not samples or now - samples[-1].ts > OLDEST_MS:
            return Flow()
        first, last = samples[0], samples[-1]
        took_ms = last.ts - first.ts
        if took_ms < SHORTEST_MS:
            return Flow(lag=_lag(last.offsets))
        return Flow(
            _rate(last.offsets.broker_offset - first.offsets.broker_offset, took_ms),
            _rate(last.offsets.consumer_offset - first.offsets.consumer_offset, took_ms),
            _lag(last.offsets),
            took_ms,
        )

    def waiting(self, now: int) -> Waiting:
        """The messages that wait in all queues whose offsets are recent enough."""
        newest = [samples[-1].offsets for samples in self._samples.values() if now - samples[-1].ts <= OLDEST_EMPTY_MS]
        lags = [lag for offsets in newest if (lag := _lag(offsets)) is not None]
        consumed_ts = max((offsets.consumed_ts for offsets in newest), default=0)
        return Waiting(sum(lags) if lags else None, sum(lag > 0 for lag in lags), consumed_ts or None)


def _lag(offsets: QueueProgress) -> int | None:
    if offsets.broker_offset < 0 or offsets.consumer_offset < 0:
        return None
    return max(0, offsets.broker_offset - offsets.consumer_offset)


def _rate(messages: int, took_ms: int) -> float | None:
    """The rate; None if offsets were reset in between."""
    return round(messages * 1000 / took_ms, 3) if messages >= 0 else None


class ObservedGroup:
    """One group. ``brokers`` are the answers of its newest round, ``first_ts`` is when its first round began.

    ``refused``: events of the group that are too large for evenkeel, and why.
    """

    def __init__(self, cluster: str, name: str, settings: Settings) -> None:
        self.name = name
        self.group = Group(new_state(cluster, name), settings)
        self.offsets = OffsetHistory()
        self.brokers: tuple[BrokerAnswer, ...] = ()
        self.refused: dict[str, str] = {}
        self.first_ts = 0
        self._listed: set[str] = set()
        self._reported: set[str] = set()
        self._asked: set[str] = set()
        self._failed: dict[str, str] = {}
        self._not_asked: dict[str, str] = {}

    def take(self, event: AnyEvent) -> None:
        refused = [one.why for one in take(self.group, event)]
        self.group.facts.clear()
        self._note_refused(event, refused)
        if isinstance(event, Round) and self.group.state.now >= event.ts:  # else it waits for the next to confirm it
            self._take_round(event)
        elif isinstance(event, ConsumeProgress):
            self.offsets.take(event)
        elif isinstance(event, AssignmentReport):
            self._take_report(event)

    def _note_refused(self, event: AnyEvent, why: list[Rejected]) -> None:
        """Note a refusal for size. Refusals for other reasons concern times: the next round brings the event again."""
        subject = _subject_of(event)
        detail = next((one.detail for one in why if one.reason == "too_many"), None)
        if detail is None:
            self.refused.pop(subject, None)
        else:
            self.refused[subject] = detail

    def _take_round(self, event: Round) -> None:
        self.first_ts = self.first_ts or event.round
        not_asked = {one.client_id: one.reason for one in event.not_asked}
        if event.part:  # the lists of a long round come in several parts
            self.brokers, self._not_asked = (*self.brokers, *event.brokers), self._not_asked | not_asked
        else:
            self.brokers, self._not_asked = event.brokers, not_asked
        self._asked |= set(event.asked)
        if event.part + 1 == event.parts:
            self._listed = {client_id for answer in self.brokers for client_id in answer.client_ids}
            self._reported &= self._listed
            self._asked &= self._listed

    def _take_report(self, event: AssignmentReport) -> None:
        if event.answered:
            self._reported.add(event.client_id)
            self._failed.pop(event.client_id, None)
        else:
            self._failed[event.client_id] = event.reason or "no answer"

    def why_silent(self, client_id: str) -> str:
        waits = "asked, no answer yet" if client_id in self._asked else "not asked yet"
        return self._failed.get(client_id) or self._not_asked.get(client_id) or waits

    @property
    def awaits_reports(self) -> bool:
        """True if some listed client has not answered."""
        return bool(self._listed - self._reported - self._failed.keys())


def _subject_of(event: AnyEvent) -> str:
    if isinstance(event, TopicRoute):
        return f"the route of {event.topic}"
    if isinstance(event, AssignmentReport):
        return f"the report of {event.client_id}"
    if isinstance(event, ConsumeProgress):
        return f"the offsets of {event.topic} on {event.broker_name}"
    return "the lists of its members"


class ObservedCluster:
    """All groups of one cluster, from a collector's events."""

    def __init__(self, cluster: str, settings: Settings) -> None:
        self.cluster = cluster
        self.groups: dict[str, ObservedGroup] = {}
        self._settings = settings

    def take(self, events: Iterable[AnyEvent]) -> None:
        for event in events:
            group = self.groups.get(event.group)
            if group is None:
                group = self.groups[event.group] = ObservedGroup(self.cluster, event.group, self._settings)
            group.take(event)
