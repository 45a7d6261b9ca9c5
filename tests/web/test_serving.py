"""The pages over a real socket, as ``run`` serves them in a thread of its own."""

import logging
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import pytest

from streaming import http_serving
from streaming.config.sections import Web
from streaming.errors import AwayError
from streaming.http_serving import listening_socket
from streaming.loopback.ports import free_port
from streaming.web.app import web_app
from streaming.web.live.watch import Watch
from streaming.web.security.access import Access
from streaming.web.security.guard import MOST_AT_ONCE, Guard
from streaming.web.server import MOST_CONNECTIONS, keep_serving
from streaming.web.settings import WebSettings
from tests.metrics.scraping import get, scrape
from tests.web.asking import ask, ask_together

PATIENCE_S = 30
_opener = build_opener(ProxyHandler({}))


@pytest.fixture
def port() -> int:
    return free_port()


@contextmanager
def served(settings: WebSettings) -> Iterator[Thread]:
    stop = Event()
    watch = Watch(settings.tables)
    watch.start_reading(stop)
    thread = Thread(target=keep_serving, args=(settings, watch, stop))
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(PATIENCE_S)
    assert not thread.is_alive()


def page(port: int) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            with _opener.open(f"http://127.0.0.1:{port}/", timeout=PATIENCE_S) as answer:
                return str(answer.read().decode())
        except URLError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@pytest.mark.slow("a page of a day")
def test_the_pages_are_served_until_the_job_ends(settings: WebSettings, port: int) -> None:
    with served(settings._replace(web=Web(listen=f"127.0.0.1:{port}"))):
        while "orders" not in (shown := page(port)):  # it listens before it has read the tables
            time.sleep(0.1)
    assert "invoices" in shown


@pytest.mark.slow("a page of a day")
def test_a_port_that_is_taken_is_tried_again(
    settings: WebSettings, port: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_serving, "AGAIN_AFTER_S", 0.05)
    with socket.socket() as other, caplog.at_level(logging.ERROR):
        other.bind(("127.0.0.1", port))
        other.listen()
        with served(settings._replace(web=Web(listen=f"127.0.0.1:{port}"))):
            while "cannot be listened on" not in caplog.text:
                time.sleep(0.05)
            other.close()
            page(port)
    assert caplog.text.count(f"127.0.0.1:{port} (web.listen) cannot be listened on") == 1


@pytest.mark.parametrize("host", ["203.0.113.7", "no-such-host.invalid"])
def test_an_address_that_this_machine_does_not_have_yet_may_be_there_later(host: str) -> None:
    with pytest.raises(AwayError, match=rf"{host}:8400 \(web.listen\) cannot be listened on"):
        listening_socket(host, 8400, "web.listen")


@pytest.mark.slow("facts of a day are read, or a browser is started")
def test_prometheus_can_scrape_beside_the_pages(settings: WebSettings, port: int) -> None:
    with served(settings._replace(web=Web(listen=f"127.0.0.1:{port}"))):
        page(port)
        while not (found := scrape(f"http://127.0.0.1:{port}")).of("evenkeel_group_status"):
            time.sleep(1)  # it listens before it has read the tables, and a text is kept for a second
        assert found.one("evenkeel_group_queues", consumer_group="orders", finding="DUPLICATED") == 3
        assert get(f"http://127.0.0.1:{port}/readyz")[:2] == (200, "ok\n")


UNFINISHED = b"POST /silence HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\ntoken="


@pytest.mark.slow("facts of a day are read, or a browser is started")
@pytest.mark.parametrize("unfinished", [UNFINISHED, UNFINISHED.replace(b"/silence", b"/plan"), UNFINISHED[:30]])
def test_forms_that_are_never_sent_whole_keep_nobody_out(settings: WebSettings, port: int, unfinished: bytes) -> None:
    with served(settings._replace(web=Web(listen=f"127.0.0.1:{port}"))), ExitStack() as stack:
        page(port)
        for _ in range(MOST_CONNECTIONS + 10):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S))
            one.sendall(unfinished)
        assert get(f"http://127.0.0.1:{port}/healthz")[:2] == (200, "ok\n")
        assert "evenkeel" in page(port)


def test_health_and_streams_are_answered_while_as_many_requests_as_may_be_are(
    settings: WebSettings, watch: Watch
) -> None:
    guard = Guard(web_app(settings, watch), Access(settings.access))
    guard._at_once = MOST_AT_ONCE
    refused = ask(guard, "/")
    assert (refused.status, refused.headers["retry-after"]) == (503, "2")
    assert ask(guard, "/healthz").status == 200
    assert ask(guard, "/changes").status == 200


def test_requests_that_come_together_are_counted_before_their_users_are_looked_up(
    settings: WebSettings, watch: Watch
) -> None:
    guard = Guard(web_app(settings, watch), Access(settings.access))
    answers = ask_together(guard, "/static/page.css", MOST_AT_ONCE + 5)
    assert Counter(answer.status for answer in answers) == {200: MOST_AT_ONCE, 503: 5}
    assert ask(guard, "/static/page.css").status == 200
