"""Which queues have no owner, or too many, by what clients have reported: those concerned are to say it again."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from sys import intern
from typing import NamedTuple

from schemas.identity import MessageQueue
from streaming.collector.translation.reports import message_model, start_ts
from streaming.collector.wire.answers import RunningInfoAnswer
from streaming.core.evidence.exclusions import PULLS


class Said(NamedTuple):
    """The last answer of a client, and when it came. ``names_its_queues``: it would name a queue that it owns.

    There is one for every client of a cluster, so strings that recur are kept once.
    """

    ts: int
    start_ts: int
    owned: tuple[MessageQueue, ...]
    topics: tuple[str, ...]
    names_its_queues: bool
    broadcasts: bool


def said(answer: RunningInfoAnswer, ts: int) -> Said:
    """Reads an answer to a request for running info."""
    owned = {
        MessageQueue(intern(q.topic), intern(q.broker_name), q.queue_id) for q in answer.mq_table or () if not q.droped
    }
    topics = {intern(one if isinstance(one, str) else one.topic) for one in answer.subscriptions or ()}
    pulls = not owned and answer.consume_type == PULLS
    broadcasts = message_model(answer.message_model) == "BROADCASTING"
    names_its_queues = not (pulls or answer.mq_pop_table)
    started_ts = start_ts(answer.start_timestamp) or 0
    return Said(ts, started_ts, tuple(sorted(owned)), _kept_once(tuple(sorted(topics))), names_its_queues, broadcasts)


@lru_cache(maxsize=4096)
def _kept_once(topics: tuple[str, ...]) -> tuple[str, ...]:
    return topics


def disagreements(
    queues: Iterable[MessageQueue], members: Iterable[str], reports: Mapping[str, Sequence[Said]]
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
