"""RocketMQ's order is Java's, not Python's."""

from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.identity import MessageQueue, is_retry_topic, java_order, queue_order, retry_topic, with_host, without_host
from schemas.records import group_key

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)  # lone surrogates too
MIXED = st.text(
    st.sampled_from("\u0000a~\ud800\udbff\udc00\udfff\ue000\uff5e\uffff\U00010000\U0001f600\U0010ffff"), max_size=5
)


def utf16_units(text: str) -> list[int]:
    """Written from the definition, as ``String.charAt`` gives them."""
    units = []
    for code in map(ord, text):
        units += [code] if code < 0x10000 else [0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code - 0x10000 & 0x3FF)]
    return units


def java_compare(one: str, other: str) -> int:
    """``String.compareTo``: the first differing unit decides, else the length."""
    for left, right in zip_longest(utf16_units(one), utf16_units(other), fillvalue=-1):
        if left != right:
            return -1 if left < right else 1
    return 0


@given(ANY_TEXT | MIXED, ANY_TEXT | MIXED)
def test_java_order_is_compare_to(one: str, other: str) -> None:
    left, right = java_order(one), java_order(other)
    assert (left > right) - (left < right) == java_compare(one, other)


@pytest.mark.parametrize(
    ("smaller", "greater"),
    [
        ("", "a"),
        ("a", "aa"),
        ("client@10", "client@9"),
        ("broker-10", "broker-9"),
        ("Z", "a"),
        ("\U0001f600", "\uff5e"),  # Python has it the other way round
        ("\ud7ff", "\U00010000"),
        ("\U0010ffff", "\ue000"),
    ],
)
def test_java_order_of_known_pairs(smaller: str, greater: str) -> None:
    assert java_order(smaller) < java_order(greater)


def test_queues_sort_by_topic_then_broker_then_number() -> None:
    ordered = [
        MessageQueue("A", "broker-10", 9),
        MessageQueue("A", "broker-10", 10),
        MessageQueue("A", "broker-9", 0),
        MessageQueue("\U0001f600", "b", 0),
        MessageQueue("\uff5e", "a", 0),
    ]
    assert sorted(set(ordered), key=queue_order) == ordered


@given(st.text(min_size=1).filter(lambda text: "/" not in text), st.text(min_size=1))
def test_group_key_divides_at_its_first_slash(cluster: str, group: str) -> None:
    assert group_key(cluster, group).split("/", 1) == [cluster, group]


def test_retry_topic_is_known_by_its_prefix() -> None:
    assert retry_topic("orders") == "%RETRY%orders"
    assert is_retry_topic(retry_topic("orders"))
    assert not is_retry_topic("orders%RETRY%")
    assert not is_retry_topic("%DLQ%orders")


@pytest.mark.parametrize(
    ("address", "short"),
    [("10.0.0.1:5000", ":5000"), ("10.0.0.2:5000", "10.0.0.2:5000"), ("10.0.0.1", "10.0.0.1"), ("", "")],
)
def test_an_address_on_the_clients_own_host_is_shortened_and_restored(address: str, short: str) -> None:
    assert without_host(address, "10.0.0.1@7#1") == short
    assert with_host(short, "10.0.0.1@7#1") == address
