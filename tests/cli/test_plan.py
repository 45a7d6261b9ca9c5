"""``evenkeel plan`` on a cluster that answers: on loopback, by RocketMQ's protocol."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from streaming.cli import main
from streaming.errors import SourceError
from streaming.simulation.planning.change import MOST_CLIENTS, MOST_QUEUES, Change, checked, new_ids
from testing.fake_rocketmq import FakeClient, FakeCluster, FakeGroup, served
from tests.simulation.test_plan import present
from tests.unprivileged import obey_permissions, permissions_count

QUEUES = [("T", broker, number) for broker in ("broker-a", "broker-b") for number in range(4)]


@pytest.mark.deep("a look takes ten seconds")
@pytest.mark.slow("processes are started")
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


ROOT = Path(__file__).parents[2]
GROUP = (
    '{"group": "g", "members": [{"client_id": "x"}, {"client_id": "y"}], '
    '"queues": [{"topic": "T", "broker_name": "a", "queue_id": %s, "in_per_s": %s}]}'
)


@pytest.fixture
def group(tmp_path: Path) -> str:
    (tmp_path / "g.json").write_text(GROUP % (0, 1))
    return str(tmp_path / "g.json")


def planned(*words: str) -> "subprocess.CompletedProcess[str]":
    """As a process, since it must end by itself."""
    command = [sys.executable, "-m", "streaming", "plan", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=30)


@pytest.mark.slow("processes are started")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--join", "1000000000"], "from 0 to 2000"),
        (["--join", "-1"], "from 0 to 2000"),
        (["--leave", "x", "--rolling", "-1"], "from 0 to 2000"),
        (["--queues", "T=2000000000"], "from 1 to 16384"),
        (["--queues", f"T={'9' * 5000}"], "from 1 to 16384"),
        (["--queues", "T=٣"], "from 1 to 16384"),
        (["--join", "1", "--rate", "inf"], "from 0 to 1e+09"),
        (["--join", "1", "--rate", "nan"], "from 0 to 1e+09"),
        (["--join", "1", "--rate", "1e300"], "from 0 to 1e+09"),
        (["--join", "1990", "--rolling", "1"], "that takes too long"),
    ],
)
def test_absurd_numbers_are_refused_at_once(words: list[str], said: str, group: str) -> None:
    done = planned("--from", group, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.slow("processes are started")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GROUP % (2_000_000_000, 1), "2000000001 queues: a plan is made for 16384 at most"),
        (GROUP % (2**40, 1), "not what 'evenkeel inspect --json' prints"),
        (GROUP % (-1, 1), "not what 'evenkeel inspect --json' prints"),
        (GROUP % (0, -1), "not what 'evenkeel inspect --json' prints"),
        (GROUP % (0, 1e308), "a plan is made for 1e+09 at most"),
        ("[" * 100_000, "not what 'evenkeel inspect --json' prints"),
    ],
    ids=["queue id", "huge queue id", "negative queue id", "negative rate", "rate", "depth"],
)
def test_absurd_group_is_refused_at_once(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text(text)
    done = planned("--from", str(tmp_path / "g.json"), "--leave", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow("processes are started")
@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a file without an end")
def test_file_without_an_end_is_refused() -> None:
    done = planned("--from", "/dev/zero", "--join", "1")
    assert done.returncode == 2
    assert "this is not what 'evenkeel inspect --json' prints" in done.stderr


def test_groups_of_many_clients_and_queues_are_bounded_together() -> None:
    large = present(tuple(f"c{n}" for n in range(MOST_CLIENTS)), queues=8)
    with pytest.raises(SourceError, match="clients: a plan is made for"):
        checked(Change(join=new_ids(1, large)), large)
    with pytest.raises(SourceError, match="queues: a plan is made for"):
        checked(Change(queues={"T": MOST_QUEUES}), present())
    usual = present(tuple(f"c{n}" for n in range(200)), queues=128)
    assert checked(Change(rolling=5), usual)
    with pytest.raises(SourceError, match="restart more clients at a time"):
        checked(Change(rolling=1), large)


@pytest.mark.slow("processes are started")
def test_picture_that_cannot_be_written_is_refused(group: str, tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    words = ["--from", group, "--join", "1", "--picture"]
    for path, said in (
        (tmp_path / "none" / "x.png", "there is no folder"),
        (tmp_path / "folder.png", "is a folder"),
        (tmp_path / "x.pdf", "a picture is a .png or an .svg"),
    ):
        done = planned(*words, str(path))
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"evenkeel: {path}: {said}")
        assert done.stderr.count("\n") == 1


@pytest.mark.slow("processes are started")
def test_picture_in_a_folder_without_permission_is_refused(group: str, tmp_path: Path) -> None:
    if not permissions_count(tmp_path):
        pytest.skip("permissions keep nobody out here")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    words = ["--from", group, "--join", "1", "--picture", str(closed / "x.png")]
    done = subprocess.run(
        [sys.executable, "-m", "streaming", "plan", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=obey_permissions,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"evenkeel: {closed}/x.png: cannot be written: Permission denied\n"
