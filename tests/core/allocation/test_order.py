"""Sorting as Java does, whichever way is taken."""

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.identity import MessageQueue, java_order, queue_order
from streaming.core.allocation.together import sort_client_ids, sort_queues

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=3) | st.text(st.sampled_from("aZ9-@"), max_size=3)


@settings(deadline=None)
@given(st.lists(ANY_TEXT))
def test_client_ids_are_sorted_by_code_units(client_ids: list[str]) -> None:
    assert sort_client_ids(client_ids) == tuple(sorted(client_ids, key=java_order))


@settings(deadline=None)
@given(st.lists(st.builds(MessageQueue, ANY_TEXT, ANY_TEXT, st.integers(0, 20))))
def test_queues_are_sorted_by_topic_broker_and_number(queues: list[MessageQueue]) -> None:
    assert sort_queues(queues) == tuple(sorted(queues, key=queue_order))


def test_a_character_above_the_basic_plane_stands_before_one_at_its_end() -> None:
    assert sort_client_ids(["\uff5e", "\U0001f600"]) == ("\U0001f600", "\uff5e")
    for high, low in (
        (MessageQueue("\U0001f600", "b", 9), MessageQueue("\uff5e", "b", 0)),
        (MessageQueue("T", "\U0001f600", 9), MessageQueue("T", "\uff5e", 0)),
    ):
        assert sort_queues([low, high]) == (high, low)


def test_numbers_are_text_in_names_and_numbers_in_queue_ids() -> None:
    assert sort_client_ids(["client@9", "client@10", "Client@9"]) == ("Client@9", "client@10", "client@9")
    nine, ten = MessageQueue("T", "b", 9), MessageQueue("T", "b", 10)
    assert sort_queues([ten, nine]) == (nine, ten)


def test_an_id_that_is_listed_twice_stays_listed_twice() -> None:
    assert sort_client_ids(["b", "a", "b"]) == ("a", "b", "b")
