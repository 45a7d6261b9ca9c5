"""A server that others hold connections to: it goes on answering those who ask."""

import logging
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread

import pytest
from starlette.types import Receive, Scope, Send

from streaming import http_serving
from streaming.http_serving import MOST_KINDS, OnceAMinute, listening_socket, serve_until

MOST = 20
PATIENCE_S = 60  # it only ends a hang
ANSWER = b"x" * 5_000_000
ASK = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
HALF = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the whole request, and answers at length if it is asked for that."""
    while (message := await receive()).get("more_body"):
        pass
    if message["type"] == "http.disconnect":
        return
    body = ANSWER if scope["path"] == "/long" else b"well"
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for at in range(0, len(body), 100_000):
        await send({"type": "http.response.body", "body": body[at : at + 100_000], "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


@pytest.fixture(autouse=True)
def _nothing_logged_yet() -> None:
    http_serving._once_a_minute._shown.clear()


@pytest.fixture
def port() -> Iterator[int]:
    listening, stop = listening_socket("127.0.0.1", 0, "test"), Event()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 20_000)
    thread = Thread(target=serve_until, args=(stop, app, listening, MOST))
    thread.start()
    yield listening.getsockname()[1]
    stop.set()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


@contextmanager
def held(port: int, count: int, says: bytes) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        places = [("127.0.0.1", port)] * count
        held = [stack.enter_context(socket.create_connection(place, timeout=PATIENCE_S)) for place in places]
        for one in held:
            one.sendall(says)
        time.sleep(0.2)
        yield held


def answered(port: int, says: bytes = ASK) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as asking:
        asking.sendall(says)
        return asking.recv(1000)


def is_closed(one: socket.socket) -> bool:
    try:
        while one.recv(100_000):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize(
    "says",
    [b"", b"GET / HT", HALF, b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n"],
    ids=["nothing", "half a line", "half a form", "reads no answer"],
)
def test_who_holds_all_connections_keeps_nobody_out(port: int, says: bytes) -> None:
    with held(port, 3 * MOST, says):
        for _ in range(5):
            assert answered(port).startswith(b"HTTP/1.1 200")


@pytest.mark.slow("processes are started")
def test_request_that_does_not_end_is_closed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_serving, "PATIENCE_S", 0.5)
    monkeypatch.setattr(http_serving, "LOOK_EVERY_S", 0.1)
    with held(port, 2, HALF) as (silent, drips):
        for _ in range(4):
            try:
                drips.sendall(b"a")
            except OSError:
                break
            time.sleep(0.2)
        assert is_closed(silent)
        assert is_closed(drips), "single bytes prolong nothing"


@pytest.mark.slow("processes are started")
def test_answer_that_is_not_read_is_closed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_serving, "UNREAD_PATIENCE_S", 0.5)
    monkeypatch.setattr(http_serving, "LOOK_EVERY_S", 0.1)
    closed, abort = Event(), http_serving._Protocol._abort
    monkeypatch.setattr(http_serving._Protocol, "_abort", lambda one: (abort(one), closed.set()))
    with held(port, 1, b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n") as (unread,):
        assert closed.wait(PATIENCE_S)  # it is not seen from here before all is read that was sent
        assert is_closed(unread)


@pytest.mark.slow("processes are started")
def test_answer_that_is_read_slowly_is_read_whole(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_serving, "UNREAD_PATIENCE_S", 3.0)
    monkeypatch.setattr(http_serving, "LOOK_EVERY_S", 0.1)
    got = 0
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
        reader.connect(("127.0.0.1", port))
        reader.sendall(b"GET /long HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        began = time.monotonic()
        while piece := reader.recv(100_000):
            got += len(piece)
            if time.monotonic() - began < 4:
                time.sleep(0.05)
    assert time.monotonic() - began > 4
    assert got > len(ANSWER)


@pytest.mark.parametrize(
    "request_that_is_none",
    [b"\x00\x01\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"],
)
def test_requests_that_are_none_do_not_flood_the_log(
    port: int, request_that_is_none: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(50):
            answered(port, request_that_is_none)
    assert 1 <= len(caplog.records) <= 2


@pytest.fixture
def clock() -> list[float]:
    return [1000.0]


@pytest.fixture
def log(clock: list[float], caplog: pytest.LogCaptureFixture) -> logging.Logger:
    found = logging.getLogger("tests.repeated")
    for one in list(found.filters):
        found.removeFilter(one)
    found.addFilter(OnceAMinute(lambda: clock[0]))
    return found


def test_one_line_a_minute_with_a_count(
    log: logging.Logger, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    for second in range(150):
        clock[0] = 1000 + second
        log.warning("request %d is none", second)
        if second in (3, 4):
            log.warning("something else")
    assert caplog.messages == [
        "request 0 is none",
        "something else",
        "request 60 is none (59 more like this since the last such line)",
        "request 120 is none (59 more like this since the last such line)",
    ]


def test_kinds_are_not_kept_for_ever(log: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(10 * MOST_KINDS):
        log.warning(f"a text of its own {number}")
    (kept,) = log.filters
    assert isinstance(kept, OnceAMinute)
    assert len(kept._shown) <= MOST_KINDS
