"""The whole query over files: the same facts as the core alone, however the events are cut and the job is stopped."""

from itertools import chain

import msgspec
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from schemas.facts import QuarantineFact
from streaming.config.sections import Source
from streaming.core.default_settings import DEFAULT_SETTINGS, DEFAULT_TIMING
from streaming.core.settings import GroupRule, Settings
from streaming.errors import CheckpointError, MonitorError, SourceError, StateVersionError
from streaming.spark.batches import Batches
from streaming.spark.checkpoint import open_checkpoint
from streaming.spark.facts import FactsTable
from streaming.spark.operator import OUTPUT_SCHEMA, STATE_SCHEMA
from streaming.spark.sources import name_of, read_source, shard_keys, with_shard_keys
from tests.spark.pipeline import Pipeline, fleet, folded, lines_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
EXCLUDING = Settings(timing=DEFAULT_TIMING, groups=(GroupRule(excluded=True),))


@pytest.fixture
def pipeline(spark: SparkSession, tmp_path):
    return Pipeline(spark, tmp_path)


def thirds(events):
    third = len(events) // 3
    return events[:third], events[third : 2 * third], events[2 * third :]


def test_facts_are_those_of_the_core_alone_whatever_the_batches_and_restarts_and_bad_lines(pipeline):
    """The second batch comes again: its facts are neither repeated nor lost."""
    g, h = (thirds(fleet(group).events) for group in "gh")
    parts = [[*of_g, *of_h] for of_g, of_h in zip(g, h, strict=True)]
    bad = [b"not json", b"\xff\xfe", b'{"event": "round", "cluster": "c", "group": "g", "seq": 3}', b"x" * 200_000]
    for batch, lines in enumerate((lines_of(parts[0]), [*lines_of(parts[1]), *bad, b""])):
        pipeline.drop(lines)
        pipeline.run()
        assert (pipeline.checkpoint / "commits" / str(batch)).exists()
    (pipeline.checkpoint / "commits" / "1").unlink()
    pipeline.drop(lines_of(parts[2]))
    pipeline.run()

    events, facts = list(chain(*parts)), pipeline.facts()
    assert [f for f in facts if not isinstance(f.payload, QuarantineFact)] == folded((events, DEFAULT_SETTINGS))
    refused = [f.payload for f in facts if isinstance(f.payload, QuarantineFact)]
    kept = {one.reason: one for one in refused}
    assert len(refused) == len(bad)
    assert {one.bytes[:70_000] for one in refused} == {*bad[:3], b"x" * 65_536}
    assert {one.source_topic for one in refused} == {"001.jsonl"}
    assert kept["bad_field"].source_offset == 3
    assert kept["too_long"].length == 200_000
    newest = DeltaTable(str(pipeline.folder / "tables" / "facts")).history(1)[0]
    note = msgspec.json.decode(newest["userMetadata"])
    assert note["batch_id"] == 2
    assert note["newest"] == {"c": max(event.ts for event in events)}, "up to where the source is read"


def test_a_batch_cut_short_after_its_append_ends_under_the_settings_that_began_it(pipeline, monkeypatch):
    events = fleet().events
    part = len(events) * 3 // 4
    pipeline.drop(lines_of(events[:part]))
    append = Batches._append

    def cut_short(*arguments):
        append(*arguments)
        raise RuntimeError("the power went")

    with monkeypatch.context() as patch:
        patch.setattr(Batches, "_append", cut_short)
        with pytest.raises(MonitorError, match="RuntimeError: the power went"):
            pipeline.run()
    pipeline.drop(lines_of(events[part:]))
    pipeline.run(EXCLUDING)
    first, rest = events[:part], events[part:]
    ended_as_begun = folded((first, DEFAULT_SETTINGS), (rest, EXCLUDING))
    ended_otherwise = folded((first, EXCLUDING), (rest, EXCLUDING))[len(folded((first, EXCLUDING))) :]
    assert len(ended_as_begun) != len(folded((first, DEFAULT_SETTINGS))) + len(ended_otherwise)
    assert pipeline.facts() == ended_as_begun


def test_another_checkpoint_or_configuration_than_that_of_the_facts_is_refused(pipeline, tmp_path):
    pipeline.drop(lines_of(fleet().events))
    pipeline.run()
    before = pipeline.commits()
    with pytest.raises(CheckpointError, match="evenkeel reseed"):
        pipeline.run(checkpoint=str(tmp_path / "another"))
    assert not (tmp_path / "another").exists()
    with pytest.raises(CheckpointError, match=r"made with 4 shards.*job\.shards is 8"):
        pipeline.run(shards=8)
    with pytest.raises(CheckpointError, match="their table is gone"):
        pipeline.run(tables=str(tmp_path / "elsewhere"))
    pipeline.source = Source(kind="files", folder=str(tmp_path))
    with pytest.raises(CheckpointError, match="made for folder"):
        pipeline.run()
    assert pipeline.commits() == before


def test_a_folder_that_is_not_there_is_one_clear_message(pipeline, tmp_path):
    pipeline.source = Source(kind="files", folder=str(tmp_path / "nowhere"))
    with pytest.raises(SourceError, match="nowhere"):
        pipeline.run()


def test_the_checkpoint_of_another_query_is_refused(pipeline):
    (pipeline.checkpoint / "offsets").mkdir(parents=True)
    (pipeline.checkpoint / "offsets" / "0").write_text("v1\n{}\n{}")
    with pytest.raises(CheckpointError, match="checkpoint of another query"):
        pipeline.run()


def test_state_of_another_version_is_one_clear_message(spark, pipeline):
    """A checkpoint made by a query of the same form, whose blobs are of a version to come."""
    pipeline.drop(lines_of(fleet().events))

    def of_the_future(key, frames, state):
        for _ in frames:
            pass
        state.update((b"written by evenkeel 99",))
        yield from ()

    FactsTable(spark, pipeline.plan().tables).create()
    checkpoint = open_checkpoint(
        spark, str(pipeline.checkpoint), name_of(pipeline.source), 4, True, lambda: False
    ).identity
    keys = shard_keys(spark, checkpoint.shards, checkpoint.state_partitions)
    keyed = with_shard_keys(read_source(spark, pipeline.source), keys)
    operated = keyed.groupBy("shard_key").applyInPandasWithState(
        of_the_future, OUTPUT_SCHEMA, STATE_SCHEMA, "append", "NoTimeout"
    )
    query = operated.writeStream.format("noop").option("checkpointLocation", str(pipeline.checkpoint))
    query.trigger(availableNow=True).start().awaitTermination()
    pipeline.drop(lines_of(fleet().events))
    with pytest.raises(StateVersionError) as raised:
        pipeline.run()
    assert "evenkeel reseed" in str(raised.value)
    assert "\n" not in str(raised.value)
