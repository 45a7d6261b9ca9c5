"""How much waits in each queue of a group without an alert: of the fullest ones, by the group's status."""

from msgspec.structs import replace

from schemas.facts import Fact, QueueWaiting
from streaming.notices.notice import Site
from streaming.web.views.group import Asked, GroupView, group_view
from streaming.web.words import words_in
from tests.explain.facts import T0, Teller


def view(*fullest: QueueWaiting, waiting: int) -> GroupView:
    g = Teller()
    for queue_id in range(3):
        g.queue(0, queue_id, "MATCH", topic="T", owners=(f"x{queue_id}",), expected=(f"x{queue_id}",), broker_name="a")
    g.status(1, "healthy", MATCH=3)
    *facts, last = g.facts
    told = replace(last, payload=replace(last.payload, waiting=waiting, read_ts=T0, fullest=fullest))
    return shown([*facts, told])


def shown(facts: list[Fact]) -> GroupView:
    return group_view(facts, None, None, Asked(T0 + 9_000, None, 30, False), words_in("en").of_pages, Site())


def test_few_full_queues_say_that_nothing_waits_in_the_others() -> None:
    found = view(QueueWaiting("T", "a", 1, 700), waiting=700)
    assert {row.queues: (row.waiting, row.read_ts) for row in found.queues} == {
        "a 0": (0, T0), "a 1": (700, T0), "a 2": (0, T0),
    }  # fmt: skip
    assert found.lag is not None
    assert (found.lag.messages, found.lag.read_ts) == (700, T0)


def test_of_queues_that_are_not_among_the_twenty_fullest_it_is_not_known() -> None:
    found = view(*(QueueWaiting("T", "a", number, 9) for number in range(10, 30)), waiting=200)
    assert {row.waiting for row in found.queues} == {None}
