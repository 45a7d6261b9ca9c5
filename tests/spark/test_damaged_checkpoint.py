"""A checkpoint of which a file has lost its end, as after a failure of the machine."""

import pytest

from streaming.errors import CheckpointError
from streaming.spark.checkpoint import checkpoint_in, create, new_identity
from streaming.tables.storage import TextFiles
from testing.damage import cut
from tests.spark.pipeline import Pipeline, fleet, lines_of

SOURCE, SHARDS = "topic events", 4
# As Spark 4.0 writes them.
METADATA = '{"id":"a37e6fdd-16c7-4afa-b43a-ec29f616f5ee"}'
OFFSETS = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1795773985001,"conf":{}}\n{"events":{"0":3983,"1":3053}}'
COMMIT = 'v1\n{"nextBatchWatermarkMs":0}'


@pytest.fixture
def files(tmp_path):
    """A checkpoint with six batches, of which the last is not committed."""
    files = TextFiles(str(tmp_path))
    create(files, new_identity(SOURCE, SHARDS, SHARDS))
    files.write("metadata", METADATA)
    for batch in range(6):
        files.write(f"offsets/{batch}", OFFSETS)
    for batch in range(5):
        files.write(f"commits/{batch}", COMMIT)
    return files


def opened(files):
    return checkpoint_in(files, SOURCE, SHARDS, True, lambda: True)


@pytest.mark.parametrize("text", [METADATA[:20], ""])
def test_a_checkpoint_without_its_metadata_is_refused(files, text):
    files.write("metadata", text)
    with pytest.raises(CheckpointError, match=r"damaged: metadata: restore a copy .*, or run 'evenkeel reseed' with"):
        opened(files)


@pytest.mark.parametrize("length", range(len(OFFSETS)))
def test_offsets_without_their_end_are_refused_wherever_they_end(files, length):
    files.write("offsets/5", OFFSETS[:length])
    with pytest.raises(CheckpointError, match=r"damaged: offsets/5: "):
        opened(files)


def test_the_batch_before_the_newest_is_read_too_and_none_before_it(files):
    files.write("offsets/3", "")
    assert opened(files).done() == 4
    files.write("offsets/4", "")
    files.write("offsets/5", "")
    with pytest.raises(CheckpointError, match=r"damaged: offsets/4, offsets/5: "):
        opened(files)


@pytest.mark.parametrize("line", ["-", '{"logOffset":3}', "17"])
def test_the_offsets_of_other_sources_are_whole(files, line):
    files.write("offsets/5", OFFSETS.rpartition("\n")[0] + f"\n{line}")
    assert opened(files).begun() == 5


@pytest.mark.parametrize("length", range(len(COMMIT)))
def test_a_commit_without_its_end_is_deleted_so_that_its_batch_runs_again(files, length, caplog):
    files.write("commits/4", COMMIT[:length])
    files.delete("offsets/5")
    checkpoint = opened(files)
    checkpoint.mend()
    assert (checkpoint.pending(), checkpoint.done()) == (4, 3)
    assert "commits/4 is damaged and is deleted: its batch runs again" in caplog.text


def test_a_whole_checkpoint_is_left_as_it_is(files, caplog):
    checkpoint = opened(files)
    checkpoint.mend()
    assert (checkpoint.pending(), checkpoint.done(), caplog.text) == (5, 4, "")


def newest(folder):
    return max((path for path in folder.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_of_a_job_a_damaged_commit_runs_again_without_repeating_facts_and_damaged_offsets_are_named(spark, tmp_path):
    pipeline, lines = Pipeline(spark, tmp_path), lines_of(fleet().events)
    half = len(lines) // 2
    pipeline.drop(lines[:half])
    pipeline.run()
    before = [(row["shard"], row["seq"]) for row in pipeline.rows()]
    cut(newest(pipeline.checkpoint / "commits"))
    pipeline.drop(lines[half:])
    pipeline.run()
    after = [(row["shard"], row["seq"]) for row in pipeline.rows()]
    assert len(after) == len(set(after))
    assert set(after) > set(before)

    file = newest(pipeline.checkpoint / "offsets")
    cut(file)
    with pytest.raises(CheckpointError, match=rf"damaged: offsets/{file.name}: .* 'evenkeel reseed' "):
        pipeline.run()
