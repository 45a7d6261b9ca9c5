"""``evenkeel plan`` on a cluster that answers: on loopback, by RocketMQ's protocol."""

import json

import pytest

from streaming.cli import main
from tests.collector.fake_rocketmq import FakeClient, FakeCluster, FakeGroup, served

QUEUES = [("T", broker, number) for broker in ("broker-a", "broker-b") for number in range(4)]


@pytest.mark.slow
def test_a_plan_begins_with_a_look_at_the_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    members = [FakeClient("10.0.0.1@c1", QUEUES[:4]), FakeClient("10.0.0.1@c2", QUEUES[4:])]
    fake = FakeCluster(groups={"g": FakeGroup(members)}, offsets=dict.fromkeys(QUEUES, (9, 9, 9)))
    with served(fake):
        assert main(["plan", "--namesrv", fake.namesrv[0], "--join", "2", "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert main(["plan", "--namesrv", fake.namesrv[0], "--group", "none", "--join", "2"]) == 2
    avg = next(one for one in shown["forecasts"] if one["strategy"] == "AVG")
    assert (shown["group"], avg["moved"], avg["fewest"], avg["most"]) == ("g", 4, 4, 2)
    assert ["T", "broker-b", 3, "10.0.0.1@c2"] in avg["before"]
    assert "no group none with members is known there" in capsys.readouterr().err
