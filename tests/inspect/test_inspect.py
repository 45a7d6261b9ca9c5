"""``evenkeel inspect`` as a whole, against a cluster on loopback that speaks RocketMQ's protocol."""

import json
import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from streaming.cli import main
from streaming.inspect.snapshot import InspectedGroup
from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup, FakeNode, served

pytestmark = pytest.mark.slow("a look takes seconds")  # a look takes its time

QUEUES = [("T", broker, number) for broker in ("broker-a", "broker-b") for number in range(4)]
SHORT = ["--seconds", "1"]


def cluster(first: int = 4, second: int = 4) -> FakeCluster:
    """Two clients of group g: ``first`` is how many queues c1 has from the front, ``second`` c2 from the back."""
    members = [FakeClient("10.0.0.1@c1", QUEUES[:first]), FakeClient("10.0.0.1@c2", QUEUES[-second:])]
    offsets = dict.fromkeys(QUEUES, (9, 9, 9))
    return FakeCluster(groups={"g": FakeGroup(members), "dead": FakeGroup()}, offsets=offsets)


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def test_healthy_cluster_within_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """The whole look as people get it. How long it takes is said and not asserted: others are at work here too."""
    with served(cluster()) as fake:
        began = time.monotonic()
        assert main(["inspect", "--namesrv", fake.namesrv[0]]) == 0
        took_s = time.monotonic() - began
    out, err = capsys.readouterr()
    assert "healthy   g  2 members, 8 queues, in 0.0/s, out 0.0/s, lag 0" in out
    assert "dead" not in out
    assert err == ""
    assert "\x1b" not in out
    rounds = fake.name_servers[0].requests[106]
    assert 4 <= rounds <= 6
    assert fake.asked_of_clients == {"10.0.0.1@c1": 1, "10.0.0.1@c2": 1}
    assert set(fake.most_at_work.values()) == {1}
    print(f"an answer after {took_s:.1f} s and {rounds} rounds")


def test_duplicated_queue_is_shown_and_not_called_healthy(capsys: pytest.CaptureFixture[str]) -> None:
    with served(cluster(first=5)) as fake:
        assert main(["inspect", "--namesrv", fake.namesrv[0], *SHORT]) == 2
    out = capsys.readouterr().out
    assert "not judged: may be DUPLICATED, 1 queue of T: broker-b 0" in out
    assert "10.0.0.1@c1, 10.0.0.1@c2" in out


