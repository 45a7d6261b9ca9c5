"""What the groups have not consumed yet, by the brokers' answers."""

from streaming.collector.probing.lag import Lags, TopicLag
from streaming.collector.wire.answers import OffsetRow


def row(queue: int, written: int, consumed: int, stored: int | None = None, topic: str = "T") -> OffsetRow:
    return OffsetRow(
        topic=topic, queue_id=queue, broker_offset=written, consumer_offset=consumed, last_timestamp=stored
    )


def test_queues_and_brokers_add_up_and_the_oldest_time_counts() -> None:
    lags = Lags()
    lags.answered("g", "a", [row(0, 10, 4, 5000), row(1, 10, 10, 1000), row(0, 3, 3, topic="U")])
    lags.answered("g", "b", [row(0, 9, 2, 4000)])
    assert sorted(lags.by_topic()) == [("g", "T", TopicLag(13, 4000)), ("g", "U", TopicLag(0, None))]


def test_the_newest_answer_of_a_broker_counts_alone() -> None:
    lags = Lags()
    lags.answered("g", "a", [row(0, 10, 4), row(0, 5, 1, topic="dropped")])
    lags.answered("g", "a", [row(0, 10, 9)])
    assert list(lags.by_topic()) == [("g", "T", TopicLag(1, None))]


def test_an_offset_that_is_ahead_is_no_negative_lag() -> None:
    lags = Lags()
    lags.answered("g", "a", [row(0, 4, 10), row(1, 4, 3)])
    assert list(lags.by_topic()) == [("g", "T", TopicLag(1, None))]


def test_what_is_gone_is_dropped() -> None:
    lags = Lags()
    for group in ("g", "h"):
        for broker in ("a", "b"):
            lags.answered(group, broker, [row(0, 2, 1)])
            lags.polled(group, broker, {"T": 2})
    lags.keep_brokers("g", ["b", "c"])
    lags.keep_brokers("none", [])
    lags.forget_group("h")
    lags.forget_group("none")
    assert list(lags.by_topic()) == [("g", "T", TopicLag(1, None))]
    assert list(lags.polls()) == [("g", "T", "b", 2)]


def test_polls_are_those_of_the_newest_answers_and_none_where_none_is_asked() -> None:
    lags = Lags()
    lags.polled("g", "a", {"T": 2, "U": 1})
    lags.polled("g", "a", {"T": 0})
    lags.polled("h", "a", {})
    assert list(lags.polls()) == [("g", "T", "a", 0)]
    lags.polled("g", "a", {})
    assert list(lags.polls()) == []
