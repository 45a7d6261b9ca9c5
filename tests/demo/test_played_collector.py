"""What stands for a collector in the demo exposes what a collector does, of what is played."""

import heapq
from itertools import takewhile

import pytest

from streaming.collector.exposed import CollectorExposed
from streaming.collector.output.kafka import KafkaOutput, make_producer
from streaming.demo.played_collector import PlayedCollector
from streaming.demo.popping_group import CUT_OFF, popping_schedule
from streaming.demo.recording_schedule import CLUSTER, Scheduled, load_scenarios, schedule
from streaming.demo.simulated_schedule import GROUPS, simulated_schedule
from streaming.metrics.exposition import Exposed, Exposition
from streaming.simulation.load.fleet_spec import FleetSpec, faults_named, templates_for
from streaming.simulation.load.segment import ROUND_MS
from tests.metrics.scraping import Scrape, of_process

START = 1_800_000_000_000
LASTS_MS = 90_000
NOW = START + LASTS_MS


@pytest.fixture(scope="module")
def played() -> list[Scheduled]:
    templates = templates_for(FleetSpec(len(GROUPS), 3, 4, faults=faults_named(["stopped"])))
    fleet, popping = simulated_schedule(templates, START), popping_schedule(START)
    played = heapq.merge(schedule(load_scenarios(pytest.fail), START), fleet, popping, key=lambda one: one.due_ms)
    return list(takewhile(lambda one: one.due_ms <= NOW, played))


@pytest.fixture(scope="module")
def collector(played: list[Scheduled]) -> PlayedCollector:
    collector = PlayedCollector(len({one.group for one in played}), ROUND_MS)
    for one in played:
        collector.take(one)
    return collector


@pytest.fixture(scope="module")
def exposed(collector: PlayedCollector) -> CollectorExposed:
    output = KafkaOutput(lambda: make_producer("127.0.0.1:1", {}), "t", 1_000_000)
    return CollectorExposed(lambda: [collector.counts], 10_000, output, lambda: NOW)


@pytest.fixture(scope="module")
def found(exposed: CollectorExposed) -> Scrape:
    return Scrape(Exposition(Exposed("collect", [exposed.series], exposed.troubles)).text().decode())


@pytest.mark.slow("a recording is folded")
def test_every_metric_of_a_collector_is_there(found: Scrape, exposed: CollectorExposed) -> None:
    assert found.names == of_process("collect")
    assert exposed.troubles() == []


@pytest.mark.slow("a recording is folded")
def test_requests_are_those_of_the_recordings(found: Scrape, played: list[Scheduled]) -> None:
    answers = [one.answer for one in played if one.answer is not None]
    assert sum(found.of("evenkeel_collector_requests_total").values()) == len(answers)
    took_s = sum(one.dur_ms / 1000 for one in answers if one.code is not None)
    assert sum(found.of("evenkeel_collector_request_duration_seconds_sum").values()) == pytest.approx(took_s)


def test_a_round_of_the_cluster_has_one_of_each_group(found: Scrape) -> None:
    rounds = found.one("evenkeel_collector_round_duration_seconds_count", cluster=CLUSTER)
    assert rounds == pytest.approx(LASTS_MS / ROUND_MS, abs=3)
    assert found.one("evenkeel_collector_groups", state="watched") == 20
    assert NOW / 1000 - found["evenkeel_collector_last_round_timestamp_seconds"] < 2 * ROUND_MS / 1000


def test_the_lag_is_that_of_the_newest_offsets(found: Scrape, played: list[Scheduled]) -> None:
    """Nobody consumes half of the queues of this group, so its lag grows."""
    (name,) = {one.group for one in played if "d_sameid" in one.group}
    lag = sum(found.of("evenkeel_rocketmq_lag_messages", consumer_group=name).values())
    assert lag > 100
    assert found["evenkeel_rocketmq_cluster_lag_messages"] >= lag
    (stored,) = found.of("evenkeel_rocketmq_lag_timestamp_seconds", consumer_group=name).values()
    assert START / 1000 - 600 < stored < NOW / 1000


def test_the_polls_are_those_of_the_newest_reading(found: Scrape) -> None:
    polls = {dict(labels)["broker"]: n for labels, n in found.of("evenkeel_rocketmq_waiting_polls").items()}
    assert polls == {"broker-a": 3, CUT_OFF: 0}


def test_what_is_in_flight_is_that_of_all_brokers(found: Scrape) -> None:
    assert set(found.of("evenkeel_rocketmq_in_flight_messages").values()) == {3}
