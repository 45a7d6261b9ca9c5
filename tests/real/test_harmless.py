"""Asking must not disturb those who are asked: small clients stay in their group while a collector asks them.

Running info is answered in a client's callback pool, which has as many threads as the client has processors. Asked
every second, clients with one processor left their group 10 times in 35 s.
"""

import time
from pathlib import Path

import pytest

from streaming.collector.wire.answers import RunningInfoAnswer
from streaming.replay.input_lines import read_lines
from streaming.replay.recording import decode_line
from testing.job import Job
from testing.rocketmq.collecting import Collecting
from testing.rocketmq.loopback import Consumer, LoopbackRocketMQ

pytestmark = [pytest.mark.rocketmq, pytest.mark.deep("a real RocketMQ, for minutes"), pytest.mark.timeout(900)]

SECONDS = 240
ASKED_AT_LEAST = 6  # times each: every 30 s at rest, once they have had time for a first pull
ONE_PROCESSOR = ("-XX:ActiveProcessorCount=1",)
BROKERS = ("broker-a", "broker-b")


def test_clients_with_one_processor_stay_in_their_group(rocketmq: LoopbackRocketMQ, tmp_path: Path) -> None:
    """A second group, on the same machine and brokers, that nobody asks, shows what happens by itself."""
    consumers = [two for group in ("asked", "left-alone") for two in two_small_consumers(rocketmq, group)]
    rocketmq.producer(["asked-T", "left-alone-T"])
    rocketmq.wait_until_joined(consumers, BROKERS)
    values = {
        "collector": {"exclude": ["left-alone"], "output": "file", "file": str(tmp_path / "events.jsonl")},
        "collector.clusters": {"real": rocketmq.namesrv},
    }
    config = Job(tmp_path, "127.0.0.1:1", "unused", values).config
    recording = tmp_path / "recording.jsonl"
    with Collecting(config, recording):
        changes = membership_changes(rocketmq, ("asked", "left-alone"), SECONDS)
    answers = running_infos(recording)
    print(changes, {client: [round(one.dur_ms) for one in told] for client, told in answers.items()})
    assert changes["asked"] <= changes["left-alone"]
    assert sorted(answers) == sorted(one.client_id for one in consumers if one.group == "asked")
    assert all(len(told) >= ASKED_AT_LEAST for told in answers.values())
    for consumer in consumers:
        consumer.kill()


def two_small_consumers(cluster: LoopbackRocketMQ, group: str) -> list[Consumer]:
    topic = f"{group}-T"
    cluster.create_topic(topic, {"broker-a": 4, "broker-b": 4})
    return [cluster.consumer(group, name, {topic: "*"}, jvm=ONE_PROCESSOR) for name in (f"{group}1", f"{group}2")]


def running_infos(recording: Path) -> dict[str, list[RunningInfoAnswer]]:
    """What each client answered."""
    answers: dict[str, list[RunningInfoAnswer]] = {}
    for line in read_lines(recording, pytest.fail):
        answer = decode_line(line.text)[0]
        if isinstance(answer, RunningInfoAnswer):
            answers.setdefault(answer.client_id, []).append(answer)
    return answers


def membership_changes(cluster: LoopbackRocketMQ, groups: tuple[str, ...], seconds: float) -> dict[str, int]:
    """How often a broker's list of a group was another than half a second before."""
    changes = dict.fromkeys(groups, 0)
    before: dict[tuple[str, str], tuple[str, ...]] = {}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for group in groups:
            for broker in BROKERS:
                now = cluster.members(group, broker)
                changes[group] += before.get((group, broker), now) != now
                before[group, broker] = now
        time.sleep(0.5)
    return changes
