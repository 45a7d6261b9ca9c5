"""Simulated events on their way out: to files that can be replayed, to Kafka, at once or at their times."""

import gzip
import os
import re
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from kafka.errors import KafkaError
from kafka.future import Future

from schemas.events import Round, decode_event
from streaming.cli import main
from streaming.cli.exit_status import AWAY, REFUSED
from streaming.collector.output.backlog import KafkaRecord
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.errors import PublishError
from streaming.feed import outputs
from streaming.feed.feeding import Clock, Fed, Feed
from streaming.feed.outputs import FileOutput, KafkaFeed
from streaming.loopback import LoopbackKafka
from streaming.replay.core_engine import run_core
from streaming.replay.input_file import open_input
from streaming.simulation.load.fleet_spec import FleetSpec
from streaming.simulation.load.generated_fleet import GeneratedFleet, generated_fleet
from streaming.simulation.load.generated_group import GroupRound
from streaming.simulation.load.group_template import GroupTemplate
from streaming.simulation.simulated_group import Shape
from testing.records import accepted, records_of

START_TS = 1_790_000_000_000
SMALL = ("--groups", "3", "--clients", "3", "--queues", "4")


@pytest.fixture(scope="module")
def template() -> GroupTemplate:
    return GroupTemplate(Shape(3, 2, 2, "AVG", False, 5, 20), "m")


def fleet_of(template: GroupTemplate, start_ts: int = START_TS) -> GeneratedFleet:
    fleet = generated_fleet(FleetSpec(3), [template], start_ts)
    fleet.open()
    return fleet


class Watched:
    """An output that notes when it got what, by a clock that goes on only while somebody sleeps."""

    where = "a test"

    def __init__(self) -> None:
        self.now = START_TS / 1000
        self.sent: list[tuple[float, GroupRound]] = []
        self.flushed = 0

    def send(self, group_round: GroupRound) -> None:
        self.sent.append((self.now, group_round))

    def flush(self) -> None:
        self.flushed += 1

    def close(self) -> None: ...

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, self.sleep)


def test_at_once_it_waits_for_nobody_and_ends_in_time(template: GroupTemplate) -> None:
    output = Watched()
    fed = Feed(output, clock=output.clock).at_once(fleet_of(template).rounds, START_TS + 60_000)
    events = [decode_event(value) for _, group_round in output.sent for value in group_round.events]
    assert fed.seconds == 0
    assert fed.events == len(events)
    assert sum(isinstance(event, Round) for event in events) == 3 * 12
    assert START_TS + 55_000 < max(event.ts for event in events) < START_TS + 60_000


def test_paced_each_round_is_sent_when_its_marker_is_due(template: GroupTemplate) -> None:
    output, told = Watched(), []
    fed = Feed(output, told.append, output.clock).paced(fleet_of(template).rounds, START_TS + 60_000)
    for at, group_round in output.sent:
        assert decode_event(group_round.events[-1]).ts / 1000 == pytest.approx(at, abs=0.01)
    assert all(a <= b for (a, _), (b, _) in pairwise(output.sent))
    assert fed.late_s < 0.01
    assert output.flushed > 100
    assert 9 <= len(told) <= 12
    assert all(isinstance(one, Fed) for one in told)


def test_what_is_late_is_sent_at_once_and_said_to_be_late(template: GroupTemplate) -> None:
    output = Watched()
    output.now += 30
    fed = Feed(output, clock=output.clock).paced(fleet_of(template).rounds, START_TS + 60_000)
    assert fed.late_s == pytest.approx(29.4, abs=0.1)
    assert output.sent[0][0] == START_TS / 1000 + 30


@pytest.mark.slow("a tenth of a second of work and more")
@pytest.mark.parametrize("name", ["events.jsonl", "events.jsonl.gz"])
def test_a_file_can_be_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    path = tmp_path / "new" / name
    assert main(["simulate", *SMALL, "--seconds", "120", "--to", str(path)]) == 0
    said = capsys.readouterr().out
    source = open_input(path, pytest.fail)
    outcome = run_core(source.records, DEFAULT_SETTINGS)
    assert (outcome.groups, outcome.quarantined, source.counts.rounds) == (3, 0, 3 * 24)
    assert f"{source.counts.events} events of 3 groups in " in said
    assert str(path) in said
    assert abs(time.time() * 1000 - 120_000 - (source.counts.first_ts or 0)) < 60_000, "nothing lies in the future"


def test_compression_is_by_name(tmp_path: Path, template: GroupTemplate) -> None:
    texts = []
    for name, opened in (("a.jsonl", open), ("a.jsonl.gz", gzip.open)):
        output = FileOutput(tmp_path / name)
        Feed(output).at_once(fleet_of(template).rounds, START_TS + 20_000)
        output.close()
        with opened(tmp_path / name, "rb") as lines:
            texts.append(lines.read())
    assert texts[0] == texts[1]


