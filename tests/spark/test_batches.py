"""The notes that say which batch's facts are in the table, also if jobs are killed again and again."""

from types import SimpleNamespace

import msgspec
import pytest

from streaming.errors import InUseError, MonitorError
from streaming.spark.batches import Batches
from streaming.spark.checkpoint import Checkpoint, Identity
from streaming.spark.facts import COMMITS_READ, CommitNote, FactsTable
from streaming.spark.health import Health
from streaming.spark.job import _read_ahead
from streaming.spark.job_counts import JobCounts
from streaming.spark.kafka_offsets import Loss
from streaming.spark.operator import ShardReport

T0 = 1_700_000_000_000
IDENTITY = "query"
POSITIONS = '{"events":{"0":100}}'  # where each batch ends


class Table:
    """A table that keeps only the notes of its commits."""

    def __init__(self) -> None:
        self.noted = []
        self.kinds = set()  # of the facts of the newest commit
        self.is_held = True

    def append(self, rows, note, kinds, files=1, once=None) -> None:
        self.noted.append(note.batch_id)
        self.kinds = kinds

    def require_held(self) -> None:
        if not self.is_held:
            raise InUseError("the lease is lost")

    def known(self) -> int:
        """The newest batch that the next start reads in the notes."""
        return max(self.noted[-COMMITS_READ[0] :], default=-1)


class Folder:
    """A checkpoint whose batches 0 to ``done`` are committed, and the next one is not."""

    uri = "memory:checkpoint"

    def __init__(self, done: int) -> None:
        self.folders = {"offsets": range(done + 2), "commits": range(done + 1)}

    def read(self, name: str) -> str | None:
        return f"v1\n{{}}\n{POSITIONS}\n" if name.startswith("offsets/") else None

    def numbers(self, name: str) -> list[int]:
        return list(self.folders.get(name, ()))


class Frame:
    """A batch with one fact. ``reports``: by default none."""

    sparkSession = None

    def __init__(self, *reports) -> None:
        self.reports = reports

    def where(self, condition):
        return self

    select = unionByName = where

    def collect(self):
        return [SimpleNamespace(payload=msgspec.json.encode(one).decode()) for one in self.reports]

    def persist(self, level=None):
        return self

    unpersist = persist


class Starts:
    """The starts of a job whose checkpoint stays at the same batch."""

    def __init__(self, done: int) -> None:
        self.table = Table()
        self.now = T0
        identity = Identity(identity=IDENTITY, source="kafka", shards=1, state_partitions=1)
        self.checkpoint = Checkpoint(Folder(done), identity)

    def start(self, losses=None) -> Batches:
        health = Health(15, {"c": T0}, self.now)
        known = self.table.known()
        return Batches(self.table, self.checkpoint, health, losses, known, lambda: self.now, JobCounts())

    def beat(self, batches: Batches, times: int) -> None:
        for _ in range(times):
            self.now += 17_000
            batches.beat(None)


@pytest.fixture(autouse=True)
def _without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streaming.spark.batches.F", SimpleNamespace(col=lambda name: "column"))
    monkeypatch.setattr("streaming.spark.batches.rows_of", lambda spark, facts: Frame())


def test_health_facts_note_a_batch_that_was_appended_and_not_committed() -> None:
    """The note of the batch itself is no longer read after so many."""
    job = Starts(done=6)
    job.table.noted.append(7)  # the job was killed before the checkpoint's commit
    job.beat(job.start(), 60)
    assert len(job.table.noted) == 61
    assert job.table.known() == 7
    job.start().write(Frame(), 7)
    assert len(job.table.noted) == 61, "the facts of batch 7 were appended again"


def test_a_commit_has_the_kinds_that_its_shards_report_and_those_of_the_health_fact() -> None:
    """All others have no column in its file: a kind that is missed would be lost."""
    job = Starts(done=6)
    batches = job.start()
    said = [ShardReport(0, 5, 2, [], [], kinds={"queue", "group"}), ShardReport(1, 5, 1, [], [], kinds={"alert"})]
    batches.write(Frame(*said), 7)
    assert job.table.kinds == {"queue", "group", "alert"}
    job.now += 17_000
    batches.write(Frame(*said, ShardReport(2, 5, 0, [], [])), 8)
    assert job.table.kinds == {"queue", "group", "alert", "health"}
    job.beat(batches, 1)
    assert job.table.kinds == {"health"}


def test_losses_at_the_start_note_it_too() -> None:
    job = Starts(done=6)
    job.table.noted.append(7)
    losses = SimpleNamespace(at_start=lambda position: Loss(1, "gone"), in_batch=lambda *of: Loss())
    for _ in range(60):
        job.start(losses).report_loss_at_start(None)
    assert (len(job.table.noted), job.table.known()) == (61, 7)


def test_a_health_fact_between_append_and_commit_notes_the_batch() -> None:
    """A new checkpoint begins where the newest note says."""
    job = Starts(done=6)
    batches = job.start()
    job.now += 17_000
    job.table.is_held = False
    with pytest.raises(InUseError):
        batches.write(Frame(), 7)
    job.beat(batches, 1)
    assert job.table.noted == [7, 7]


def test_a_standby_waits_on_though_it_cannot_read_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the takeover needs it."""

    def notes(table: FactsTable, identity: str | None = None) -> list[CommitNote]:
        raise MonitorError("facts: a commit of evenkeel says something that this one does not understand")

    monkeypatch.setattr(FactsTable, "exists", lambda table: True)
    monkeypatch.setattr(FactsTable, "has_facts", lambda table: True)
    monkeypatch.setattr(FactsTable, "notes", notes)
    _read_ahead(None, SimpleNamespace(tables="tables", source=SimpleNamespace(kind="files")))
