"""Stores that let two writers win are found by doctor. No server that can be had does so: these are made."""

import time
from collections.abc import Iterator
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

import pytest

from streaming.config.sections import Config
from streaming.doctor import tables
from streaming.doctor.checks import Verdict
from streaming.doctor.contest import require_conditions
from streaming.errors import SetupError

IGNORES, CHECKS_THEN_ACTS, FIT = "ignores conditions", "checks, then acts", "fit"


class Store(BaseHTTPRequestHandler):
    """As much of S3 as the trial uses."""

    kind = FIT
    objects: dict[str, str]  # path -> ETag
    lock: Lock
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        tag = f'"{md5(self.rfile.read(int(self.headers["Content-Length"]))).hexdigest()}"'
        if self.kind == FIT:
            with self.lock:
                return self._put(tag)
        self._put(tag)

    def do_DELETE(self) -> None:
        self.objects.pop(self.path, None)
        self._answer(204)

    def _put(self, tag: str) -> None:
        found = self.objects.get(self.path)
        wrong = found is not None if self.headers["If-None-Match"] else found != self.headers["If-Match"]
        if wrong and self.kind != IGNORES:
            return self._answer(412)
        if self.kind == CHECKS_THEN_ACTS:
            time.sleep(0.02)
        self.objects[self.path] = tag
        self._answer(200, tag)

    def _answer(self, status: int, tag: str = "") -> None:
        self.send_response(status)
        self.send_header("ETag", tag)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 64


@pytest.fixture
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    handler = type("Handler", (Store,), {"kind": request.param, "objects": {}, "lock": Lock()})
    with Server(("127.0.0.1", 0), handler) as server:
        for name, value in (
            ("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}"), ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_REGION", "us-east-1"),
        ):  # fmt: skip
            monkeypatch.setenv(name, value)
        Thread(target=server.serve_forever, daemon=True).start()
        yield str(request.param)
        server.shutdown()


@pytest.mark.deep("an object store, which Go builds first")
@pytest.mark.parametrize("kind", [IGNORES, CHECKS_THEN_ACTS], indirect=True)
def test_store_that_lets_two_win_is_refused_with_the_reason(kind: str) -> None:
    reason = r"let \d+ of 16 writers win .* under the condition If-None-Match: \*.*two jobs could have one lease"
    with pytest.raises(SetupError, match=rf"^s3a://bucket/tables: this object store {reason}"):
        require_conditions("s3a://bucket/tables")


@pytest.mark.deep("an object store, which Go builds first")
@pytest.mark.parametrize("kind", [FIT], indirect=True)
def test_the_same_store_with_a_lock_is_accepted(kind: str) -> None:
    require_conditions("s3a://bucket/tables")


@pytest.mark.deep("an object store, which Go builds first")
@pytest.mark.parametrize(("kind", "verdict"), [(IGNORES, Verdict.WRONG), (FIT, Verdict.FINE)], indirect=["kind"])
def test_doctor_lets_writers_contend_where_it_is_asked_to(kind: str, verdict: Verdict) -> None:
    both = {"tables": {"path": "s3a://bucket/tables"}, "job": {"checkpoint": "s3a://bucket/checkpoint"}}
    config, run = Config.model_validate(both), frozenset({"run"})
    found = list(tables._storages(config, run, contends=True))
    assert [(check.where, check.verdict) for check in found] == [
        ("s3a://bucket/tables", verdict), ("s3a://bucket/checkpoint", verdict),
    ]  # fmt: skip
    (untried,) = tables._storages(config, frozenset({"web"}), contends=False)
    assert (untried.verdict, untried.mend) == (Verdict.UNKNOWN, "evenkeel doctor --contend")
