"""No destination can make evenkeel read without an end: bytes are counted at the other side."""

import gzip
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Event
from typing import Any

import pytest

from streaming.errors import DeliveryError, SetupError
from streaming.notifier import heartbeat
from streaming.notifier.heartbeat import Heartbeat
from streaming.sinks.alertmanager import AlertmanagerSink
from streaming.sinks.chat import ChatSink
from streaming.sinks.pagerduty import PagerDutySink
from streaming.sinks.webhook import WebhookSink
from testing.http_server import Answer, Server
from tests.sinks.endless import EndlessServer
from tests.sinks.messages import message

MOST_TAKEN = 1_000_000  # 64 KiB are read; the rest waits in the kernel's buffers of both sides
OK, REDIRECT = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"
CHUNK = b"1000\r\n" + b"x" * 4096 + b"\r\n"
ENDLESS = {
    "body": (OK + b"\r\n", b"x"),
    "body of a redirect": (REDIRECT + b"\r\n", b"x"),
    "body of an error": (b"HTTP/1.1 500 No\r\n\r\n", b"x"),
    "chunks": (OK + b"Transfer-Encoding: chunked\r\n\r\n", CHUNK),
    "chunks of a redirect": (REDIRECT + b"Transfer-Encoding: chunked\r\n\r\n", CHUNK),
    "a chunk's length": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1"),
    "zipped": (OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"x"), gzip.compress(b"x" * 1_000_000)),
    "headers": (OK, b"X-More: x\r\n"),
    "a header": (OK + b"X-More: ", b"x"),
    "answers before the answer": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}


def beat(url: str) -> None:
    stop = Event()

    def once() -> bool:
        stop.set()
        return True

    Heartbeat(url, 0.01).run(once, stop)


def chat(scheme: str, url: str) -> None:
    ChatSink("chat", "apprise", f"{scheme}://{url.removeprefix('http://')}/x").send(message())


CALLERS: dict[str, Callable[[str], Any]] = {
    "webhook": lambda url: WebhookSink("s", url, "", 5).send(message()),
    "alertmanager": lambda url: AlertmanagerSink("s", url, "", 5).send(message()),
    "pagerduty": lambda url: PagerDutySink("s", url, "key", 5).send(message()),
    "heartbeat": beat,
    "json": partial(chat, "json"),
    "xml": partial(chat, "xml"),
    "form": partial(chat, "form"),
    "json by GET": lambda url: ChatSink("chat", "apprise", f"json://{url.removeprefix('http://')}/x?method=GET").send(
        message()
    ),
}


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("kind", ENDLESS)
def test_little_is_read_of_an_answer_without_end(kind: str, caller: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "TIMEOUT_S", 5.0)
    with EndlessServer(*ENDLESS[kind]) as server:
        with suppress(DeliveryError):
            CALLERS[caller](server.url)
        assert server.asked == 1
        assert server.taken < MOST_TAKEN


BROKEN_LOCATIONS = (
    "http://[::1",
    "http://",
    "//:99999999",
    "http://a:b:c/",
    "ht tp://x",
    "\x01",
    "http://" + "a." * 300,
)


@pytest.mark.slow("time-outs pass")
@pytest.mark.parametrize("location", BROKEN_LOCATIONS)
@pytest.mark.parametrize("caller", CALLERS)
def test_redirect_is_not_looked_at(caller: str, location: str, caplog: pytest.LogCaptureFixture) -> None:
    answer = Answer(302, headers=(("Location", location),))
    with Server(always=answer) as server:
        if caller == "heartbeat":
            beat(server.url)
            assert "answered 302" in caplog.text
        else:
            with pytest.raises(DeliveryError, match="answered 302") as raised:
                CALLERS[caller](server.url)
            assert not raised.value.is_temporary
        assert len(server.got) == 1


@pytest.mark.parametrize("caller", CALLERS)
def test_redirect_leads_nowhere(caller: str) -> None:
    with Server() as elsewhere:
        with Server(always=Answer(307, headers=(("Location", elsewhere.url),))) as server, suppress(DeliveryError):
            CALLERS[caller](server.url)
        assert not elsewhere.got


MAIL_ENDLESS = {
    "lines of a greeting": (b"", b"220-here\r\n"),
    "a greeting": (b"220 ", b"x"),
    "lines of an answer": (b"220 here\r\n", b"250-x\r\n"),
}


@pytest.mark.parametrize("kind", MAIL_ENDLESS)
def test_little_is_read_of_a_mail_server_without_end(kind: str) -> None:
    with EndlessServer(*MAIL_ENDLESS[kind], reads_request=False) as server:
        address = f"mailto://127.0.0.1:{server.port}/?from=a@example.com&to=b@example.com&mode=insecure"
        with pytest.raises(DeliveryError):
            ChatSink("mail", "mail", address).send(message())
        assert server.asked >= 1
        assert server.taken < MOST_TAKEN


@pytest.mark.slow("time-outs pass")
def test_what_unpacks_to_a_gigabyte_is_not_unpacked() -> None:
    """A chat's answer is read by us and by apprise."""
    from streaming.sinks import apprise_transport

    bomb = gzip.compress(b"x" * 300_000_000, 9)
    with Server(always=Answer(200, bomb, headers=(("Content-Encoding", "gzip"),))) as server:
        chat("json", server.url)
    answer = apprise_transport.last_answer()
    assert answer is not None
    assert 0 < len(answer.content) <= 65_536


@pytest.mark.parametrize("address", ["irc://nick@127.0.0.1/#ops", "aprs://N0CALL:12345@W1AW"])
def test_protocol_that_cannot_be_bounded_is_refused(address: str) -> None:
    with pytest.raises(SetupError, match="cannot be bounded") as raised:
        ChatSink("ops", "apprise", address)
    assert address not in str(raised.value)


def test_every_request_of_every_plugin_is_bounded() -> None:
    """Whatever apprise's plugins take of requests is a function of ours, or reads nothing."""
    import re
    from pathlib import Path

    import apprise.plugins

    from streaming.sinks import apprise_transport

    used: set[str] = set()
    for path in Path(apprise.plugins.__file__).parent.rglob("*.py"):
        used |= set(re.findall(r"\brequests\.(\w+)\(", path.read_text("utf-8")))
    assert {"post", "get", "put"} <= used
    ours = {*vars(apprise_transport._HTTP), "request", "RequestException"}
    assert used <= ours
