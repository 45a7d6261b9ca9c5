"""What a collector knows of groups from before its start, from a file or, without one, by looking at all of them."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.events import ConsumeProgress, Round, TopicRoute
from streaming.cli import main
from streaming.collector.probing.group_schedule import LOOK_MS, REPORT_ALL_MS, TWO_LOOKS_MS, GroupSchedule
from streaming.collector.probing.memory import AGAIN_AFTER_MS, Memory, MemoryFile, Remembered, SlowClient
from streaming.collector.probing.policy import DEFAULT_POLICY
from testing.fake_rocketmq import FakeCluster, FakeGroup, served, two_clients
from tests.collector.test_cluster_probe import QUICK, Told, play
from tests.collector.test_collect import config_file, read_events, rounds_in, stopped_when

NOW = 1_700_000_000_000
GROUPS = {"g": Remembered(("T",)), "h": Remembered((), NOW - 5, {"a": [(NOW, ("T", "U"))]})}
MEMORY = Memory(NOW, GROUPS, slow={"c": SlowClient(2, 1, NOW)})


def restarted(told: Told, memory: Memory | None) -> Told:
    """Another life of the collector."""
    again = Told(told.fake, QUICK)
    again.probe.recall(memory)
    return again


def test_a_memory_is_kept_for_nobody_else_to_read(tmp_path: Path) -> None:
    file = MemoryFile(tmp_path / "state", "pr:od")
    assert file.load() is None
    file.save(MEMORY)
    (path,) = (tmp_path / "state").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert MemoryFile(tmp_path / "state", "pr:od").load() == MEMORY
    assert MemoryFile(tmp_path / "state", "test").load() is None


def test_it_is_written_when_something_changed_or_after_a_minute(tmp_path: Path) -> None:
    file = MemoryFile(tmp_path, "prod")
    file.save(MEMORY)
    for later, is_written in [(1, False), (AGAIN_AFTER_MS, True), (AGAIN_AFTER_MS + 1, False)]:
        file.save(Memory(NOW + later, GROUPS, slow={"c": SlowClient(2, 1, NOW + later)}))
        known = file.load()
        assert known is not None
        assert (known.ts == NOW + later) is is_written
    for memory in (Memory(NOW + AGAIN_AFTER_MS + 2, GROUPS), Memory(NOW + AGAIN_AFTER_MS + 2, {})):
        file.save(memory)
        assert file.load() == memory


@pytest.mark.parametrize("content", [b"", b"{", b'{"ts": "x"}', b"\xff"])
def test_a_file_that_cannot_be_read_is_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "prod.json").write_bytes(content)
    assert MemoryFile(tmp_path, "prod").load() is None


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "state").write_text("a file")
    file = MemoryFile(tmp_path / "state", "prod")
    file.save(MEMORY)
    file.save(Memory(NOW + AGAIN_AFTER_MS, {}))
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_group_that_lost_its_members_while_nobody_watched_is_told_with_routes_and_offsets() -> None:
    async def scene(told: Told) -> None:
        await told.round()
        memory = told.probe.memory()
        told.fake.groups["g"].members.clear()
        again = restarted(told, memory)
        await again.round()
        marker = again.marker()
        assert [(b.broker_name, b.answered, b.client_ids) for b in marker.brokers] == [
            ("broker-a", True, ()),
            ("broker-b", True, ()),
        ]
        assert not marker.look
        assert {route.topic for route in again.of(TopicRoute)} == {"T", "%RETRY%g"}
        assert {progress.topic for progress in again.of(ConsumeProgress)} >= {"T"}
        assert again.probe.memory().groups["g"].empty_since > 0
        await again.probe.close()

    play(scene)


def test_without_a_memory_every_group_without_members_is_looked_at_and_told() -> None:
    fake = two_clients()
    fake.groups |= {"dead": FakeGroup(), "TOOLS_CONSUMER": FakeGroup()}

    async def scene(told: Told) -> None:
        told.probe.recall(None)
        await told.round()
        assert {(marker.group, marker.look) for marker in told.of(Round)} == {("g", False), ("dead", True)}
        assert {event.group for event in told.events if not isinstance(event, Round)} == {"g"}
        assert [event.seq for event in told.events if event.group == "dead"] == [0]
        assert told.probe.memory().blind_ts > 0
        assert "dead" not in told.probe.memory().groups

    play(scene, fake)


def test_looks_are_told_for_some_minutes_and_twice_when_all_is_over() -> None:
    policy = replace(DEFAULT_POLICY, report_empty_ms=4_200_000)
    groups = GroupSchedule(policy)
    assert not groups.is_look_reported(NOW)
    groups.blind_ts = NOW
    looks = [at for at in range(0, 6_000_000, LOOK_MS) if groups.is_look_reported(NOW + at)]
    first, last = (
        [at for at in looks if at <= REPORT_ALL_MS],
        [at for at in looks if at > REPORT_ALL_MS],
    )
    assert len(first) == 5
    assert len(last) == 2
    assert last[0] >= policy.report_empty_ms


def test_a_clock_that_was_ahead_makes_no_look_and_no_group_last() -> None:
    policy = DEFAULT_POLICY
    groups = GroupSchedule(policy)
    groups.blind_ts = NOW + 3_600_000
    assert not groups.is_look_reported(NOW)
    assert groups.recall("g", NOW + 3_600_000, NOW)
    assert groups.members_ts("g") == NOW


def test_group_that_has_been_empty_for_long_gets_some_rounds_all_the_same() -> None:
    policy = DEFAULT_POLICY
    groups = GroupSchedule(policy)
    assert groups.recall("g", NOW - 10 * policy.report_empty_ms, NOW)
    assert not groups.recall("TOOLS_CONSUMER", NOW, NOW)
    told = []
    for at in range(NOW, NOW + 5 * TWO_LOOKS_MS, LOOK_MS):
        if groups.to_probe(at):
            told.append(at - NOW)
            groups.probed("g", False, at)
    assert len(told) >= 2
    assert list(groups.watched()) == []


def test_sets_of_topics_that_took_turns_are_remembered() -> None:
    async def scene(told: Told) -> None:
        for topics in [("T",), ("U",), ("T",)]:
            told.fake.groups["g"].subscription_table = topics
            await told.round()
        assert told.marker().rival_subscriptions == (("T",), ("U",))
        again = restarted(told, told.probe.memory())
        await again.round()
        assert again.marker().rival_subscriptions == (("T",), ("U",))
        await again.probe.close()

    play(scene)


@pytest.mark.slow("time-outs pass")
def test_a_restart_tells_that_all_consumers_have_stopped_meanwhile(tmp_path: Path) -> None:
    fake: FakeCluster = two_clients()
    events = tmp_path / "events.jsonl"
    with served(fake):
        config = config_file(tmp_path, fake)
        stopped_when(lambda: rounds_in(events) >= 2)
        assert main(["collect", "--config", config]) == 0
        fake.groups["g"].members.clear()
        events.unlink()
        stopped_when(lambda: rounds_in(events) >= 2)
        assert main(["collect", "--config", config]) == 0
    markers = [event for event in read_events(events) if isinstance(event, Round)]
    assert {(marker.group, *(b.client_ids for b in marker.brokers)) for marker in markers} == {("g", (), ())}
