"""What was found of a group while something was done to it: its alerts, their times, and an account for people."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from schemas.facts import Fact, GroupFact
from streaming.notices.notice import Notice
from streaming.replay.alert_transitions import AlertTransition, details, headline, transitions
from streaming.wording.numbers import ranges
from tests.notifier.facts import NOW, S
from tests.notifier.receiver import PAGES, Receiver
from tests.real.stage import Part


class Firing(NamedTuple):
    """One time that an alert fired. Seconds are from the second at which all had joined; ``causes`` as they changed."""

    kind: str
    topic: str | None
    severity: str
    queues: str
    causes: tuple[str | None, ...]
    fired_s: float
    resolved_s: float | None
    was_stale: bool


class Outcome:
    def __init__(self, part: Part, facts: Sequence[Fact], began_ts: int) -> None:
        self._part = part
        self._began_ts = began_ts
        self.facts = [fact for fact in facts if fact.group == part.group]
        self.transitions = transitions(self.facts)
        self.firings = list(self._firings())

    def status(self, at_s: float) -> str:
        """The group's status at that second."""
        told = [f for f in self.facts if isinstance(f.payload, GroupFact) and self._s(f.ts) <= at_s]
        payload = told[-1].payload if told else None
        return payload.status if isinstance(payload, GroupFact) else "nothing was told"

    def pages(self) -> list[Notice]:
        """What somebody was called for, as it was first told, under the notifier's own rules."""
        return pages_of(self.facts)

    def account(self) -> str:
        """Everything that was done and said, in the order of time."""
        told = [(deed.ts, 0, f"-- {deed.what}") for deed in self._part.deeds]
        told += [
            (fact.ts, 1, f"group {fact.payload.status} {fact.payload.counts} {fact.payload.reason or ''}")
            for fact in self.facts
            if isinstance(fact.payload, GroupFact)
        ]
        told += [(one.fact.ts, 2, "\n            ".join([headline(one), *details(one)])) for one in self.transitions]
        lines = [f"{self._s(ts):8.1f} s  {what}" for ts, _, what in sorted(told)]
        return "\n".join([f"{self._part.group}:", *lines])

    def _firings(self) -> Iterator[Firing]:
        """An alert's transitions from firing to resolved."""
        open_ones: dict[str, list[AlertTransition]] = {}
        for one in self.transitions:
            life = open_ones.setdefault(one.alert.fingerprint, [])
            if one.alert.state == "firing":
                life.append(one)
            elif life:
                yield self._firing(life, self._s(one.fact.ts))
                del open_ones[one.alert.fingerprint]
        yield from (self._firing(life, None) for life in open_ones.values() if life)

    def _firing(self, life: Sequence[AlertTransition], resolved_s: float | None) -> Firing:
        first = life[0]
        return Firing(
            kind=first.alert.kind,
            topic=first.fact.topic,
            severity=first.alert.severity,
            queues=ranges((queue.broker_name, queue.queue_id) for queue in first.alert.queues),
            causes=tuple(dict.fromkeys(one.alert.cause for one in life)),
            fired_s=self._s(first.fact.ts),
            resolved_s=resolved_s,
            was_stale=any(one.alert.stale for one in life),
        )

    def _s(self, ts: int) -> float:
        return (ts - self._began_ts) / 1000


def pages_of(facts: Sequence[Fact]) -> list[Notice]:
    """What somebody was called for, as it was first told, under the notifier's own rules."""
    receiver, left = Receiver(PAGES), sorted(facts, key=lambda fact: fact.ts)
    for ts in range(left[0].ts, left[-1].ts + 60 * S, S):
        here = 0
        while here < len(left) and left[here].ts <= ts:
            here += 1
        receiver.poll((ts - NOW) / S, left[:here])
        left = left[here:]
    return list({notice.key: notice for notice in reversed(receiver.told)}.values())[::-1]