def test_findings_that_need_no_grace_end_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    fake = cluster()
    fake.queues["U"] = 1
    fake.groups["g"].members[1].subscribes = ("T", "U")
    with served(fake):
        assert main(["inspect", "--namesrv", fake.namesrv[0], "--json", *SHORT]) == 1
    (group,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (group["group"], group["status"]) == ("g", "findings")
    assert [one["kind"] for one in group["findings"]] == ["INCONSISTENT_SUBSCRIPTION"]
    assert set(group) == set(InspectedGroup.__struct_fields__)


def test_silent_broker_is_named_and_delays_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with served(cluster()) as fake:
        fake.nodes["broker-b"].manner = "hang"
        began = time.monotonic()
        assert main(["inspect", "--namesrv", fake.namesrv[0]]) == 2
        print(f"an answer after {time.monotonic() - began:.1f} s")
    out = capsys.readouterr().out
    assert "no answer of broker-b: no answer within 2 s" in out
    assert "UNKNOWN   g" in out


def test_client_in_two_groups_is_asked_for_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    fake = cluster()
    fake.groups["h"] = FakeGroup(fake.groups["g"].members)
    with served(fake):
        assert main(["inspect", "--namesrv", fake.namesrv[0], "--group", "[gh]"]) == 0
    assert fake.asked_of_clients == {"10.0.0.1@c1": 2, "10.0.0.1@c2": 2}
    assert set(fake.most_at_work.values()) == {1}


def test_only_groups_asked_for_and_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    fake = cluster()
    fake.groups["other"] = FakeGroup([FakeClient("10.0.0.9@c9", [])])
    with served(fake):
        assert main(["inspect", "--namesrv", fake.namesrv[0], "--group", "g", "--group", "dead", *SHORT]) == 1
    out = capsys.readouterr().out
    assert "other" not in out
    assert "10.0.0.1@c1" in out
    assert "NO_MEMBERS" in out
    assert "10.0.0.9@c9" not in fake.asked_of_clients


def test_pattern_that_matches_nothing_is_not_healthy(capsys: pytest.CaptureFixture[str]) -> None:
    with served(cluster()) as fake:
        assert main(["inspect", "--namesrv", fake.namesrv[0], "--group", "none-*", *SHORT]) == 2
    assert "No group with members was found." in capsys.readouterr().out


def with_orphaned_groups() -> FakeCluster:
    """``lost``: a group whose members died, with 6,000 messages waiting; ``retired``: one for which nothing waits."""
    fake = cluster()
    fake.queues |= {"D": 4, "R": 1}
    fake.groups |= {
        "dead": FakeGroup(topics=("R",)),
        "lost": FakeGroup(topics=("D",)),
        "retired": FakeGroup(topics=("R",)),
    }
    for broker in fake.broker_names:
        fake.offsets |= {("D", broker, number): (1000, 250, 250) for number in range(4)}
    return fake


def test_messages_that_wait_for_a_group_without_members_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    with served(with_orphaned_groups()) as fake:
        assert main(["inspect", "--namesrv", fake.namesrv[0]]) == 2
    out = capsys.readouterr().out
    assert "1 group with members, 3 without" in out
    assert "EMPTY     lost  0 members, 8 queues" in out
    assert "6000 messages wait in 8 queues" in out
    assert "EMPTY     retired" not in out
    assert "not asked" not in out
    assert fake.nodes["broker-a"].requests[208] < 20


def test_messages_that_wait_for_a_group_asked_for_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with served(with_orphaned_groups()) as fake:
        assert main(["inspect", "--namesrv", fake.namesrv[0], "--group", "lost", "--json", *SHORT]) == 1
    (group,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert [one["evidence"] for one in group["findings"]] == ["no broker lists a member; 6000 messages wait"]
    assert {(queue["lag"], tuple(queue["owners"])) for queue in group["queues"] if queue["topic"] == "D"} == {(750, ())}


def test_groups_left_out_for_the_cost_are_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streaming.inspect.inspection.BACKLOGS", 1)
    fake = cluster()
    fake.groups |= {f"retired-{number:02}": FakeGroup() for number in range(30)}
    with served(fake):
        assert main(["inspect", "--namesrv", fake.namesrv[0], *SHORT]) == 2
    assert "without members: not asked what waits for them" in capsys.readouterr().out


def test_group_that_no_broker_knows_is_said_to_be_so(capsys: pytest.CaptureFixture[str]) -> None:
    with served(cluster()) as fake:
        assert main(["inspect", "--namesrv", fake.namesrv[0], "--group", "g", "--group", "nope", *SHORT]) == 2
        out = capsys.readouterr().out
        assert "ABSENT    nope  no broker knows it: broker-a, broker-b" in out
        fake.nodes["broker-b"].manner = "hang"
        assert main(["inspect", "--namesrv", fake.namesrv[0], "--group", "nope", "--json", *SHORT]) == 2
    (group,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (group["status"], group["members"], group["queues"]) == ("unknown", None, None)
    assert group["reason"] == "no broker that answered knows it; no answer from broker-b"


def test_groups_are_not_known_where_no_broker_tells_them(capsys: pytest.CaptureFixture[str]) -> None:
    with served(cluster()) as fake:
        for node in fake.nodes.values():
            node.manner = "hang"
        assert main(["inspect", "--namesrv", fake.namesrv[0], *SHORT]) == 2
    out = capsys.readouterr().out
    assert "which groups there are is not known" in out
    assert "0 group" not in out


def test_orphan_from_birth_is_not_judged_in_a_short_look_which_says_how_long_to_look(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its clients are not asked at once, since queues that nobody has consumed from look new."""
    fake = cluster()
    fake.groups["g"].committed = ()
    with served(fake):
        assert main(["inspect", "--namesrv", fake.namesrv[0], "--group", "g", *SHORT]) == 2
    out = capsys.readouterr().out
    assert "no report from 10.0.0.1@c1: its group has queues that are new to it" in out
    assert "--watch, or --seconds 120" in out
    assert "nobody" not in out


def test_name_server_that_cannot_be_reached_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--namesrv", "127.0.0.1:1"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("evenkeel: no answer of the name servers of 127.0.0.1:1: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--namesrv", "localhost"], "host:port of one or more name servers"),
        (["--namesrv", "a/b:1"], "host:port of one or more name servers"),
        ([], "collector.clusters is empty"),
    ],
)
def test_what_cannot_be_asked_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", *words]) == 2
    assert said in capsys.readouterr().err


def test_second_name_server_answers_for_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    with served(cluster()) as fake:
        assert main(["inspect", "--namesrv", f"127.0.0.1:1;{fake.namesrv[0]}", *SHORT]) == 0


def test_port_of_a_broker_is_said_to_be_no_name_server(capsys: pytest.CaptureFixture[str]) -> None:
    with served(cluster()) as fake:
        broker = fake.nodes["broker-a"].address
        assert main(["inspect", "--namesrv", broker, *SHORT]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert f"{broker}: code 3: not set; this is no name server, but perhaps a broker" in err
        assert "9876" in err
        assert main(["inspect", "--namesrv", f"{broker};{fake.namesrv[0]}", *SHORT]) == 0


def test_refusals_are_shown_with_code_and_remark(capsys: pytest.CaptureFixture[str]) -> None:
    fake = cluster()
    with served(fake):
        answer = fake.answer

        async def refusing(node: FakeNode, code: int, fields: dict[str, str]) -> tuple[int, bytes]:
            refused = {106: node is fake.name_servers[0] and is_refused_by_name_servers, 203: True, 38: True}
            return (16, b"") if refused.get(code) else await answer(node, code, fields)

        fake.answer = refusing  # type: ignore[method-assign]
        is_refused_by_name_servers = False
        assert main(["inspect", "--namesrv", fake.namesrv[0], "--group", "g", *SHORT]) == 2
        assert "no answer of broker-a: code 16: not set" in capsys.readouterr().out
        is_refused_by_name_servers = True
        assert main(["inspect", "--namesrv", fake.namesrv[0], *SHORT]) == 2
        assert f"{fake.namesrv[0]}: code 16: not set" in capsys.readouterr().err


def test_secret_of_the_environment_signs_and_is_not_shown(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENKEEL__COLLECTOR__ACCESS_KEY", "key")
    monkeypatch.setenv("EVENKEEL__COLLECTOR__SECRET_KEY", "hunter2")
    fake = cluster()
    fake.required_key = "key"
    with served(fake):
        assert main(["inspect", "--namesrv", fake.namesrv[0], *SHORT]) == 0
        fake.required_key = "another"
        assert main(["inspect", "--namesrv", fake.namesrv[0], *SHORT]) == 2
    assert "hunter2" not in "".join(capfd.readouterr())


def test_cluster_of_the_configuration_keeps_its_name_and_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(cluster()) as fake:
        (tmp_path / "x.toml").write_text(
            f'[collector]\nclusters = {{ prod = "{fake.namesrv[0]}" }}\n'
            '[[groups]]\ncluster = "prod"\ngroup = "g"\nexcluded = true\n'
        )
        for words in ([], ["--namesrv", fake.namesrv[0]]):
            assert main(["inspect", "--config", str(tmp_path / "x.toml"), *words, *SHORT]) == 2
            out = capsys.readouterr().out
            assert out.startswith("prod at ")
            assert "EXCLUDED  g  CONFIGURED" in out


def wait_for_rounds(fake: FakeCluster, count: int) -> None:
    deadline = time.monotonic() + 60
    while fake.name_servers[0].requests[106] < count and time.monotonic() < deadline:
        time.sleep(0.05)


def test_watching_ends_quietly_while_a_broker_hangs(capfd: pytest.CaptureFixture[str]) -> None:
    with served(cluster()) as fake:

        def interrupt() -> None:
            wait_for_rounds(fake, 2)
            fake.nodes["broker-b"].manner = "hang"
            wait_for_rounds(fake, fake.name_servers[0].requests[106] + 2)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        assert main(["inspect", "--namesrv", fake.namesrv[0], "--watch"]) in (0, 2)
    assert "Traceback" not in "".join(capfd.readouterr())


def test_watching_goes_on_until_a_signal_and_ends_with_the_last_status(capsys: pytest.CaptureFixture[str]) -> None:
    with served(cluster()) as fake:

        def interrupt() -> None:
            wait_for_rounds(fake, 3)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        assert main(["inspect", "--namesrv", fake.namesrv[0], "--watch"]) == 0
    out = capsys.readouterr().out
    assert out.count("2 brokers by the name servers") >= 2
    assert len(set(re.findall(r" at (\d+-\d+-\d+ \d\d:\d\d:\d\d) UTC, watched for", out))) >= 2
    assert out.index("UNKNOWN   g") < out.index("healthy   g")
