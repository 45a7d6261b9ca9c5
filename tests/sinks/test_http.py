"""What a failed POST means."""

import email.utils
import gzip
import time
from collections.abc import Callable

import pytest

from streaming.errors import DeliveryError
from streaming.loopback.ports import free_port
from streaming.sinks.http import post
from testing.http_server import Answer, Server


def failure(url: str, timeout_s: float = 5) -> DeliveryError:
    with pytest.raises(DeliveryError) as raised:
        post(f"{url}/token-in-path", b"{}", {}, timeout_s)
    assert "token-in-path" not in str(raised.value)
    return raised.value


def meaning(error: DeliveryError) -> tuple[bool, bool, float | None]:
    return error.is_temporary, error.may_have_arrived, error.retry_after_s


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(400), (False, False, None)),
        (Answer(401), (False, False, None)),
        (Answer(404), (False, False, None)),
        (Answer(302, headers=(("Location", "/elsewhere"),)), (False, False, None)),
        (Answer(408), (True, False, None)),
        (Answer(429), (True, False, None)),
        (Answer(429, headers=(("Retry-After", "7"),)), (True, False, 7)),
        (Answer(429, headers=(("Retry-After", "soon"),)), (True, False, None)),
        (Answer(500), (True, True, None)),
        (Answer(503, headers=(("Retry-After", "120"),)), (True, True, 120)),
        (Answer(0), (True, True, None)),
    ],
)
def test_answer_says_whether_to_try_again(answer: Answer, expected: tuple[bool, bool, float | None]) -> None:
    with Server(answer) as server:
        assert meaning(failure(server.url)) == expected
        assert len(server.got) == 1, "a redirect is not followed: it may lead anywhere"


def test_retry_after_may_be_a_date() -> None:
    date = email.utils.formatdate(time.time() + 60, usegmt=True)
    with Server(Answer(503, headers=(("Retry-After", date),))) as server:
        assert failure(server.url).retry_after_s == pytest.approx(60, abs=3)


def test_nobody_there_has_taken_nothing() -> None:
    assert meaning(failure(f"http://127.0.0.1:{free_port()}")) == (True, False, None)


def test_silence_may_mean_that_it_was_taken() -> None:
    with Server(Answer(-1)) as server:
        assert meaning(failure(server.url, 0.05)) == (True, True, None)


@pytest.mark.parametrize("make", [lambda port: "ftp://x", lambda port: "http://"])
def test_what_is_no_address_does_not_pass(make: Callable[[int], str]) -> None:
    assert not failure(make(0)).is_temporary


OK = b"HTTP/1.1 200 OK\r\n"
BROKEN_BODIES = {
    "shorter than it says": b"Content-Length: 500\r\n\r\ntaken",
    "a chunk whose length is no number": b"Transfer-Encoding: chunked\r\n\r\nzz\r\ntaken\r\n0\r\n\r\n",
    "ends within a chunk": b"Transfer-Encoding: chunked\r\n\r\n500\r\ntaken",
    "no gzip": b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\ntaken",
    "half of a gzip": b"Content-Encoding: gzip\r\nContent-Length: 10\r\n\r\n" + gzip.compress(b"taken" * 99)[:10],
}


@pytest.mark.parametrize("body", BROKEN_BODIES.values(), ids=BROKEN_BODIES)
def test_status_decides_where_the_body_breaks_off(body: bytes) -> None:
    with Server(Answer(200, raw=OK + body)) as server:
        post(server.url, b"{}", {}, 5)
    with Server(Answer(400, raw=OK.replace(b"200 OK", b"400 No") + body)) as server:
        assert meaning(failure(server.url)) == (False, False, None)


@pytest.mark.slow("time-outs pass")
@pytest.mark.parametrize("beginning", [b"", b"HTTP/1.1 2", OK + b"X-Slow: "])
def test_whole_exchange_is_bounded(beginning: bytes) -> None:
    with Server(Answer(200, raw=beginning + b"x" * 1_000, pause_s=0.05)) as server:
        assert meaning(failure(server.url, 0.4)) == (True, True, None)


@pytest.mark.slow("time-outs pass")
def test_body_that_comes_byte_by_byte_does_not_change_what_the_status_said() -> None:
    with Server(Answer(200, raw=OK + b"Content-Length: 1000\r\n\r\n" + b"x" * 1_000, pause_s=0.01)) as server:
        post(server.url, b"{}", {}, 1.5)


@pytest.mark.parametrize("body", [b"<html>please log in</html>", b"ok"])
def test_success_in_something_else_than_json_comes_from_somebody_else(body: bytes) -> None:
    with Server(Answer(200, body)) as server, pytest.raises(DeliveryError, match="something else than JSON") as raised:
        post(server.url, b"{}", {}, 5, answers_json=True)
    assert raised.value.is_temporary
    with Server(Answer(202, b'{"status":"success"}'), Answer(200, b"")) as server:
        post(server.url, b"{}", {}, 5, answers_json=True)
        post(server.url, b"{}", {}, 5, answers_json=True)
