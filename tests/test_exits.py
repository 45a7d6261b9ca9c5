"""Each way out of the process masks what was hidden: streams, answers by HTTP, state, tables, pages and events."""

import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest
import requests
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from streaming.collector.wire.client import Reply
from streaming.collector.wire.frames import Frame
from streaming.http_serving import listening_socket, serve_until
from streaming.notices.notice import MonitorTrouble, Text
from streaming.notifier.open_alerts import OpenAlerts
from streaming.notifier.state_files import Position, load, save
from streaming.secret_mask import hide
from streaming.sinks.masked_sink import MaskedSink
from streaming.sinks.webhook import WebhookSink
from testing.http_server import Server
from tests.canary import where_it_leaks, written
from tests.notifier.facts import NOW
from tests.sinks.messages import blind

SECRET = 'k7Q2x9mV4"tR8wZ1/pL6nB3cJ5'
QUOTED = "\n".join(written(SECRET))


@pytest.fixture(autouse=True)
def _hidden() -> None:
    hide([SECRET])


PROGRAM = """
import logging, sys, warnings, threading
import streaming.cli as cli
from streaming.config.sections import Log
from streaming.log_format import configure_logs
from streaming.secret_mask import hide
quoted = sys.stdin.read()
def run(words):
    hide([{secret!r}])
    print("out", quoted)
    print("err", quoted, file=sys.stderr)
    configure_logs(Log(format={format!r}))
    try:
        raise ValueError(quoted)
    except ValueError:
        logging.exception("logged %s", quoted)
    thread = threading.Thread(target=lambda: 1 / int(quoted))
    thread.start()
    thread.join()
    raise {error}(quoted)
cli._run = run
sys.exit(cli.main([]))
"""


@pytest.mark.slow("processes are started")
@pytest.mark.parametrize("log", ["text", "json"])
@pytest.mark.parametrize("error", ["KeyError", "cli.MonitorError"])
def test_nothing_is_printed_or_logged(log: str, error: str) -> None:
    program = PROGRAM.format(secret=SECRET, format=log, error=error)
    ended = subprocess.run(
        [sys.executable, "-c", program], input=QUOTED, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode in (5, 70), ended.stderr
    assert "out" in ended.stdout
    assert "Exception in thread" in ended.stderr
    assert where_it_leaks(SECRET, {"stdout": ended.stdout, "stderr": ended.stderr}) == []


@contextmanager
def served() -> Iterator[str]:
    async def pieces() -> AsyncIterator[str]:
        yield f"data: {SECRET}\n\n"
        yield "data: more\n\n"

    def answer(request: Request) -> Response:
        kinds = {"/html": HTMLResponse, "/text": PlainTextResponse, "/metrics": PlainTextResponse}
        if request.url.path == "/stream":
            return StreamingResponse(pieces(), media_type="text/event-stream")
        if request.url.path == "/picture":
            return Response(b"\xff\x00" + SECRET.encode(), media_type="image/png")
        return kinds[request.url.path](QUOTED + " end", 503)

    paths = ("/html", "/text", "/metrics", "/stream", "/picture")
    listening: socket.socket = listening_socket("127.0.0.1", 0, "web.listen")
    stop = Event()
    app = Starlette(routes=[Route(path, answer) for path in paths])
    thread = Thread(target=serve_until, args=(stop, app, listening, 20), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        stop.set()
        thread.join()


def test_no_page_shows_it() -> None:
    with served() as url:
        for path in ("/html", "/text", "/metrics"):
            answer = requests.get(url + path, timeout=10)
            assert answer.text.endswith("end"), "its length is that of what is sent"
            assert answer.status_code == 503
            assert where_it_leaks(SECRET, {path: answer.text}) == []
            assert requests.head(url + path, timeout=10).status_code == 503
        assert requests.get(url + "/stream", timeout=10).text == "data: ***\n\ndata: more\n\n"
        assert requests.get(url + "/picture", timeout=10).content.startswith(b"\xff\x00")


def test_no_state_file_keeps_it_and_each_can_be_read(tmp_path: Path) -> None:
    trouble = MonitorTrouble("monitor_blind", "prod", NOW, QUOTED)
    save(tmp_path / "position.json", Position(open_alerts=OpenAlerts(troubles=(trouble,))))
    assert where_it_leaks(SECRET, {"": (tmp_path / "position.json").read_text("utf-8")}) == []
    (read,) = load(tmp_path / "position.json", Position).open_alerts.troubles
    assert (read.kind, read.cluster) == ("monitor_blind", "prod")


def test_no_page_of_another_sink_tells_it() -> None:
    message = blind()
    notice = replace(message.notice, trouble=MonitorTrouble("monitor_blind", "prod", NOW, QUOTED))
    with Server() as server:
        sink = MaskedSink(WebhookSink("hook", server.url, "", 5), ())
        sink.send(message._replace(notice=notice, text=Text(SECRET, QUOTED), link=f"https://x/{SECRET}"))
        (got,) = server.got
    assert got.json["trouble"]["kind"] == "monitor_blind"
    assert where_it_leaks(SECRET, {"": got.body.decode()}) == []


def test_answer_is_quoted_but_not_at_length() -> None:
    class Talkative(WebhookSink):
        def send(self, message: object) -> str:
            return "no such key " + "x" * 10_000

    said = MaskedSink(Talkative("hook", "", "", 5), ()).send(blind())
    assert 50 < len(said) < 500


def test_no_event_has_it_from_what_a_broker_remarks() -> None:
    frame = Frame(1, 1, True, f"{'x' * 146} accessKey={SECRET} is not known", b"")
    refusal = Reply(0, 1, frame).refusal
    assert refusal is not None
    assert refusal.endswith(" accessKey=***"), "it is masked before it is cut"
