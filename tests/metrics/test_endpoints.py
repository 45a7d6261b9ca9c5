"""The three addresses, over a real socket and without one."""

import logging
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread

import pytest

from streaming import http_serving
from streaming.loopback.ports import free_port
from streaming.metrics import endpoints
from streaming.metrics.catalogue import GROUP_MEMBERS, GROUP_REBALANCES, JOB_BATCHES
from streaming.metrics.endpoints import MOST_CONNECTIONS, MOST_TROUBLES, endpoints_app, keep_serving
from streaming.metrics.exposition import Exposed, Exposition
from streaming.metrics.series import Series, histogram, label
from tests.metrics.scraping import Scrape, get, scrape
from tests.web.asking import Answer, ask

HOSTILE = 'a"b\\c\nd\x00\u202e} 1\n# TYPE x counter'


class Fake:
    def __init__(self) -> None:
        self.reads = 0
        self.troubles: list[str] = []
        self.is_standby = False
        self.series = [Series(GROUP_MEMBERS, ("prod", label(HOSTILE)), 3)]
        self.now = 0.0

    def read(self) -> list[Series]:
        self.reads += 1
        return self.series

    def exposed(self) -> Exposed:
        return Exposed("run", [self.read], lambda: self.troubles, lambda: self.is_standby)

    def ask(self, path: str, host: str = "127.0.0.1:9464", listens: str = "127.0.0.1") -> Answer:
        app = endpoints_app(Exposition(self.exposed(), lambda: self.now), listens)
        return ask(app, path, {"host": host})


@pytest.fixture
def fake() -> Fake:
    return Fake()


@contextmanager
def served(fake: Fake) -> Iterator[int]:
    port = free_port()
    stop = Event()
    thread = Thread(target=keep_serving, args=(("127.0.0.1", port), fake.exposed(), stop))
    thread.start()
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.02)
        yield port
    finally:
        stop.set()
        thread.join(30)
    assert not thread.is_alive()


def test_the_endpoints_over_a_socket(fake: Fake) -> None:
    with served(fake) as port:
        address = f"http://127.0.0.1:{port}"
        assert scrape(address).one("evenkeel_group_members", cluster="prod") == 3
        assert get(f"{address}/healthz")[:2] == (200, "ok\n")
        assert get(f"{address}/readyz")[:2] == (200, "ok\n")
        fake.troubles = ["no round has come for 40 s", "sink pager accepts no pages: 503"]
        assert get(f"{address}/readyz")[:2] == (503, "no round has come for 40 s\nsink pager accepts no pages: 503\n")
        assert get(f"{address}/healthz")[0] == 200
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            status, _, headers = get(f"{address}/metrics", method)
            assert (status, headers["allow"]) == (405, "GET, HEAD")
        assert get(f"{address}/metrics", "HEAD")[:2] == (200, "")
        assert get(f"{address}/")[0] == 404
        assert "server" not in get(address)[2]


