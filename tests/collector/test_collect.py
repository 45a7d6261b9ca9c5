"""``evenkeel collect`` as a whole: a cluster on loopback, files at the other end, signals."""

import gc
import json
import logging
import os
import pty
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schemas.events import AnyEvent, Round, TopicRoute, decode_event
from streaming.cli import main
from streaming.collector.from_config import credentials_of, tls_of
from streaming.collector.service import GARBAGE_THRESHOLDS, garbage_searched_seldom
from streaming.config.sections import Collector
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.errors import CollectorError
from streaming.replay.core_engine import core_facts
from streaming.replay.input_file import open_input
from streaming.replay.recording import Recording
from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup, served, two_clients
from tests.collector.certificates import self_signed
from tests.collector.test_cluster_probe import Told, play

SECRET = "hunter2"


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """A cluster served by a thread, for a command that has the main one."""
    fake = two_clients()
    fake.groups["dead"] = FakeGroup()
    with served(fake):
        yield fake


def config_file(folder: Path, cluster: FakeCluster, more: str = "") -> str:
    path = folder / "x.toml"
    path.write_text(
        f'[collector]\noutput = "file"\nfile = "{folder}/events.jsonl"\nstate = "{folder}/state"\n'
        f"interval_seconds = 1\ntimeout_seconds = 1\n"
        f'clusters = {{ prod = "127.0.0.1:1; {cluster.namesrv[0]}" }}\n{more}'
    )
    return str(path)


def stopped_when(true: Callable[[], bool], then: signal.Signals = signal.SIGTERM, seconds: float = 10) -> None:
    """Send a signal to this process once something has happened, at the latest after some seconds."""

    def watch() -> None:
        deadline = time.monotonic() + seconds
        while not true() and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(os.getpid(), then)

    threading.Thread(target=watch, daemon=True).start()


