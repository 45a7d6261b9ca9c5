"""Which collectors get answers from which clusters, and who asks a cluster whose collector gets none. Pure.

A collector that asks a cluster and gets no answer of a broker says so to the others. Only then do they probe the
cluster themselves. One that gets answers takes the cluster over. Where none gets answers, nothing moves.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

# A collector says that it gets no answers when its brokers have left it without any for so long. In that time a list is
# asked for again in three rounds of 5 s, and a table, which may take 10 s, has come. A broker that restarts is away for
# longer: another collector finds it away, too, and nothing moves.
UNANSWERED_S = 15
KEEP_S = 30  # after the next probe would be due, what was found counts no more; a handover takes 10 s at most
NEWS_AFTER_S = 60  # between two reports, if the second has only better news: each costs the group a rebalance


class Report(NamedTuple):
    """What a member of the group says of the partitions: those whose clusters gave it no answer, when it asked or
    probed them last, and those where it does not ask but its probes were answered.
    """

    unanswered: frozenset[int] = frozenset()
    reached: frozenset[int] = frozenset()

    def encode(self) -> bytes:
        return json.dumps({"unanswered": sorted(self.unanswered), "reached": sorted(self.reached)}).encode()


def decode(data: bytes | memoryview | None) -> Report:
    """What cannot be read says nothing: of another version, or of another program in the group."""
    try:
        read = json.loads(bytes(data or b"{}"))
        return Report(frozenset(map(int, read.get("unanswered", ()))), frozenset(map(int, read.get("reached", ()))))
    except (ValueError, TypeError, AttributeError):
        return Report()


class Reach:
    """Whether this collector gets answers of each cluster. All times are monotonic seconds.

    ``interval_s``: between two rounds of the collector that asks, and between two probes of one that does not. A
    cluster is reached when two probes in a row were answered: when RocketMQ is back, the collector that asks it knows
    by then, and keeps it.
    """

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._patience_s = max(UNANSWERED_S, 2 * interval_s)
        self._keep_s = KEEP_S + interval_s
        self._began_s: dict[str, float] = {}
        self._silent_s: dict[str, float] = {}  # for how long brokers were silent, when it was noted last
        self._reached_since_s: dict[str, float] = {}
        self._probed_s: dict[str, float] = {}
        self._silence_found_s = -math.inf  # when the newest of them was found

    def is_unanswered(self, cluster: str) -> bool:
        """It stays so until this collector is answered, or begins to ask the cluster again."""
        return self._silent_s.get(cluster, 0) >= self._patience_s

    def is_reached(self, cluster: str, now_s: float) -> bool:
        since_s, probed_s = self._reached_since_s.get(cluster), self._probed_s.get(cluster)
        if since_s is None or probed_s is None:
            return False
        return probed_s - since_s >= self._interval_s and now_s - probed_s <= self._keep_s

    # --- by the one that asks the cluster

    def begin(self, cluster: str, now_s: float) -> None:
        self._began_s[cluster] = now_s
        self._silent_s.pop(cluster, None)
        self._reached_since_s.pop(cluster, None)

    def note(self, cluster: str, silent_since_s: float | None, now_s: float) -> None:
        """``silent_since_s``: every broker has been asked since then, and none has answered. None: one has.

        A pause of this process is no silence of brokers: it must note nothing when it goes on and may not ask.
        """
        silent_s = 0 if silent_since_s is None else now_s - max(silent_since_s, self._began_s[cluster])
        self._note_silence(cluster, silent_s, now_s)

    def stopped(self, cluster: str) -> None:
        """A silence that was short is forgotten: nothing would end it."""
        if not self.is_unanswered(cluster):
            self._silent_s.pop(cluster, None)

    # --- by one that does not

    def has_probed(self, clusters: Iterable[str]) -> bool:
        return all(cluster in self._probed_s for cluster in clusters)

    def is_in_doubt(self, cluster: str) -> bool:
        """Returns whether a probe must show if this collector is answered. A collector that one cluster does not answer
        may be cut off from all of them. So each of the others is probed once after that.
        """
        return self.is_unanswered(cluster) or self._probed_s.get(cluster, -math.inf) < self._silence_found_s

    def is_probe_due(self, cluster: str, now_s: float) -> bool:
        return now_s - self._probed_s.get(cluster, -math.inf) >= self._interval_s

    def probed(self, cluster: str, is_answered: bool, began_s: float) -> None:
        if began_s - self._probed_s.get(cluster, began_s) > self._keep_s:
            self._reached_since_s.pop(cluster, None)
        self._probed_s[cluster] = began_s
        if is_answered:
            self._silent_s.pop(cluster, None)
            self._reached_since_s.setdefault(cluster, began_s)
        else:
            self._note_silence(cluster, self._patience_s, began_s)
            self._reached_since_s.pop(cluster, None)

    def _note_silence(self, cluster: str, silent_s: float, now_s: float) -> None:
        if silent_s >= self._patience_s and not self.is_unanswered(cluster):
            self._silence_found_s = now_s
        self._silent_s[cluster] = silent_s


def is_news(now: Report, said: Report, owned: frozenset[int], wanted: frozenset[int], said_s_ago: float) -> bool:
    """Returns whether the group must hear of a report: each time costs it a rebalance.

    ``said`` is the report that it has. ``owned``: the partitions that this collector asks; ``wanted``: those whose
    collector gets no answer. The group hears of each silence that is over, because no partition of which any member
    reports a silence is moved by the balance.
    """
    if (now.unanswered & owned) - said.unanswered or (now.reached & wanted) - said.reached:
        return True
    return bool(said.unanswered - now.unanswered) and said_s_ago >= NEWS_AFTER_S


def agreed(balanced: Mapping[int, str], owners: Mapping[int, str], reports: Mapping[str, Report]) -> dict[int, str]:
    """Returns who is to have each partition, by the name of the member.

    ``balanced`` is the same without reports, ``owners`` are those that have a partition now. Who gets answers keeps
    it, or takes it from one that gets none; a partition without an owner goes to one that is known to get answers, else
    to one of which nothing is known.
    """
    loads = Counter(balanced.values())
    found = {}
    for number, balanced_to in sorted(balanced.items()):
        among = _candidates(number, balanced_to, owners.get(number), reports)
        found[number] = balanced_to if balanced_to in among else min(among, key=lambda one: (loads[one], one))
        loads[balanced_to] -= 1
        loads[found[number]] += 1
    return found


def _candidates(number: int, balanced_to: str, owner: str | None, reports: Mapping[str, Report]) -> list[str]:
    """The balance moves only partitions of which no member reports anything. Else it would undo what reports do, again
    and again.
    """
    reached = [one for one, report in reports.items() if number in report.reached]
    unanswered = [one for one, report in reports.items() if number in report.unanswered]
    if owner is None:
        return reached or [one for one in reports if one not in unanswered] or list(reports)
    if owner in unanswered:
        return reached or [owner]
    return [owner] if reached or unanswered else [balanced_to]


def wanted(found: Mapping[int, str], reports: Mapping[str, Report]) -> frozenset[int]:
    """The partitions whose collector gets no answers, and nobody is known who does."""
    return frozenset(number for number, member in found.items() if number in reports[member].unanswered)
