"""A round that confirms what was told counts only where that is known; else who is confirmed is silent."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from schemas.events import (
    AssignmentReport,
    BrokerAnswer,
    ConfirmedReport,
    OwnedQueue,
    OwnedQueues,
    QueueOffsets,
    Round,
    TopicOffsets,
    UnchangedList,
)
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.state.group import Group
from streaming.core.state.group_state import Client, Report, new_state
from streaming.core.state.routes import reports_count_after
from streaming.core.step import take

Confirmed = Callable[[int], BrokerAnswer | UnchangedList]
T0 = 1_700_000_000_000
OWNED = (
    OwnedQueues("T", "b", (OwnedQueue(0), OwnedQueue(1, dropped=True), OwnedQueue(2))),
    OwnedQueues("T", "a", (OwnedQueue(3),)),
)


class Told:
    """A group to which x has reported, and whose list of broker a is known: version 7 of both."""

    def __init__(self) -> None:
        self.group = Group(new_state("c", "g"), DEFAULT_SETTINGS)
        self._seq = count()
        self.report(0, 7)
        self.round(1, BrokerAnswer("a", True, ("x",), data_version=7))

    def report(self, second: int, version: int, start_ts: int = 5) -> None:
        ts = T0 + 1000 * second
        take(
            self.group,
            AssignmentReport(
                schema=1, cluster="c", group="g", ts=ts, round=ts, seq=next(self._seq), client_id="x", answered=True,
                answered_ts=ts, start_ts=start_ts, owned=OWNED, data_version=version,
            ),
        )  # fmt: skip

    def round(
        self,
        second: int,
        *answers: BrokerAnswer | UnchangedList,
        reports: tuple[ConfirmedReport, ...] = (),
        offsets: tuple[TopicOffsets, ...] = (),
        **fields: Any,
    ) -> None:
        ts = T0 + 1000 * second
        answers = answers or (UnchangedList("a", 7),)
        take(
            self.group,
            Round(
                schema=1, cluster="c", group="g", ts=ts, round=ts, seq=next(self._seq),
                brokers=tuple(one for one in answers if isinstance(one, BrokerAnswer)),
                unchanged_lists=tuple(one for one in answers if isinstance(one, UnchangedList)),
                reports=reports, offsets=offsets, **fields,
            ),
        )  # fmt: skip

    @property
    def client(self) -> Client:
        return self.group.state.clients[0]

    @property
    def newest(self) -> Report:
        return self.client.reports[0]


@pytest.fixture
def told() -> Told:
    return Told()


def test_a_confirmed_report_is_as_new_as_its_confirmation(told: Told) -> None:
    told.round(6, reports=(ConfirmedReport("x", 7, T0 + 5_000, (0, 1)),))
    assert told.newest.answered_ts == T0 + 5_000
    busy = [told.group.message_queue(index) for index in told.newest.busy]
    assert [(queue.broker_name, queue.queue_id) for queue in busy] == [("a", 3), ("b", 0)]
    told.round(11, reports=(ConfirmedReport("x", 7, T0 + 10_000),))
    assert (told.newest.answered_ts, told.newest.busy) == (T0 + 10_000, [])


@pytest.mark.parametrize(
    "report",
    [
        ConfirmedReport("x", 8, T0 + 5_000),  # what it confirms was lost
        ConfirmedReport("x", 0, T0 + 5_000),
        ConfirmedReport("y", 7, T0 + 5_000),  # never heard of
        ConfirmedReport("x", 7, T0 + 60_000),  # answered long after the round
        ConfirmedReport("x", 7, T0 - 1),
    ],
)
def test_what_is_not_known_is_not_confirmed(told: Told, report: ConfirmedReport) -> None:
    told.round(6, reports=(report,))
    assert [client.client_id for client in told.group.state.clients] == ["x"]
    assert told.newest.answered_ts == T0


def test_a_report_without_a_version_is_never_confirmed(told: Told) -> None:
    told.report(2, 0)
    told.round(6, reports=(ConfirmedReport("x", 0, T0 + 5_000), ConfirmedReport("x", 7, T0 + 5_000)))
    assert told.newest.answered_ts == T0 + 2_000


def test_each_of_two_instances_is_confirmed_by_its_own_version(told: Told) -> None:
    told.report(2, 9, start_ts=6)
    told.round(6, reports=(ConfirmedReport("x", 7, T0 + 5_000),))
    assert [(report.start_ts, report.answered_ts) for report in told.client.reports] == [
        (5, T0 + 5_000),
        (6, T0 + 2_000),
    ]


def test_a_client_that_is_confirmed_answers_again(told: Told) -> None:
    told.client.unanswered_since_ts = T0 + 2_000
    told.round(6, reports=(ConfirmedReport("x", 7, T0 + 5_000),))
    assert told.client.unanswered_since_ts == 0


@pytest.mark.parametrize("back_s", [60, 3_600])
def test_a_report_from_before_the_clock_was_set_back_counts_once_it_is_confirmed(told: Told, back_s: int) -> None:
    """Producers do not tell again what has not changed, so the group would be UNKNOWN for minutes."""
    began = 20 - back_s
    told.round(20)
    for after in (5, 10, 15):
        told.round(began + after)
    state = told.group.state
    assert state.now == T0 + 1000 * (began + 15)
    assert told.newest.answered_ts <= reports_count_after(state)
    told.round(began + 20, reports=(ConfirmedReport("x", 7, T0 + 1000 * (began + 19)),))
    assert told.newest.answered_ts == T0 + 1000 * (began + 19) > reports_count_after(state)


def in_full(version: int) -> BrokerAnswer:
    return BrokerAnswer("a", True, data_version=version, unchanged=True)


def in_short(version: int) -> UnchangedList:
    return UnchangedList("a", version)


BOTH_FORMS = pytest.mark.parametrize("confirmed", [in_full, in_short])


@BOTH_FORMS
def test_a_confirmed_list_is_an_answer(told: Told, confirmed: Confirmed) -> None:
    told.round(6, confirmed(7))
    (broker,) = [one for one in told.group.state.brokers if one.name == "a"]
    assert (broker.answered_ts, broker.lost_ts, told.client.entries) == (T0 + 6_000, 0, [0, 1])


@BOTH_FORMS
@pytest.mark.parametrize("version", [8, 0])
def test_a_list_that_is_confirmed_and_not_known_is_no_answer(told: Told, version: int, confirmed: Confirmed) -> None:
    told.round(6, confirmed(version))
    (broker,) = [one for one in told.group.state.brokers if one.name == "a"]
    assert (broker.answered_ts, broker.lost_ts) == (T0 + 1_000, T0 + 6_000)
    told.round(11, BrokerAnswer("a", True, ("x", "y"), data_version=version))
    assert (broker.answered_ts, broker.lost_ts) == (T0 + 11_000, 0)


def test_offsets_in_a_round_count_like_events_of_their_own(told: Told) -> None:
    rows = (QueueOffsets(0, 100, 3, 1, T0), QueueOffsets(2, -1, 0, 0))
    told.round(6, offsets=(TopicOffsets("b", "T", T0 + 5_000, rows), TopicOffsets("b", "T", T0 + 60_000, (rows[1],))))
    queues = {told.group.message_queue(index): queue for index, queue in enumerate(told.group.state.queues)}
    seen = {
        queue.queue_id: (one.broker_offset, one.consumer_lag, one.pull_lag)
        for queue, one in queues.items()
        if one.progress_ts
    }
    assert seen == {0: (100, 3, 1), 2: (-1, 0, 0)}


def test_a_confirmed_list_that_was_another_one_meanwhile_has_changed(told: Told) -> None:
    told.round(6, UnchangedList("a", 7, T0 + 500))
    (broker,) = [one for one in told.group.state.brokers if one.name == "a"]
    before = broker.changed_ts
    told.round(16, UnchangedList("a", 7, T0 + 11_000))
    assert (before, broker.changed_ts) == (T0 + 1_000, T0 + 11_000)


def test_what_a_marker_leaves_out_is_as_before(told: Told) -> None:
    told.report(2, 7)
    told.round(6, in_short(7), consume_enable=False, orderly=True, subscribed=("U",))
    told.round(11, in_short(7))
    state = told.group.state
    assert (state.consume_enable, state.orderly) == (False, True)
    assert [(topic.name, topic.unsubscribed_ts) for topic in state.topics] == [("T", T0 + 6_000)]
    told.round(16, in_short(7), consume_enable=True, orderly=False, subscribed=("T",))
    assert (state.consume_enable, state.orderly, state.topics[0].unsubscribed_ts) == (True, False, 0)
