"""When something that has not changed is sent in full once more, and not only confirmed by the round.

What has changed is sent in full several times, so that one lost record does no harm. After that it is sent every few
minutes, so that a reader learns all that it missed. Things take turns within that time: they do not all come at once.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from streaming.collector.wire.answers import SUCCESS, SubscriptionGroupAnswer

EVERY_MS = 300_000
# Where a list is not known, its broker counts as silent and the group as UNKNOWN. Five minutes of that are too long, so
# a list is sent more often than all else. EVERY_MS is a multiple of it: so each five minutes at rest are like the last.
LIST_EVERY_MS = EVERY_MS // 2
# After a change, for so long:
MARKERS_WITHIN_MS = 12_000  # three markers
REPORTS_WITHIN_MS = 45_000  # a client is asked every 30 s, sooner once more where its report disagrees with others
HEARTBEATS_WITHIN_MS, HEARTBEATS_APART_MS = 65_000, 30_000
VERSIONS = 2**16 - 1  # enough: a version is looked at only where all copies of a change were lost
INSTANCES_REMEMBERED = 4  # under one client id


class Sent(NamedTuple):
    """``version`` of what was sent, since when it is sent, and when it was last sent in full."""

    version: int
    since_ts: int
    ts: int

    def set_back(self, by_ms: int) -> "Sent":
        return Sent(self.version, self.since_ts - by_ms, self.ts - by_ms)


def data_version(content: bytes) -> int:
    """A number for the content, never 0."""
    return crc32(content) % VERSIONS + 1


def is_due(name: str, sent: Sent | None, version: int, ts: int, within_ms: int, every_ms: int = EVERY_MS) -> bool:
    """Returns whether to send it in full at ``ts``. ``within_ms`` after a change it is sent in full each time."""
    if sent is None or sent.version != version or ts - sent.since_ts <= within_ms:
        return True
    phase_ms = _phase_ms(name, every_ms)
    return (ts + phase_ms) // every_ms != (sent.ts + phase_ms) // every_ms


def may_be_due_from(name: str, sent: Sent, within_ms: int, apart_ms: int, every_ms: int = EVERY_MS) -> int:
    """Returns from when on ``is_due`` may say so of what does not change.

    ``apart_ms``: it is sent so much later at the earliest.
    """
    apart_ts = sent.ts + apart_ms
    if apart_ts - sent.since_ts <= within_ms:
        return apart_ts
    phase_ms = _phase_ms(name, every_ms)
    return max(apart_ts, ((sent.ts + phase_ms) // every_ms + 1) * every_ms - phase_ms)


def _phase_ms(name: str, every_ms: int) -> int:
    return crc32(name.encode("utf-8", "surrogatepass")) % every_ms


def sent_now(before: Sent | None, version: int, ts: int) -> Sent:
    """Returns what to remember of sending it in full at ``ts``."""
    is_same = before is not None and before.version == version
    return Sent(version, before.since_ts if before is not None and is_same else ts, ts)


class SentReports:
    """The reports of a group's clients that were sent in full: the newest of each instance under each client id."""

    def __init__(self) -> None:
        self._sent: dict[str, dict[int, Sent]] = {}  # by client id and start of the instance

    def is_due(self, client_id: str, start_ts: int, version: int, ts: int) -> bool:
        """Returns whether the report is to be sent in full at ``ts``, and not only confirmed."""
        sent = self._sent.get(client_id, {}).get(start_ts)
        return is_due(client_id, sent, version, ts, REPORTS_WITHIN_MS)

    def note(self, client_id: str, start_ts: int, version: int, ts: int) -> None:
        """The report was sent in full at ``ts``."""
        instances = self._sent.setdefault(client_id, {})
        instances[start_ts] = sent_now(instances.pop(start_ts, None), version, ts)
        while len(instances) > INSTANCES_REMEMBERED:
            del instances[next(iter(instances))]

    def forget(self, client_id: str) -> None:
        self._sent.pop(client_id, None)

    def send_all(self) -> None:
        self._sent.clear()

    def set_back(self, by_ms: int) -> None:
        self._sent = {
            client_id: {start: sent.set_back(by_ms) for start, sent in instances.items()}
            for client_id, instances in self._sent.items()
        }


T = TypeVar("T", bool, tuple[str, ...])


class MarkerSettings:
    """Belongs to one group. ``confirms`` false: each marker says everything."""

    def __init__(self, group: str, confirms: bool) -> None:
        self.pop_topics: tuple[str, ...] = ()
        self.popped_in_part: tuple[str, ...] = ()
        self.lite = False
        self._group = group
        self._confirms = confirms
        self._consume_enable: bool | None = None
        self._orderly: bool | None = None
        self._topics_named: set[str] = set()
        self._sent: dict[str, Sent] = {}

    def take(self, answer: SubscriptionGroupAnswer) -> None:
        if answer.code == SUCCESS:
            self._consume_enable = answer.consume_enable
            self._orderly = answer.orderly
            self.pop_topics = answer.pop_topics or ()
            self.popped_in_part = answer.popped_in_part
            self.lite = answer.lite

    def named_in_events(self, topics: Iterable[str]) -> None:
        """Topics that the group's events name."""
        self._topics_named.update(topics)

    def send(self, ts: int, subscribed: tuple[str, ...] | None) -> dict[str, Any]:
        """Returns these fields of the marker at ``ts``. What it leaves out is as it was last sent.

        A disabled or an orderly group is judged by other rules. So each marker says it: a reader that has just begun
        must not judge it as any other group. ``subscribed`` is sent again when events have named another topic: it says
        of each topic that a reader knows whether it is subscribed to.
        """
        if not self._confirms:
            return {"consume_enable": self._consume_enable, "orderly": self._orderly, "subscribed": subscribed}
        consume_enable = self._send_if_due("consume_enable", self._consume_enable, ts)
        orderly = self._send_if_due("orderly", self._orderly, ts)
        return {
            "consume_enable": False if self._consume_enable is False else consume_enable,
            "orderly": self._orderly or orderly,
            "subscribed": self._send_if_due("subscribed", subscribed, ts, len(self._topics_named)),
        }

    def _send_if_due(self, field: str, value: T | None, ts: int, about: object = None) -> T | None:
        """Returns the value and notes that it is sent; None where the marker leaves it out.

        ``about``: what else must be as it was when the value was last sent.
        """
        if value is None:
            return None
        sent, version = self._sent.get(field), hash((value, about))
        if not is_due(f"{self._group} {field}", sent, version, ts, MARKERS_WITHIN_MS):
            return None
        self._sent[field] = sent_now(sent, version, ts)
        return value

    def set_back(self, by_ms: int) -> None:
        self._sent = {field: sent.set_back(by_ms) for field, sent in self._sent.items()}

    def send_all(self) -> None:
        self._sent.clear()
