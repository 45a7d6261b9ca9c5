"""Matching answers to requests, and asking an address that is silent: without sockets."""

from streaming.collector.wire import requests
from streaming.collector.wire.breaker import Breaker
from streaming.collector.wire.exchange import Exchange
from tests.collector.fake_rocketmq import response

LIST = requests.consumer_list("g")


def test_answers_are_matched_in_any_order() -> None:
    exchange = Exchange()
    first, second = exchange.begin(LIST)[0], exchange.begin(LIST)[0]
    received = list(exchange.receive(response(second) + response(first)))
    assert [frame.opaque for frame in received] == [second, first]


def test_nobody_gets_an_answer_that_came_too_late() -> None:
    exchange = Exchange()
    opaque, _ = exchange.begin(LIST)
    exchange.begin(LIST)
    exchange.end(opaque)
    assert list(exchange.receive(response(opaque))) == []


def test_a_silent_address_gets_one_request_a_round_until_it_answers() -> None:
    breaker = Breaker()
    breaker.sent()
    breaker.failed()
    assert breaker.is_open
    breaker.begin_round()
    assert not breaker.is_open
    breaker.sent()
    assert breaker.is_open, "no other request until this one is back"
    breaker.answered()
    assert not breaker.is_open
