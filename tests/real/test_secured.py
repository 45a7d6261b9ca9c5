"""A cluster with ACL: the right secret sees everything, and what the wrong one is refused is said."""

import json

import pytest

from streaming.cli import main
from testing.rocketmq.jars import NEWEST, OLD_LINE
from tests.real.secured import ACCESS_KEY, SECRET_KEY, SecuredRocketMQ

pytestmark = [pytest.mark.deep("a real RocketMQ, for minutes"), pytest.mark.rocketmq, pytest.mark.timeout(600)]


@pytest.mark.parametrize("version", [NEWEST, OLD_LINE])
def test_only_the_right_secret_sees_the_group(
    version: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EVENKEEL__COLLECTOR__ACCESS_KEY", ACCESS_KEY)
    monkeypatch.setenv("EVENKEEL__COLLECTOR__SECRET_KEY", SECRET_KEY)
    with SecuredRocketMQ(version) as cluster:
        cluster.create_topic("T", {"broker-a": 2})
        consumer = cluster.consumer("g", "c1", {"T": "*"})
        cluster.wait_until_joined([consumer], ["broker-a"])
        look = ["inspect", "--namesrv", cluster.namesrv, "--group", "g", "--json"]
        main(look)
        seen = json.loads(capsys.readouterr().out)
        assert [member["client_id"] for member in seen["members"]] == ["127.0.0.1@c1"]
        assert {queue["topic"] for queue in seen["queues"]} >= {"T"}

        monkeypatch.setenv("EVENKEEL__COLLECTOR__SECRET_KEY", "another")
        assert main([*look[:-1]]) == 2
        said = "".join(capsys.readouterr())
        print(said)
        assert "127.0.0.1@c1" not in said
        assert "no answer of broker-a for its groups: code " in said
        assert "signature" in said
        assert SECRET_KEY not in said
