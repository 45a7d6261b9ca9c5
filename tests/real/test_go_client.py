"""Clients of another language against a real RocketMQ: what rocketmq-client-go tells, and what is found of its groups.

All groups are watched twice at the same time: by a collector that asks clients, and by one that does not. The second
sees of them what it sees of clients of any SDK that does not answer.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from schemas.facts import Fact
from streaming.cli import main
from streaming.collector.wire import reply_parsing, requests
from streaming.collector.wire.reply_parsing import Asked
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.replay.core_engine import core_facts
from streaming.wall_clock import now_ms
from testing.job import ROOT
from testing.rocketmq import asking
from testing.rocketmq.collecting import Collecting
from testing.rocketmq.go import LANGUAGE, VERSION, missing_go
from testing.rocketmq.jars import NEWEST
from testing.rocketmq.loopback import LoopbackRocketMQ
from tests.real.outcome import Firing, Outcome
from tests.real.stage import Part

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.deep("a real RocketMQ, for minutes"),
    pytest.mark.timeout(1200),
    pytest.mark.skipif(bool(missing_go()), reason=missing_go()),
]

BROKERS = ("broker-a", "broker-b")
TWO_EACH = dict.fromkeys(BROKERS, 2)
DIFFERS_FROM_S, PAUSED_FROM_S, INSPECTED_FROM_S, UNTIL_S = 12, 100, 235, 260
PROPERTY = re.compile(r"`(PROP_\w+)`")


class Watched(NamedTuple):
    """``asked`` and ``unasked``: of each group what was found with its clients' reports, and without."""

    answers: dict[str, Any]  # running info of each client of the group that is well, as it came
    listed: dict[str, tuple[str | None, int | str | None]]  # language and version by client id
    asked: dict[str, Outcome]
    unasked: dict[str, Outcome]
    looks: dict[str, Any]  # what inspect says of each group
    twin: str


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("go-")
    with LoopbackRocketMQ(NEWEST, BROKERS) as cluster:
        parts = {name: Part(cluster, name, {f"{name}-T": TWO_EACH}) for name in ("well", "mixed", "twice", "stops")}
        parts["subs"] = Part(cluster, "subs", {"subs-T": TWO_EACH, "subs-U": TWO_EACH})
        cluster.producer([topic for part in parts.values() for topic in part.topics])
        parts["well"].join_go("c1", "c2")
        parts["mixed"].join_go("c1")
        parts["mixed"].join("c2")
        parts["twice"].join_go("same", "same")
        _, paused = parts["stops"].join_go("c1", "c2")
        parts["subs"].join_go("c1", topics=["subs-T"])
        for group in parts.keys() - {"subs"}:
            cluster.wait_until(lambda g=group: both_listed(cluster, g), f"both clients of {group} are listed")
        began_ts, began = now_ms(), time.monotonic()
        asking_one, silent_one = config(folder / "asked", cluster, True), config(folder / "unasked", cluster, False)
        recording = "recording.jsonl.gz"
        with (
            Collecting(asking_one, asking_one.with_name(recording)),
            Collecting(silent_one, silent_one.with_name(recording)),
        ):
            sleep_until(began + DIFFERS_FROM_S)
            parts["subs"].join_go("c2", topics=["subs-U"])
            sleep_until(began + 60)
            answers, listed = said_by(cluster, "well")
            sleep_until(began + PAUSED_FROM_S)
            parts["stops"].do("pause", paused)
            sleep_until(began + INSPECTED_FROM_S)
            looks = inspected(cluster)
            sleep_until(began + UNTIL_S)
        outcomes = [
            {group: Outcome(part, facts, began_ts) for group, part in parts.items()}
            for facts in map(facts_of, (asking_one, silent_one))
        ]
        (twin,) = set(cluster.members("twice", "broker-a"))
        yield Watched(answers, listed, *outcomes, looks, twin)


def both_listed(cluster: LoopbackRocketMQ, group: str) -> bool:
    return all(len(cluster.members(group, broker)) == 2 for broker in BROKERS)


def sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))


