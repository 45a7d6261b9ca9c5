"""A new checkpoint that begins with what the tables know."""

import re

import msgspec
import pytest

from schemas.facts import AlertFact
from streaming.config.sections import Source
from streaming.core.state.restore import GroupSeed
from streaming.errors import CheckpointError, SourceError
from streaming.spark.facts import FactsTable
from streaming.spark.reseed import reseed
from testing.damage import cut
from tests.core.fleet import Fleet
from tests.spark.pipeline import Pipeline, lines_of
from tests.spark.test_kafka import send_events

pytestmark = [
    pytest.mark.deep("tables of their own, written by Spark for a minute and more"),
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.timeout(600),
]


@pytest.fixture
def topic(kafka, request):
    name = re.sub(r"[^\w.-]", "-", request.node.name)  # of parameters
    kafka.create_topic(name)
    return name


def duplicated():
    """A group with an alert that fires."""
    made = Fleet()
    made.join("x", "y")
    made.own("y", "a0 b0-3")
    return made.run(120)


def _identity(alert: AlertFact):
    """The alert, and since when the first of its queues is not as it should be."""
    return alert.fingerprint, alert.since_ts


def test_open_alerts_go_on_under_another_shard_count(spark, kafka, topic, tmp_path):
    pipeline = Pipeline(spark, tmp_path, Source(topic=topic, bootstrap_servers=kafka.bootstrap_servers))
    fleet = duplicated()
    before = fleet.events.copy()
    send_events(pipeline.source, before)
    pipeline.run()
    old_facts = pipeline.facts()
    again = {"shards": 8, "checkpoint": str(tmp_path / "again")}
    done = reseed(spark, pipeline.plan(**again))
    assert (done.groups, done.open_alerts) == (1, 1)
    assert msgspec.json.decode(done.starting_offsets) == {topic: {"0": len(before)}}

    fleet.own("y", "b0-3")
    fleet.run(60)
    send_events(pipeline.source, fleet.events[len(before) :])
    pipeline.run(**again)
    new = [fact for fact in pipeline.facts() if fact not in old_facts]
    assert min(fact.seq for fact in new) > max(fact.seq for fact in old_facts)
    ((fired, since),) = {_identity(fact.payload) for fact in old_facts if isinstance(fact.payload, AlertFact)}
    alerts = [fact.payload for fact in new if isinstance(fact.payload, AlertFact)]
    assert since < alerts[-1].active_ts
    assert (*_identity(alerts[-1]), alerts[-1].state) == (fired, since, "resolved")
    assert "pending" not in {alert.state for alert in alerts}

    assert FactsTable(spark, pipeline.plan().tables).notes()[0].offsets == {topic: {"0": len(fleet.events)}}
    assert not pipeline.health()

    pipeline.run(**again)
    assert [fact for fact in pipeline.facts() if fact not in old_facts] == new


@pytest.mark.parametrize("left", [0, 0.5])
def test_a_commit_of_facts_that_is_damaged_is_read_again(spark, kafka, topic, tmp_path, left, monkeypatch):
    """As after a failure of the machine. The first half has a healthy group, the second one has the alert."""
    pipeline = Pipeline(spark, tmp_path, Source(topic=topic, bootstrap_servers=kafka.bootstrap_servers))
    fleet = Fleet()
    fleet.join("x", "y")
    fleet.run(30)
    before = fleet.events.copy()
    send_events(pipeline.source, before)
    pipeline.run()
    fleet.own("y", "a0 b0-3")
    fleet.run(120)
    send_events(pipeline.source, fleet.events[len(before) :])
    pipeline.run()
    whole = pipeline.facts()
    version = pipeline.commits()
    log = tmp_path / "tables" / "facts" / "_delta_log"
    newest = log / f"{version:020}.json"
    cut(newest, left)

    with pytest.raises(
        CheckpointError, match=rf"damaged by a failure of the machine: commit {version}\. Run 'evenkeel res"
    ):
        pipeline.run()
    again = {"checkpoint": str(tmp_path / "again")}
    with monkeypatch.context() as patch:
        patch.setattr("streaming.spark.reseed.run_projections", interrupted)
        with pytest.raises(KeyboardInterrupt):
            reseed(spark, pipeline.plan(**again))
    with pytest.raises(CheckpointError, match=rf"commit {version}\. Run 'evenkeel reseed'"):
        pipeline.run()
    assert msgspec.json.decode(reseed(spark, pipeline.plan(**again)).starting_offsets) == {topic: {"0": len(before)}}
    pipeline.run(**again)
    assert _told(pipeline.facts()) == _told(whole)
    assert (pipeline.commits() > version, newest.with_suffix(".damaged").exists()) == (True, True)


def interrupted(_):
    raise KeyboardInterrupt


def _told(facts):
    """The last state of each alert. Since when it is true may be a round earlier or later in a new checkpoint."""
    return {fact.payload.fingerprint: fact.payload.state for fact in facts if isinstance(fact.payload, AlertFact)}


def test_seeds_hold_members_queues_and_the_next_number(spark, tmp_path):
    pipeline = Pipeline(spark, tmp_path)
    pipeline.drop(lines_of(duplicated().events))
    pipeline.run()
    plan = pipeline.plan(checkpoint=str(tmp_path / "again"))
    with pytest.raises(SourceError, match="--starting-offsets earliest"):
        reseed(spark, plan)
    reseed(spark, plan, start="earliest")
    (value,) = (row.value for row in spark.read.parquet(f"{plan.checkpoint}/evenkeel/seed").collect())
    seed = msgspec.json.decode(bytes(value), type=GroupSeed)
    assert {member.client_id: len(member.brokers) for member in seed.members} == {"x": 2, "y": 2}
    owners = {(queue.queue.broker_name, queue.queue.queue_id): queue.queue.owners for queue in seed.queues}
    assert owners["a", 0] == ("x", "y")
    assert len(owners) == 8
    assert [(opened.topic, opened.alert.state) for opened in seed.alerts] == [("T", "firing")]
    assert seed.next_seq == max(fact.seq for fact in pipeline.facts()) + 1
    with pytest.raises(CheckpointError, match="holds a checkpoint already"):
        reseed(spark, plan, start="earliest")


def test_without_facts_there_is_nothing_to_begin_with(spark, tmp_path):
    with pytest.raises(CheckpointError, match="there are no facts"):
        reseed(spark, Pipeline(spark, tmp_path).plan(), start="earliest")
