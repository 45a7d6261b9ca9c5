"""Running info and offsets to what events say."""

import msgspec
import pytest

from schemas.events import AssignmentReport, OwnedQueue, OwnedQueues, QueueProgress, Subscription, encode_event
from schemas.records import MAX_RECORD_BYTES
from streaming.collector.translation import reports
from streaming.collector.translation.cluster import ClusterTranslation
from streaming.collector.wire.answers import (
    ConsumeStatsAnswer,
    OffsetRow,
    ProcessQueue,
    RunningInfoAnswer,
    SubscriptionData,
)


def running_info(**fields: object) -> RunningInfoAnswer:
    return RunningInfoAnswer(**{"ts": 0, "broker": "a", "group": "g", "client_id": "c", "code": 0, **fields})


@pytest.mark.parametrize(
    ("code", "error", "reason"),
    [
        (207, None, "timeout"),
        (1, None, "not_online"),
        (2, None, "code 2"),
        (None, None, "no answer"),
        (None, "connection refused", "connection refused"),
        (207, "whatever the transport said", "timeout"),  # the code decides
    ],
)
def test_reason_of_a_client_that_did_not_answer(code: int | None, error: str | None, reason: str) -> None:
    assert reports.why_unanswered(running_info(code=code, error=error)) == reason


@pytest.mark.parametrize(
    ("value", "expected"),
    [("true", True), ("false", False), ("False", False), (True, True), (None, None), ("perhaps", None)],
)
def test_flags_are_text_in_java(value: str | bool | None, expected: bool | None) -> None:
    assert reports.flag(value) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1795250405152", 1795250405152), (1795250405152, 1795250405152), ("", None), ("x", None), (None, None), (0, None),
     ("9" * 30, None)],
)  # fmt: skip
def test_start_time_is_a_number_as_text(value: str | int | None, expected: int | None) -> None:
    assert reports.start_ts(value) == expected


def test_owned_queues_are_grouped_and_in_order_and_misspelt_dropped_is_read() -> None:
    raw = (
        '[{"topic":"T","brokerName":"b","queueId":1,"droped":true},'
        '{"topic":"T","brokerName":"a","queueId":0,"locked":true,"cachedMsgCount":3},'
        '{"topic":"T","brokerName":"b","queueId":0}]'
    )
    found = reports.owned_queues(msgspec.json.decode(raw, type=tuple[ProcessQueue, ...]))
    assert [(one.topic, one.broker_name, [q.queue_id for q in one.queues]) for one in found] == [
        ("T", "a", [0]),
        ("T", "b", [0, 1]),
    ]
    assert found[0].queues[0] == OwnedQueue(0, cached_msg_count=3)
    assert found[1].queues[1].dropped
    assert not found[1].queues[0].dropped


def test_messages_that_an_orderly_client_works_on_are_in_hand() -> None:
    """ProcessQueue.takeMessages moves them out of what cachedMsgCount counts."""
    raw = '[{"topic":"T","brokerName":"a","queueId":0,"locked":true,"cachedMsgCount":0,"transactionMsgCount":2}]'
    (found,) = reports.owned_queues(msgspec.json.decode(raw, type=tuple[ProcessQueue, ...]))
    assert found.queues == (OwnedQueue(0, cached_msg_count=2),)
    assert reports.busy_places([found]) == (0,)


def test_places_of_busy_queues_are_counted_in_one_order_however_queues_come() -> None:
    idle, busy, dropped = OwnedQueue(0), OwnedQueue(1, cached_msg_count=2), OwnedQueue(2, dropped=True)
    assert reports.busy_places([OwnedQueues("T", "b", (busy,)), OwnedQueues("T", "a", (dropped, busy, idle))]) == (1, 2)


def test_subscriptions_come_with_or_without_their_filter() -> None:
    answer = running_info(subscriptions=("U", SubscriptionData("T", "a || b")))
    assert reports.subscriptions(answer) == (Subscription("T", "a || b"), Subscription("U"))


@pytest.mark.parametrize(("told", "kept"), [("TAG", None), ("", None), (None, None), ("SQL92", "SQL92")])
def test_a_filter_in_sql_says_so(told: str | None, kept: str | None) -> None:
    answer = running_info(subscriptions=(SubscriptionData("T", "a > 1", told),))
    assert reports.subscriptions(answer) == (Subscription("T", "a > 1", kept),)


def test_progress_of_an_old_broker_lacks_the_pull_offset() -> None:
    rows = (
        OffsetRow("T", 1, "a", 7, 5),
        OffsetRow("T", 0, None, 9, 9, 9),
        OffsetRow("R", 0, "a", 0, -5, 0),
        OffsetRow("R", -1, "a", 0, 0, 0),  # no queue has such a number
    )
    answer = ConsumeStatsAnswer(ts=0, broker="a", group="g", code=0, table=rows)
    assert reports.progress(answer) == [
        ("R", "a", (QueueProgress(0, 0, -1, 0),)),
        ("T", "a", (QueueProgress(0, 9, 9, 9), QueueProgress(1, 7, 5, -1))),
    ]


def test_the_last_consumed_message_is_dated_only_where_others_wait_and_never_later_than_now() -> None:
    told = ((9, 500), (8, 500), (0, -1), (8, 5_000), (8, None))
    rows = tuple(OffsetRow("T", n, "a", 9, consumed, 9, stored) for n, (consumed, stored) in enumerate(told))
    answer = ConsumeStatsAnswer(ts=900, broker="a", group="g", code=0, table=rows)
    ((_, _, queues),) = reports.progress(answer)
    assert [queue.consumed_ts for queue in queues] == [0, 500, 0, 900, 0]


def test_the_report_of_a_client_with_thousands_of_queues_fits_in_a_record() -> None:
    table = tuple(ProcessQueue("T", "broker-a", n, 1, True) for n in range(2_000))
    report = AssignmentReport(
        schema=1, cluster="c", group="g", ts=1, round=1, seq=0, client_id="c", answered=True, answered_ts=1,
        owned=reports.owned_queues(table),
    )  # fmt: skip
    assert len(encode_event(report)) <= MAX_RECORD_BYTES


def test_offsets_of_many_queues_are_told_in_several_events_that_fit() -> None:
    most = 2**63 - 1
    rows = tuple(
        OffsetRow("T" * 200, number, "a", most, most - 1, most - 1, reports.LATEST_MILLIS) for number in range(1100)
    )
    group = ClusterTranslation("prod", "collector 1").group("g")
    group.begin_round(reports.LATEST_MILLIS)
    events = group.take(ConsumeStatsAnswer(ts=reports.LATEST_MILLIS, broker="a", group="g", code=0, table=rows))
    assert [len(event.queues) for event in events] == [500, 500, 100]
    assert all(len(encode_event(event)) <= MAX_RECORD_BYTES for event in events)
    assert [queue.queue_id for event in events for queue in event.queues] == list(range(1100))