def config(folder: Path, cluster: LoopbackRocketMQ, asks: bool) -> Path:
    folder.mkdir()
    keys: Mapping[str, Any] = {
        "clusters.real": cluster.namesrv, "running_info": asks, "output": "file",
        "file": str(folder / "events.jsonl"), "state": str(folder / "state"),
    }  # fmt: skip
    path = folder / "evenkeel.toml"
    path.write_text("[collector]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items()))
    return path


def facts_of(path: Path) -> list[Fact]:
    with path.with_name("events.jsonl").open("rb") as events:
        return core_facts(events, DEFAULT_SETTINGS)


def said_by(cluster: LoopbackRocketMQ, group: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Bodies of running infos by client id; language and version by client id."""
    address = cluster.brokers["broker-a"].address
    asked = Asked("real", "broker-a", group)
    connections = reply_parsing.connections(asking.ask(address, requests.connections(group)), asked).body
    assert connections is not None
    listed = {one.client_id: (one.language, one.version) for one in connections.connection_set or ()}
    answers = {}
    for client_id in listed:
        reply = asking.ask(address, requests.running_info(group, client_id))
        answers[client_id] = reply_parsing.running_info(reply, asked, client_id), reply.frame
    return answers, listed


def inspected(cluster: LoopbackRocketMQ) -> dict[str, Any]:
    """``inspect --json`` of all groups at once, by group."""
    path = cluster.brokers["broker-a"].log_file.with_name("inspected.json")
    with path.open("w") as out, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", out)
        main(["inspect", "--namesrv", cluster.namesrv, "--json"])
    found = map(json.loads, path.read_text().splitlines())
    return {one["group"]: one for one in found if "group" in one}


def firings(outcome: Outcome) -> dict[str, Firing]:
    print(outcome.account())
    return {f"{one.kind} {one.topic or ''}".strip(): one for one in outcome.firings}


# --- what it tells


def test_brokers_list_its_language_and_the_version_of_every_release(watched: Watched) -> None:
    assert set(watched.listed.values()) == {(LANGUAGE, VERSION)}


def test_its_answer_names_its_queues_but_neither_strategy_nor_message_model(watched: Watched) -> None:
    """By the formula and the order of Java's AVG: of four queues the first client has those of the first broker."""
    owned = {}
    for client_id, (answer, _) in watched.answers.items():
        assert (answer.strategy, answer.message_model, answer.client_rebalance) == (None, None, None)
        assert (answer.orderly, answer.consume_type) == ("false", "CONSUME_PASSIVELY")
        assert "well-T" in {one.topic for one in answer.subscriptions}
        owned[client_id] = {(q.broker_name, q.queue_id) for q in answer.mq_table if q.topic == "well-T"}
    first, second = sorted(owned)
    assert owned == {first: {("broker-a", 0), ("broker-a", 1)}, second: {("broker-b", 0), ("broker-b", 1)}}


def test_documentation_names_the_properties_of_its_answer(watched: Watched) -> None:
    text = (ROOT / "docs" / "clients.md").read_text()
    (row,) = [line for line in text.splitlines() if line.startswith("| Go 2.x | every queue")]
    for _, frame in watched.answers.values():
        properties = re.search(rb'"properties":(\{.*?\})', frame.body)
        assert properties is not None
        assert set(json.loads(properties[1])) == set(PROPERTY.findall(row))


# --- what is found of its groups


@pytest.mark.parametrize("group", ["well", "mixed"])
def test_nobody_is_called_for_a_group_that_is_well(group: str, watched: Watched) -> None:
    """Two of Go; one of Go and one of Java. What was not asked is not healthy but unknown."""
    assert firings(watched.asked[group]) == {}
    assert watched.asked[group].status(UNTIL_S) == "healthy"
    assert firings(watched.unasked[group]) == {}
    assert watched.unasked[group].status(UNTIL_S) == "unknown"


def test_two_processes_under_one_id_are_found_with_reports(watched: Watched) -> None:
    found = firings(watched.asked["twice"])
    for kind in ("DUPLICATED", "ORPHANED"):
        one = found[f"{kind} twice-T"]
        assert (one.severity, one.causes) == ("critical", ("SAME_CLIENT_ID",))
    assert "SHARED_CLIENT_ID" not in found


def test_two_processes_under_one_id_are_found_without_reports(watched: Watched) -> None:
    found = firings(watched.unasked["twice"])
    shared = found["SHARED_CLIENT_ID"]
    assert (shared.severity, shared.causes) == ("warning", ("SAME_CLIENT_ID",))
    assert 150 < shared.fired_s < 240
    assert set(found) <= {"SHARED_CLIENT_ID", "STALLED twice-T"}


def test_client_that_was_stopped_is_found_with_reports(watched: Watched) -> None:
    found = firings(watched.asked["stops"])
    stalled = found["STALLED stops-T"]
    assert (stalled.severity, stalled.causes[0]) == ("critical", "CLIENT_STALLED")
    assert PAUSED_FROM_S + 55 < stalled.fired_s < PAUSED_FROM_S + 110
    assert set(found) == {"STALLED stops-T"}


def test_client_that_was_stopped_may_have_messages_in_hand_where_nobody_reports(watched: Watched) -> None:
    """It had pulled messages and not stored that it had consumed them: a slow batch looks the same for 300 s.

    The broker drops it after 130 s, and the other client takes over. Nothing else is told, and nothing is called well.
    """
    outcome = watched.unasked["stops"]
    assert set(firings(outcome)) <= {"STALLED stops-T"}
    assert outcome.status(PAUSED_FROM_S + 60) != "healthy"


@pytest.mark.parametrize("asks", [True, False])
def test_different_subscriptions_are_found(asks: bool, watched: Watched) -> None:
    found = firings((watched.asked if asks else watched.unasked)["subs"])
    differ = found["INCONSISTENT_SUBSCRIPTION"]
    assert (differ.severity, differ.causes) == ("warning", ("SUBSCRIPTION_MISMATCH",))


def test_inspect_says_the_same_at_once(watched: Watched) -> None:
    """It looks for a few seconds: what takes time to prove is not in it."""
    statuses = {group: look["status"] for group, look in watched.looks.items()}
    assert statuses["well"] == statuses["mixed"] == "healthy"
    assert statuses["twice"] != "healthy"
    assert any(one["client_id"] == watched.twin for one in watched.looks["twice"]["members"])
