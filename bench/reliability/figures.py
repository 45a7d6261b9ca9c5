"""The figures of each round: from the requests at the brokers, the events in Kafka, and the alerts that follow."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from bench.reliability.counting import EventNumbers, TopicReader
from bench.reliability.stage import CHANGING, CLUSTERS, ILL, TOPIC, Request, Stage
from schemas.facts import AlertState, Kind
from schemas.identity import is_retry_topic
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import Record, fold
from streaming.replay.alert_transitions import transitions
from testing.workload import PARTITIONS

FIRES_WITHIN_MS = 120_000  # after a queue has lost its consumer, silence included


class Round(Struct):
    """A fault and what it did. ``*_s``: monotonic; ``began_ts``: by the machine's clock, in ms."""

    number: int
    fault: str
    began_s: float
    began_ts: int
    ended_s: float = 0
    is_over: bool = False  # one process asks each cluster again, and all are members
    silence_s: float = 0
    overlapping: int = 0
    requests: int = 0
    probes: int = 0  # by standbys, while the collector that asks gets no answers
    markers_lost: int = 0
    markers_repeated: int = 0
    pages: int = 0
    pages_lost: int = 0
    pages_repeated: int = 0
    pages_false: int = 0


class Illness(NamedTuple):
    """The time in which a queue of a group had no consumer. ``to_ts`` None: until the end."""

    cluster: str
    group: str
    from_ts: int
    to_ts: int | None


def count_requests(stage: Stage, one: Round, since_s: float) -> None:
    """The silence, and the requests since ``since_s`` of a collector while another one asked."""
    for cluster in CLUSTERS:
        found = stage.requests(cluster, since_s)
        times = [one.began_s, *(at_s for at_s, _, _ in found if at_s > one.began_s), one.ended_s]
        one.silence_s = max([one.silence_s, *(later - before for before, later in pairwise(times))])
        one.requests += len(times) - 2
        one.probes += stage.probes(cluster, since_s)
        together = stage.work[cluster].together_s
        one.overlapping += sum(at_s >= since_s for at_s in together)
        one.overlapping += within_others(found)


def within_others(requests: Sequence[Request]) -> int:
    """How many requests came between the first and the last one of a connection of another collector.

    A collector that takes a cluster over makes connections of its own, so theirs never interleave.
    """
    spans: dict[int, list[Request]] = {}
    for request in requests:
        spans.setdefault(request.connection, []).append(request)
    ends = [(span[0].asker, span[0].at_s, span[-1].at_s) for span in spans.values()]
    return sum(
        any(asker != request.asker and first_s < request.at_s < last_s for asker, first_s, last_s in ends)
        for request in requests
    )


class _Rounds:
    """Finds the round in which something was, by the machine's clock."""

    def __init__(self, rounds: Sequence[Round]) -> None:
        self._rounds = rounds
        self._begins = [one.began_ts for one in rounds]

    def at(self, ts: int) -> Round:
        """What was before the first round counts in it, too."""
        return self._rounds[max(bisect_right(self._begins, ts) - 1, 0)]


def count_events(stage: Stage, rounds: Sequence[Round], illnesses: Iterable[Illness]) -> None:
    """The numbers of events that are missing or there twice, and the pages that are."""
    records = records_of(stage)
    _count_markers(records, _Rounds(rounds))
    _count_pages(records, _Rounds(rounds), list(illnesses))


def records_of(stage: Stage) -> list[Record]:
    """Of each partition in its order."""
    return TopicReader(stage.kafka.bootstrap_servers, TOPIC, PARTITIONS).new()


def _count_markers(records: Iterable[Record], rounds: _Rounds) -> None:
    numbers = EventNumbers()
    for record in records:
        one = rounds.at(record.arrival_ts or 0)
        lost, repeated = numbers.take(record)
        one.markers_lost += lost
        one.markers_repeated += repeated


def _count_pages(records: Iterable[Record], rounds: _Rounds, illnesses: Sequence[Illness]) -> None:
    """A page is an alert that begins to fire. It belongs to the illness in which it fires.

    An alert that comes and goes is kept open when the group is well. So a later illness needs no page of its own.
    """
    facts = fold(None, records, DEFAULT_SETTINGS).facts
    paged: dict[Illness, int] = dict.fromkeys(illnesses, 0)
    fired: set[tuple[str, int]] = set()
    open_from: dict[tuple[str, str], int] = {}
    last_ts = max(fact.ts for fact in facts)
    open_times: list[Illness] = []
    for fact, alert in transitions(facts):
        if is_retry_topic(fact.topic or "") or alert.fired_ts is None:
            continue
        one, group = rounds.at(fact.ts), (fact.cluster, fact.group)
        within = next((ill for ill in illnesses if _is_of(ill, *group, alert.fired_ts)), None)
        if alert.state == AlertState.RESOLVED:
            open_times.append(Illness(*group, open_from.pop(group, alert.fired_ts), fact.ts))
            one.pages_false += any(_is_of(ill, *group, fact.ts) for ill in illnesses)
            continue
        open_from.setdefault(group, fact.ts)
        if (alert.fingerprint, alert.fired_ts) not in fired:
            fired.add((alert.fingerprint, alert.fired_ts))
            one.pages += 1
            one.pages_false += within is None or alert.kind != Kind.ORPHANED
            one.pages_repeated += within is not None and paged[within] > 0
            if within is not None:
                paged[within] += 1
    open_times += [Illness(*group, from_ts, None) for group, from_ts in open_from.items()]
    for ill in illnesses:
        to_ts = last_ts if ill.to_ts is None else ill.to_ts
        if to_ts - ill.from_ts > FIRES_WITHIN_MS and not any(_overlap(ill, one) for one in open_times):
            rounds.at(to_ts).pages_lost += 1


def _overlap(one: Illness, other: Illness) -> bool:
    is_over = (other.to_ts or one.from_ts) < one.from_ts or (one.to_ts or other.from_ts) < other.from_ts
    return one[:2] == other[:2] and not is_over


def _is_of(ill: Illness, cluster: str, group: str, ts: int) -> bool:
    return (ill.cluster, ill.group) == (cluster, group) and ill.from_ts <= ts <= (ill.to_ts or ts)


def illnesses(began_ts: int, turns: Sequence[int]) -> list[Illness]:
    """``turns``: when the group that changes became ill, then healthy, and so on."""
    ends: list[int | None] = [*turns[1::2], None]
    of_changing = [
        Illness(cluster, CHANGING, from_ts, to_ts)
        for cluster in CLUSTERS
        for from_ts, to_ts in zip(turns[::2], ends, strict=False)
    ]
    return [*(Illness(cluster, ILL, began_ts, None) for cluster in CLUSTERS), *of_changing]
