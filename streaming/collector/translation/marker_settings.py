"""Settings and subscriptions of a group in its markers. They seldom change: most markers leave them out."""

from collections.abc import Iterable
from typing import Any, TypeVar

from streaming.collector.translation.repetition import MARKERS_WITHIN_MS, Sent, is_due, sent_now
from streaming.collector.wire.answers import SUCCESS, SubscriptionGroupAnswer

T = TypeVar("T", bool, tuple[str, ...])


class MarkerSettings:
    """Belongs to one group. ``confirms`` false: each marker says everything."""

    def __init__(self, group: str, confirms: bool) -> None:
        self.pop_topics: tuple[str, ...] = ()
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
        """The clock was set back."""
        self._sent = {field: sent.set_back(by_ms) for field, sent in self._sent.items()}

    def send_all(self) -> None:
        """Everything is sent once more."""
        self._sent.clear()