def read_events(path: Path) -> list[AnyEvent]:
    return [decode_event(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def rounds_in(path: Path) -> int:
    return path.read_bytes().count(b'"event":"round"') if path.exists() else 0


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_collects_until_a_signal(ending: signal.Signals, cluster: FakeCluster, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    stopped_when(lambda: rounds_in(events) >= 2, ending)
    assert main(["collect", "--config", config_file(tmp_path, cluster)]) == 0
    told = read_events(events)
    told = [event for event in told if not (isinstance(event, Round) and event.look)]
    assert {event.group for event in told} == {"g"}
    assert [event.seq for event in told] == list(range(len(told)))
    assert next(iter(told)).source.startswith("collector ")
    facts = core_facts(open_input(events, print).records, DEFAULT_SETTINGS)
    assert not any(fact.payload.fact in ("quarantine", "evaluation_failed") for fact in facts)


@pytest.mark.slow("time-outs pass")
def test_recording_is_replayed_to_the_same_events(cluster: FakeCluster, tmp_path: Path) -> None:
    events, recording = tmp_path / "events.jsonl", tmp_path / "recording.jsonl.gz"
    stopped_when(lambda: rounds_in(events) >= 3)
    main(["collect", "--config", config_file(tmp_path, cluster), "--record", str(recording)])
    live = read_events(events)
    replayed = list(Recording(recording, pytest.fail).events())
    assert [comparable(e) for e in replayed] == [comparable(e) for e in live[: len(replayed)]]
    assert len(live) - len(replayed) < 5  # what was cut short by the signal


def comparable(event: AnyEvent) -> str:
    """Without what differs by design: producer, the round's number, and when a route was last known to stand."""
    fields = json.loads(json.dumps({name: repr(getattr(event, name)) for name in event.__struct_fields__}))
    left_out = {"source", "round", "routes_changed_ts"}
    left_out |= {"ts"} if isinstance(event, TopicRoute) else set()
    return f"{type(event).__name__} {sorted((k, v) for k, v in fields.items() if k not in left_out)}"


def test_garbage_is_searched_seldom_and_still_found() -> None:
    class Cyclic:
        def __init__(self) -> None:
            self.itself = self

    passes: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            passes.append(info["collected"])

    before, few = gc.get_threshold(), 1_000
    gc.callbacks.append(note)
    try:
        with garbage_searched_seldom():
            kept = [Cyclic() for _ in range(few)]
            assert not passes
            del kept
            for _ in range(GARBAGE_THRESHOLDS[0] + few):
                Cyclic()
            assert sum(passes) > few
    finally:
        gc.callbacks.remove(note)
    assert gc.get_threshold() == before


def test_dry_run_asks_no_client_and_says_what_collecting_would_ask(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collect", "--config", config_file(tmp_path, cluster), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("prod: 2 brokers, 1 groups with members, 1 without, 2 clients to be asked\n")
    assert "running info 0.1" in out
    assert "each client   one running info every 20 s\n" in out
    assert cluster.asked_of_clients == {}
    assert {code for node in cluster.nodes.values() for code in node.requests} == {38, 201, 203, 402}
    assert not (tmp_path / "events.jsonl").exists()


@pytest.mark.parametrize("silent", ["all", "one broker", "the name server"])
def test_dry_run_that_did_not_reach_all_does_not_end_with_0(
    silent: str, cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    brokers = list(cluster.nodes.values())
    nodes = {"all": brokers, "one broker": brokers[:1], "the name server": cluster.name_servers}[silent]
    for node in nodes:
        node.manner = "garbage"
    assert main(["collect", "--config", config_file(tmp_path, cluster), "--dry-run"]) == 2
    assert "  no answer of " in capsys.readouterr().out


def test_dry_run_that_found_no_broker_does_not_end_with_0(cluster: FakeCluster, tmp_path: Path) -> None:
    for node in cluster.nodes.values():
        node.is_registered = False
    assert main(["collect", "--config", config_file(tmp_path, cluster), "--dry-run"]) == 2


@pytest.mark.slow("time-outs pass")
def test_secret_is_written_nowhere(cluster: FakeCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    cluster.required_key = "another key"
    more = f'access_key = "key"\nsecret_key_file = "{tmp_path}/secret"\n[log]\nlevel = "DEBUG"\n'
    recording = tmp_path / "recording.jsonl"
    stopped_when(lambda: cluster.name_servers[0].requests[106] >= 2)
    main(["collect", "--config", config_file(tmp_path, cluster, more), "--record", str(recording)])
    shown = "".join(capfd.readouterr())
    assert "no answer of" in shown
    written = [path.read_text() for path in tmp_path.iterdir() if path.is_file() and path.name != "secret"]
    assert SECRET not in "".join([shown, *written])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("[collector]\nclusters = {}", "collector.clusters is empty"),
        ('[collector]\nclusters = { a = "h:1" }\noutput = "file"\nfile = "/proc/none/x"', "cannot be written"),
    ],
)
def test_what_cannot_be_set_up_is_refused(
    more: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.toml").write_text(more)
    assert main(["collect", "--config", str(tmp_path / "x.toml")]) == 2
    assert said in capsys.readouterr().err


def test_secret_comes_from_its_file_or_the_environment(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f" {SECRET}\n")
    by_file = credentials_of(Collector(access_key="key", secret_key_file=str(tmp_path / "secret")))
    by_text = credentials_of(Collector.model_validate({"access_key": "key", "secret_key": SECRET}))
    assert by_file is not None
    assert by_text is not None
    assert by_file.signed({}) == by_text.signed({})
    assert credentials_of(Collector()) is None
    with pytest.raises(CollectorError) as raised:
        credentials_of(Collector(access_key="key", secret_key_file=str(tmp_path)))
    assert "cannot be read" in str(raised.value)


def test_unusable_certificates_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    assert tls_of(Collector()) is None
    assert tls_of(Collector(tls=True, tls_verify=False)) is not None
    with pytest.raises(CollectorError, match="certificates cannot be used"):
        tls_of(Collector(tls=True, tls_ca_file=str(tmp_path / "ca.pem")))


@pytest.fixture
def encrypted_key(tmp_path: Path) -> Path:
    """Its key is encrypted with "hunter2"."""
    return self_signed(tmp_path, "me", "hunter2")


@pytest.mark.parametrize("of_kafka", [False, True])
@pytest.mark.slow("time-outs pass")
def test_encrypted_key_is_refused_and_no_terminal_is_asked(of_kafka: bool, encrypted_key: Path, tmp_path: Path) -> None:
    """On a terminal of its own, since OpenSSL asks there whatever standard input is."""
    tls = f'tls = true\ntls_cert_file = "{encrypted_key}"\n'
    kafka = f'[collector.kafka]\nsecurity.protocol = "SSL"\nssl.certfile = "{encrypted_key}"\n'
    (tmp_path / "x.toml").write_text(
        f'[collector]\nclusters = {{ prod = "127.0.0.1:1" }}\nstate = "{tmp_path}"\n{kafka if of_kafka else tls}'
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "streaming", "collect", "--config", str(tmp_path / "x.toml")])
    written, deadline = b"", time.monotonic() + 30
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                written += os.read(terminal, 65_536)
            except OSError:  # the other side is closed
                break
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    assert b"the key is encrypted and its passphrase is not known" in written
    assert (b"set collector.kafka.ssl.password" in written) == of_kafka
    assert b"Enter PEM" not in written


def test_round_of_one_group_that_fails_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(told: Told) -> None:
        note = told.probe.silent.note

        def failing(who: str, failure: str | None) -> None:
            if who == "broker-a" and not caplog.records:
                raise RuntimeError("a fault of our own")
            note(who, failure)

        monkeypatch.setattr(told.probe.shared, "note", failing)
        await told.round()
        assert "a fault of our own" in caplog.text
        await told.round()
        assert told.marker().brokers[0].answered

    caplog.set_level(logging.ERROR)
    play(scene, FakeCluster(groups={"g": FakeGroup([FakeClient("c1")]), "h": FakeGroup([FakeClient("c2")])}))
