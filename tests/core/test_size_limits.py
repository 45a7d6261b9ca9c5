"""No record makes a group so large that it keeps the others waiting: it is refused, and its neighbours are taken."""

import time

import pytest

from schemas.events import (
    AnyEvent,
    AssignmentReport,
    BrokerAnswer,
    ConsumeProgress,
    OwnedQueue,
    OwnedQueues,
    QueueProgress,
    Round,
    RouteQueues,
    TopicRoute,
    encode_event,
)
from schemas.records import MAX_RECORD_BYTES
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.intake.size_limits import CLIENTS_AT_MOST, KNOWN_QUEUES_AT_MOST, OWNED_AT_MOST, QUEUES_AT_MOST
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.state.packing import pack
from streaming.core.step import Refused, take

T0 = 1_700_000_000_000


class Taking:
    """A group that takes events one after the other."""

    def __init__(self) -> None:
        self.group = Group(new_state("c", "g"), DEFAULT_SETTINGS)
        self.seq = 0

    def take(self, event_type: type, at: int = 0, **fields: object) -> list[Refused]:
        self.seq += 1
        ts = T0 + at * 1000
        event: AnyEvent = event_type(schema=1, cluster="c", group="g", ts=ts, round=ts, seq=self.seq, **fields)
        assert len(encode_event(event)) <= MAX_RECORD_BYTES
        return take(self.group, event)

    def round(self, at: int, *client_ids: str) -> list[Refused]:
        answer = BrokerAnswer("a", True, client_ids)
        return self.take(Round, at, brokers=(answer,))

    def route(self, at: int, read: int, topic: str = "T", brokers: int = 1) -> list[Refused]:
        return self.take(TopicRoute, at, topic=topic, brokers=tuple(
            RouteQueues(f"b{n}" if n else "a", read, read, 6) for n in range(brokers)
        ))  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("read", "brokers"), [(2_000_000_000, 1), (100_000, 1), (1_000, 1_000), (2**31 - 1, 900)])
def test_a_route_of_countless_queues_is_refused_and_the_group_goes_on(read: int, brokers: int) -> None:
    group = Taking()
    group.route(0, 4)
    group.round(1, "x")
    (refused,) = group.route(5, read, brokers=brokers)
    assert refused.why.reason == "too_many"
    assert f"the limit is {QUEUES_AT_MOST}" in refused.why.detail
    assert group.round(6, "x") == []
    assert group.group.state.topics[0].hosts[0].read == 4


@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.timeout(60)
def test_many_topics_together_are_bounded_too() -> None:
    group = Taking()
    refused = [one for n in range(40) for one in group.route(n, 1_024, topic=f"T{n}")]
    group.round(50, "x")
    assert len(refused) == 40 - QUEUES_AT_MOST // 1_024
    assert sum(hosted.read for topic in group.group.state.topics for hosted in topic.hosts) == QUEUES_AT_MOST


@pytest.mark.slow("minutes and hours of a group are folded")
@pytest.mark.timeout(60)
def test_reports_and_offsets_of_queues_that_nobody_has_do_not_fill_the_state_while_no_round_comes() -> None:
    group = Taking()
    refused = 0
    for n in range(40):
        ids = range(n * 4_000, (n + 1) * 4_000)
        owned = OwnedQueues("T", "a", tuple(OwnedQueue(queue_id) for queue_id in ids))
        refused += len(group.take(AssignmentReport, client_id="x", answered=True, answered_ts=T0 + n, owned=(owned,)))
        progress = tuple(QueueProgress(queue_id, 1, 1, 1) for queue_id in range(n * 1_000, (n + 1) * 1_000))
        group.take(ConsumeProgress, broker_name="b", topic="T", queues=progress)
    assert refused >= 30
    assert len(group.group.state.queues) <= KNOWN_QUEUES_AT_MOST
    assert len(pack(group.group.state)) < 4_000_000


@pytest.mark.timeout(60)
def test_reports_of_many_clients_that_own_everything_are_bounded_together() -> None:
    group = Taking()
    group.route(0, 4_096)
    owned = (OwnedQueues("T", "a", tuple(map(OwnedQueue, range(4_096)))),)
    told = {"answered": True, "answered_ts": T0, "owned": owned}
    refused = [one for n in range(70) for one in group.take(AssignmentReport, client_id=f"c{n}", **told)]
    assert len(refused) == 70 - OWNED_AT_MOST // 4_096
    assert refused[0].why.reason == "too_many"
    assert group.take(AssignmentReport, 1, client_id="c0", **told) == []


@pytest.mark.timeout(60)
def test_lists_of_countless_clients_are_refused() -> None:
    group = Taking()
    ids = [f"{n:x}" for n in range(CLIENTS_AT_MOST + 1)]
    for part in range(0, len(ids), 8_000):
        answer = BrokerAnswer("a", True, tuple(ids[part : part + 8_000]), entries=len(ids))
        refused = group.take(Round, 1, brokers=(answer,), part=part // 8_000, parts=3)
    (why,) = refused
    assert why.why.reason == "too_many"
    assert group.round(5, "x") == []
    assert len(group.group.state.clients) == 1


@pytest.mark.timeout(60)
def test_a_report_of_a_queue_far_beyond_the_route_costs_no_more_than_others() -> None:
    """The queues up to the reported one are not listed: 3 s for 2**23 of them, and the job's memory for 2**31."""
    group = Taking()
    group.route(0, 4)
    group.round(1, "x")
    owned = (OwnedQueues("T", "a", (OwnedQueue(0), OwnedQueue(2**23))),)
    began = time.process_time()
    for at in range(10, 200, 10):
        group.route(at, 4)
        strategy, answered_ts = "AllocateMessageQueueAveragely", T0 + at * 1000
        told = {"strategy": strategy, "message_model": "CLUSTERING", "answered": True, "answered_ts": answered_ts}
        assert group.take(AssignmentReport, at, client_id="x", owned=owned, **told) == []
        assert group.round(at, "x") == []
    assert time.process_time() - began < 1
