"""State of another version is refused when the job starts, not in its first batch."""

import json
from threading import Event

import pytest
from msgspec.structs import replace

from streaming.config.storages import storage_fault
from streaming.core.state import packing as state
from streaming.errors import CheckpointError, SetupError, StateVersionError
from streaming.spark import checkpoint
from streaming.spark.job import run
from streaming.spark.storage import Folder
from streaming.tables.storage import TextFiles
from streaming.tables.version import TABLES_VERSION
from tests.spark.pipeline import Pipeline, fleet, lines_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture
def kept(spark, tmp_path):
    """A job that has state, and a file that it has yet to read."""
    pipeline = Pipeline(spark, tmp_path)
    lines = lines_of(fleet().events)
    pipeline.drop(lines[: len(lines) // 2])
    pipeline.run()
    pipeline.drop(lines[len(lines) // 2 :])
    return pipeline


def identity_of(pipeline):
    return pipeline.checkpoint / "evenkeel" / "identity.json"


def without_checksum(path, made):
    path.write_text(json.dumps(made))
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def test_a_checkpoint_says_the_version_of_its_state(kept):
    made = json.loads(identity_of(kept).read_text())
    assert made["state_version"] == state.STATE_VERSION
    begun, facts = sorted((kept.checkpoint / "offsets").iterdir()), len(kept.rows())
    del made["state_version"]
    for said, version in (({"state_version": 1}, "01"), ({}, "00")):
        without_checksum(identity_of(kept), made | said)
        refused = f"state of version {version}, this evenkeel reads version 03: run 'evenkeel re"
        with pytest.raises(StateVersionError, match=refused):
            kept.run()
    assert sorted((kept.checkpoint / "offsets").iterdir()) == begun, "a batch was begun"
    assert len(kept.rows()) == facts


def test_state_of_an_older_version_is_of_this_one_from_the_next_batch_on(tmp_path):
    """So an older evenkeel is refused at its start."""
    made = checkpoint.new_identity("topic t", 2, 2)
    older = checkpoint.create(TextFiles(str(tmp_path)), replace(made, state_version=state.STATE_VERSION - 1))
    older.keep_state_version()
    assert checkpoint.existing(TextFiles(str(tmp_path))).identity == made


def test_tables_of_a_newer_evenkeel_are_refused_before_the_first_write(kept):
    path = kept.folder / "tables" / "_evenkeel.json"
    made = json.loads(path.read_text())
    assert made == {"tables_version": TABLES_VERSION}
    path.write_text(json.dumps({"tables_version": TABLES_VERSION + 1}))
    before = files_of(kept.folder)
    with pytest.raises(CheckpointError, match="start the newer evenkeel"):
        kept.run()
    with pytest.raises(CheckpointError, match="start the newer evenkeel"):
        run(kept.spark, kept.plan(), Event())
    assert files_of(kept.folder) == before, "not even that the job has failed"


def files_of(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_damaged_file_is_said_with_what_to_do(spark, tmp_path):
    folder = Folder(spark, str(tmp_path))
    folder.write("offsets/0", "v1\n{}\n{}")
    file = tmp_path / "offsets" / "0"
    file.write_bytes(file.read_bytes()[:4])
    with pytest.raises(CheckpointError, match=r"^a file of \S+ is damaged \(ChecksumException: .* 'evenkeel reseed' "):
        folder.read("offsets/0")


def test_file_system_that_spark_lacks_is_said_in_a_line(spark):
    assert storage_fault("s3a://bucket/x", {}, {}), "the test needs a Spark without it"
    with pytest.raises(SetupError, match=r"^s3a://\*\*\*@bucket/x: Spark lacks the jars .*S3AFileSystem"):
        Folder(spark, "s3a://key:hunter2@bucket/x")