@pytest.mark.slow("a tenth of a second of work and more")
def test_a_folder_that_the_job_reads_gets_one_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENKEEL__SOURCE__KIND", "files")
    monkeypatch.setenv("EVENKEEL__SOURCE__FOLDER", str(tmp_path))
    assert main(["simulate", *SMALL, "--seconds", "20"]) == 0
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("simulated-")
    assert path.suffix == ".jsonl"


@pytest.mark.parametrize(
    ("words", "status", "why"),
    [
        (["--queues", "5"], REFUSED, "a multiple of the 2 brokers"),
        (["--faults", "stopped,rain"], REFUSED, "no such fault: rain"),
        (["--kafka", "127.0.0.1:1"], AWAY, "Kafka at 127.0.0.1:1: .*refused"),
        (["--to", "/proc/none"], AWAY, "/proc/none: cannot be written"),
        (["--clients", "1", "--faults", "half_open"], REFUSED, "half_open takes 2 clients"),
    ],
)
def test_what_cannot_be_done_is_refused(
    words: list[str], status: int, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    where = () if "--to" in words or "--kafka" in words else ("--to", os.devnull)
    assert main(["simulate", *words, *where]) == status
    assert re.search(why, capsys.readouterr().err)


def test_a_full_disk_is_an_error(template: GroupTemplate) -> None:
    output = FileOutput(Path("/dev/full"))
    with pytest.raises(PublishError, match="/dev/full: cannot be written: No space left"):
        output.send(next(fleet_of(template).rounds)._replace(events=[b"v" * 5_000_000]))


@pytest.mark.kafka
@pytest.mark.parametrize("options", [{}, {"EVENKEEL__COLLECTOR__KAFKA__COMPRESSION_TYPE": "gzip"}])
def test_records_reach_kafka_under_their_keys(
    kafka: LoopbackKafka, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> None:
    for name, value in options.items():
        monkeypatch.setenv(name, value)
    topic, servers = f"simulated-{len(options)}", kafka.bootstrap_servers
    kafka.create_topic(topic, 3)
    assert main(["simulate", *SMALL, "--seconds", "60", "--kafka", servers, "--topic", topic]) == 0
    records = records_of(servers, topic)
    arrived = [(record.key, event) for record in records for event in accepted(record.key, record.value)]
    assert f"{len(arrived)} events of 3 groups" in capsys.readouterr().out
    assert {key for key, _ in arrived} == {f"simulated/{event.group}".encode() for _, event in arrived}
    for key in {key for key, _ in arrived}:
        seqs = [event.seq for other, event in arrived if other == key]
        assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))


@pytest.mark.kafka
def test_a_topic_that_is_not_there_is_an_error(kafka: LoopbackKafka, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--kafka", kafka.bootstrap_servers, "--topic", "missing"]
    assert main(["simulate", *SMALL, "--seconds", "60", *words]) == AWAY
    assert "topic missing at" in capsys.readouterr().err


class Silent:
    """A producer that takes all, and of which nothing is acknowledged."""

    def __init__(self) -> None:
        self.futures: list[Future] = []

    def send(self, topic: str, key: bytes, value: bytes) -> Future:
        self.futures.append(Future())
        return self.futures[-1]

    def partitions_for(self, topic: str) -> set[int]:
        return {0}

    def close(self, timeout: float) -> None: ...


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    producer = Silent()
    monkeypatch.setattr(outputs, "make_producer", lambda *_: producer)
    monkeypatch.setattr(outputs, "PATIENCE_S", 0.2)
    yield producer
    for future in producer.futures:
        future.failure(KafkaError())  # so that the thread of the output ends


def flood(feed: KafkaFeed) -> None:
    record = KafkaRecord(b"k", b"v" * (5 << 20), 1)
    for _ in range(20):
        feed.put([record])


def test_what_kafka_never_acknowledges_is_an_error_and_nothing_is_dropped(silent: Silent) -> None:
    feed = KafkaFeed("somewhere:9092", "slow", {})
    with pytest.raises(PublishError, match=r"topic slow at somewhere:9092: not taken: nothing was acknowledged"):
        flood(feed)
    assert feed._output.backlog.given_up == 0


def test_what_is_left_at_the_end_is_an_error(silent: Silent) -> None:
    feed = KafkaFeed("somewhere:9092", "slow", {})
    feed.put([KafkaRecord(b"k", b"v", 3)])
    with pytest.raises(PublishError, match=r"not taken: 3 events were left after 0.2 s, 0 refused"):
        feed.close()
