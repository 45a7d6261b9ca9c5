"""What ``evenkeel plan`` foretells of a real group is what happens to it."""

import json
from typing import Any

import pytest

from streaming.cli import main
from testing.rocketmq.loopback import LoopbackRocketMQ

pytestmark = [pytest.mark.deep("a real RocketMQ, for minutes"), pytest.mark.rocketmq, pytest.mark.timeout(600)]

Owners = dict[tuple[str, int], list[str]]


def test_who_owns_what_after_a_client_left_is_what_was_foretold(
    rocketmq: LoopbackRocketMQ, capsys: pytest.CaptureFixture[str]
) -> None:
    def asked(command: str, *more: str) -> Any:
        main([command, "--namesrv", rocketmq.namesrv, "--group", "plans", "--json", *more])
        return json.loads(capsys.readouterr().out)

    def owners() -> Owners:
        queues = asked("inspect")["queues"]
        return {(q["broker_name"], q["queue_id"]): q["owners"] or [] for q in queues if q["topic"] == "planned"}

    def foretold(forecast: Any, when: str) -> Owners:
        return {(broker, number): [owner] for topic, broker, number, owner in forecast[when] if topic == "planned"}

    brokers = {"broker-a": 4, "broker-b": 3}
    rocketmq.create_topic("planned", brokers)
    rocketmq.producer(["planned"])
    stays, leaves, other = (rocketmq.consumer("plans", name, {"planned": "*"}) for name in ("c1", "c2", "c3"))
    rocketmq.wait_until_joined([stays, leaves, other], sorted(brokers))
    rocketmq.wait_until(lambda: sum(map(len, owners().values())) == 7, "every queue has an owner")
    before = owners()
    shown = asked("plan", "--leave", leaves.client_id)
    (avg,) = [one for one in shown["forecasts"] if one["strategy"] == "AVG"]
    assert before == foretold(avg, "before")
    assert before != foretold(avg, "after")
    leaves.terminate()
    rocketmq.wait_until_joined([stays, other], sorted(brokers))
    rocketmq.wait_until(lambda: owners() == foretold(avg, "after"), "the queues are where they were foretold to be")