@pytest.mark.parametrize(
    "begun", [b"", b"GET /metrics HTTP/1.1\r\nHos", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /m"]
)
@pytest.mark.slow("a server is started")
def test_a_client_that_connects_and_asks_nothing_keeps_nobody_out(
    begun: bytes, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_serving, "PATIENCE_S", 2)
    monkeypatch.setattr(http_serving, "LOOK_EVERY_S", 0.5)
    with served(fake) as port, ExitStack() as closing:
        idle = []
        for _ in range(MOST_CONNECTIONS):
            idle.append(closing.enter_context(socket.create_connection(("127.0.0.1", port), 30)))
            idle[-1].sendall(begun)
            time.sleep(0.01)
        assert get(f"http://127.0.0.1:{port}/healthz")[0] == 200
        for one in idle:
            with suppress(ConnectionResetError):
                while one.recv(4096):
                    pass
        assert get(f"http://127.0.0.1:{port}/healthz")[0] == 200


def test_only_who_asks_for_it_sees_a_standby_as_ready(fake: Fake) -> None:
    fake.troubles, fake.is_standby = ["standby: the job waits until process 7 ends"], True
    assert fake.ask("/readyz").status == fake.ask("/readyz?standby=no").status == 503
    answer = fake.ask("/readyz?standby=ready")
    assert (answer.status, answer.text) == (200, "standby\n")
    fake.troubles, fake.is_standby = ["no facts were written for 40 s"], False
    assert fake.ask("/readyz?standby=ready").text == "no facts were written for 40 s\n"
    fake.troubles = []
    assert fake.ask("/readyz?standby=ready").text == "ok\n"


def test_hostile_names_are_values_and_nothing_else(fake: Fake) -> None:
    text = fake.ask("/metrics").text
    assert "\x00" not in text
    assert re.findall("(?m)^# TYPE x", text) == []
    assert len(Scrape(text).of("evenkeel_group_members", consumer_group=label(HOSTILE))) == 1


def test_two_names_that_look_the_same_are_one_series(fake: Fake) -> None:
    fake.series = [Series(GROUP_REBALANCES, ("c", label(name)), 1) for name in ("a\n", r"a\n")]
    assert len(Scrape(fake.ask("/metrics").text).of("evenkeel_group_rebalances_total")) == 1


def test_a_histogram_is_cumulative(fake: Fake) -> None:
    durations = histogram(JOB_BATCHES)
    for seconds in (0.1, 0.7, 3, 90):
        durations.observe(seconds)
    fake.series = [Series(JOB_BATCHES, (), durations)]
    found = Scrape(fake.ask("/metrics").text)
    name = "evenkeel_job_batch_duration_seconds"
    assert [found.one(f"{name}_bucket", le=le) for le in ("0.5", "1.0", "80.0", "+Inf")] == [1, 2, 3, 4]
    assert (found[f"{name}_count"], found[f"{name}_sum"]) == (4, pytest.approx(93.8))


def test_the_process_itself_is_told(fake: Fake) -> None:
    fake.troubles = ["something"]
    found = Scrape(fake.ask("/metrics").text)
    assert found["process_resident_memory_bytes"] > 0
    assert found.one("evenkeel_build_info", process="run") == 1
    assert found["evenkeel_ready"] == 0


def test_many_requests_within_a_second_cost_one_reading(fake: Fake) -> None:
    app = endpoints_app(Exposition(fake.exposed(), lambda: fake.now), "127.0.0.1")
    for _ in range(5):
        assert ask(app, "/metrics").status == 200
    assert fake.reads == 1
    fake.now = 1.0
    ask(app, "/metrics")
    assert fake.reads == 2


@pytest.mark.parametrize("host", ["127.0.0.1:9464", "localhost", "[::1]:9464"])
def test_on_loopback_names_of_this_machine_are_answered(host: str, fake: Fake) -> None:
    assert fake.ask("/metrics", host).status == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:9464", "", "127.0.0.1.evil.example"])
def test_on_loopback_another_name_is_refused(host: str, fake: Fake) -> None:
    assert fake.ask("/metrics", host).status == 421
    assert fake.reads == 0
    assert fake.ask("/metrics", host, "0.0.0.0").status == 200


def test_an_error_is_logged_and_answered(fake: Fake, caplog: pytest.LogCaptureFixture) -> None:
    fake.series = [Series(GROUP_MEMBERS, ("no", "such", "label"), 1)]
    answer = fake.ask("/metrics")
    assert answer.status == 500
    assert "/metrics could not be made" in caplog.text
    assert fake.ask("/healthz").status == 200


def test_reasons_are_cut_and_stay_lines(fake: Fake) -> None:
    fake.troubles = ["a\nb" + "x" * 10_000] + ["c"] * (MOST_TROUBLES + 4)
    lines = fake.ask("/readyz").text.splitlines()
    assert len(lines) == MOST_TROUBLES + 1
    assert lines[0].startswith("a bxx")
    assert len(lines[0]) == 500
    assert lines[-1] == "and 5 more"


@pytest.mark.slow("a server is started")
def test_a_port_that_is_taken_is_tried_again(
    fake: Fake, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_serving, "AGAIN_AFTER_S", 0.05)
    stop, port, tries = Event(), free_port(), list[object]()
    listen = endpoints.listening_socket
    monkeypatch.setattr(endpoints, "listening_socket", lambda *given: (tries.append(given), listen(*given))[1])
    with socket.create_server(("127.0.0.1", port)):
        thread = Thread(target=keep_serving, args=(("127.0.0.1", port), fake.exposed(), stop))
        with caplog.at_level(logging.ERROR):
            thread.start()
            while len(tries) < 4:
                time.sleep(0.01)
    assert caplog.text.count(f"127.0.0.1:{port} (metrics.listen) cannot be listened on") == 1
    deadline = time.monotonic() + 30
    while True:
        try:
            assert get(f"http://127.0.0.1:{port}/healthz")[0] == 200
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    stop.set()
    thread.join(30)
    assert not thread.is_alive()
