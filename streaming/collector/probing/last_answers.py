"""The last answer of each client of a group, and the queues that have no owner, or too many, by these answers.

If brokers list a client id twice, there is an answer of each of its instances.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from sys import intern
from typing import NamedTuple

from schemas.identity import MessageQueue
from streaming.collector.translation.alive_channels import listed_twice
from streaming.collector.translation.reports import message_model, start_ts
from streaming.collector.wire.answers import RunningInfoAnswer
from streaming.core.evidence.exclusions import PULLS

INSTANCES = 2


class LastAnswer(NamedTuple):
    """The last answer of a client, and when it came. ``names_its_queues``: it would name a queue that it owns.

    There is one for every client of a cluster, so strings that recur are kept once.
    """

    ts: int
    start_ts: int
    owned: tuple[MessageQueue, ...]
    topics: tuple[str, ...]
    names_its_queues: bool
    broadcasts: bool


def last_answer(answer: RunningInfoAnswer, ts: int) -> LastAnswer:
    owned = {
        MessageQueue(intern(q.topic), intern(q.broker_name), q.queue_id) for q in answer.mq_table or () if not q.droped
    }
    topics = {intern(one if isinstance(one, str) else one.topic) for one in answer.subscriptions or ()}
    pulls = not owned and answer.consume_type == PULLS
    broadcasts = message_model(answer.message_model) == "BROADCASTING"
    names_its_queues = not (pulls or answer.mq_pop_table)
    started_ts = start_ts(answer.start_timestamp) or 0
    return LastAnswer(
        ts, started_ts, tuple(sorted(owned)), _kept_once(tuple(sorted(topics))), names_its_queues, broadcasts
    )


@lru_cache(maxsize=4096)
def _kept_once(topics: tuple[str, ...]) -> tuple[str, ...]:
    return topics


def disagreements(
    queues: Iterable[MessageQueue], members: Iterable[str], reports: Mapping[str, Sequence[LastAnswer]]
) -> dict[MessageQueue, frozenset[str]]:
    """Queue of one topic -> who must say it again, by the reports that count: one of each instance of a client.

    Two owners need only their own reports. That nobody owns a queue needs those of all members.
    """
    everybody, every = frozenset(members), [one for those in reports.values() for one in those]
    is_complete = bool(every) and everybody <= reports.keys() and all(one.names_its_queues for one in every)
    owners: dict[MessageQueue, list[str]] = {}
    for client_id, those in reports.items():
        for queue in (queue for one in those for queue in one.owned):
            owners.setdefault(queue, []).append(client_id)
    if any(one.broadcasts for one in every):
        return {q: everybody for q in queues if is_complete and len(owners.get(q, ())) < len(every)}
    concerned = {q: frozenset(owners.get(q, ())) or everybody for q in queues}
    return {
        q: those for q, those in concerned.items() if len(owners.get(q, ())) > 1 or (is_complete and q not in owners)
    }


class LastAnswers:
    def __init__(self) -> None:
        self._of: dict[str, tuple[LastAnswer, ...]] = {}  # by client id, one of each instance, the newest last
        self._twice: dict[str, int] = {}  # ids that are listed twice -> how often they were asked since

    def listed(self, lists: Iterable[Iterable[str]]) -> bool:
        """The members by each broker's list. Whether some that had answered are gone, or other ids are listed twice."""
        present: set[str] = set()
        twice: set[str] = set()
        for client_ids in lists:
            present.update(client_ids)
            twice |= listed_twice(client_ids)
        gone = self._of.keys() - present
        for client_id in gone:
            del self._of[client_id]
        is_other = twice != self._twice.keys()
        if is_other:
            for client_id in twice ^ self._twice.keys():  # an answer from before this change proves no second instance
                if client_id in self._of:
                    self._of[client_id] = self._of[client_id][-1:]
            self._twice = {client_id: self._twice.get(client_id, 0) for client_id in twice}
        return bool(gone) or is_other

    def add(self, client_id: str, answer: LastAnswer) -> tuple[bool, bool]:
        """Returns whether it says anything new, and whether the client was started again under its id."""
        known = self._of.get(client_id, ())
        before = next((one for one in known if one.start_ts == answer.start_ts), None)
        others = tuple(one for one in known if one is not before)
        was_restarted = client_id not in self._twice and any(one.start_ts < answer.start_ts for one in others)
        if client_id in self._twice:
            self._twice[client_id] += 1
        else:
            others = ()
        self._of[client_id] = (*others, answer)[-INSTANCES:]
        return before is None or before.owned != answer.owned, was_restarted

    def since(self, ts: int, client_ids: Iterable[str]) -> Mapping[str, tuple[LastAnswer, ...]]:
        """The answers since ``ts`` of each of these clients, if all of its known instances have answered."""
        known = {client_id: self._of[client_id] for client_id in client_ids if client_id in self._of}
        return {client_id: those for client_id, those in known.items() if all(one.ts >= ts for one in those)}

    def silent_since(self, ts: int, client_ids: Iterable[str]) -> Iterator[str]:
        """Those of which some known instance has not answered later."""
        for client_id in client_ids:
            those = self._of.get(client_id)
            if not those or any(one.ts <= ts for one in those):
                yield client_id

    def may_have_another_instance(self, tries: int) -> Iterator[str]:
        """Ids listed twice of which one instance has answered, and which were asked less often than ``tries``."""
        return (c for c, asked in self._twice.items() if asked < tries and len(self._of.get(c, ())) < INSTANCES)
