"""When a group has queues that nobody may have pulled from yet."""

from streaming.collector.probing.new_queues import FIRST_PULL_MS, NewQueues

A, B = ("broker-a", "T"), ("broker-b", "T")


def watched(*brokers: tuple[str, str]) -> NewQueues:
    queues = NewQueues()
    queues.hosted(dict.fromkeys(brokers, 4), 0)
    return queues


def test_unread_until_each_broker_has_stored_an_offset() -> None:
    queues = watched(A, B)
    queues.stored("broker-a", ["T", "other"])
    assert queues.are_there(1)
    queues.stored("broker-b", ["T"])
    assert not queues.are_there(2)


def test_unread_no_longer_than_a_first_pull_takes() -> None:
    """Some never store an offset: a topic that is subscribed no more, a client that assigns itself its queues."""
    queues = watched(A)
    assert queues.are_there(FIRST_PULL_MS - 1)
    assert not queues.are_there(FIRST_PULL_MS)


def test_added_queues_are_unread_though_the_topic_is_known() -> None:
    queues = watched(A)
    queues.stored("broker-a", ["T"])
    queues.hosted({A: 8}, 1_000)
    queues.stored("broker-a", ["T"])
    assert queues.are_there(1_000 + FIRST_PULL_MS - 1)
    assert not queues.are_there(1_000 + FIRST_PULL_MS)


def test_queues_taken_away_are_not() -> None:
    queues = watched(A, B)
    queues.stored("broker-a", ["T"])
    queues.hosted({A: 2}, 1_000)
    assert not queues.are_there(1_000)


def test_a_topic_that_comes_later_is_new() -> None:
    queues = watched(A)
    queues.stored("broker-a", ["T"])
    queues.hosted({A: 4, B: 4}, 90_000)
    assert queues.are_there(90_001)


def test_a_broker_that_answers_again_has_no_new_queues() -> None:
    queues = watched(A, B)
    for broker in ("broker-a", "broker-b"):
        queues.stored(broker, ["T"])
    queues.hosted({A: 4}, 100_000)
    queues.hosted({A: 4, B: 4}, 125_000)
    assert not queues.are_there(125_000)
    queues.hosted({A: 4}, 130_000)
    queues.hosted({A: 4}, 800_000)
    queues.hosted({A: 4, B: 4}, 805_000)
    assert queues.are_there(805_000)
