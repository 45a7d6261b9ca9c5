"""Each measured fault, simulated: the same assignment in the end as on the real cluster, windows within the measured
ranges, the same alerts. The seven recordings are those of streaming/demo/recordings; ranges are those of
docs/simulation.md, with a second more for the resolution of the measurement.
"""

import gzip
import json
from collections import Counter
from dataclasses import replace
from typing import NamedTuple

import pytest

from bench.proof.detector import Detector
from schemas.facts import Kind
from schemas.identity import is_retry_topic
from streaming.collector.probing import new_queues
from streaming.collector.probing.policy import DEFAULT_POLICY
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.demo import RECORDINGS
from tests.simulation.alerts_fired import alerts_fired
from tests.simulation.measured_faults import SCRIPTS, Cluster

AS_RECORDED = replace(
    DEFAULT_POLICY, interval_ms=1_000, running_info_ms=1_000, offsets_ms=5_000, route_ms=1_000, spreads=False
)
SEEDS = (1, 2, 3)


@pytest.fixture(autouse=True)
def clients_are_asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorder asked clients of a group also while it had queues that were new to it."""
    monkeypatch.setattr(new_queues, "FIRST_PULL_MS", 0)


T8 = "Ta0 Ta1 Ta2 Ta3 Tb0 Tb1 Tb2 Tb3"
ENDS_AS: dict[str, dict[str, str]] = {
    "a_scaleout": {"i1": "Ta0 Ta1 Ta2 Ta3", "i3": "Tb0 Tb1 Tb2 Tb3"},
    "b_kill9": {"i1": "Ta0 Ta1 Ta2 Ta3", "i3": "Tb0 Tb1 Tb2 Tb3"},
    "c_sigstop": {"i1": "Ta0 Ta1 Ta2", "i2": "Ta3 Tb0 Tb1", "i3": "Tb2 Tb3"},
    "d_sameid": {"same": "Ta0 Ta0 Ta1 Ta1 Ta2 Ta2 Ta3 Ta3"},
    "e_subscriptions": {"i1": "Ta0 Ta1 Ta2 Ta3", "i2": "Ub0 Ub1 Ub2 Ub3"},
    "g_machineroom": {"i1": "Tc0 Tc1", "i2": "Tc2 Tc3"},
    "g2_nearby": {"i1": "Ta0 Ta1 Tb0 Tb1", "i2": "Ta2 Ta3 Tb2 Tb3"},
    "h_expand": {
        "i1": "Ta0 Ta1 Ta2 Ta3 Ta4 Ta5 Ta6 Ta7",
        "i2": "Tb0 Tb1 Tb2 Tb3 Tb4 Tb5 Tb6 Tb7",
    },
    "i_broadcast": {"i1": T8, "i2": T8},
    "j_more": {"i1": "Ta0", "i2": "Tb0"},
    "k_brokerdown": {"i1": "Ta0 Ta1 Ta2 Ta3", "i2": "Tb0 Tb1 Tb2 Tb3"},
    "l_orderly": {"i2": "Ta0 Ta1 Ta2 Ta3", "i3": "Tb0 Tb1 Tb2 Tb3"},
    "m_sigstop40": {"i1": "Ta0 Ta1 Ta2", "i2": "Ta3 Tb0 Tb1", "i3": "Tb2 Tb3"},
}


class Measured(NamedTuple):
    """Windows that begin from second ``after`` on: none longer than ``most``, the longest at least ``least``."""

    name: str
    kind: Kind
    after: float
    least: float
    most: float


FOR_EVER = 1e9
MEASURED = (
    Measured("a_scaleout", Kind.DUPLICATED, 30, 0, 2.0),
    Measured("a_scaleout", Kind.ORPHANED, 30, 0, 3.0),
    Measured("b_kill9", Kind.DUPLICATED, 30, 0, 0),
    Measured("b_kill9", Kind.ORPHANED, 30, 0.002, 1.4),
    Measured("c_sigstop", Kind.STALLED, 60, 90, 150),
    Measured("c_sigstop", Kind.DUPLICATED, 60, 0.2, 2.2),
    Measured("c_sigstop", Kind.ORPHANED, 60, 0, 1.5),
    Measured("d_sameid", Kind.DUPLICATED, 15, 50, FOR_EVER),
    Measured("d_sameid", Kind.ORPHANED, 15, 50, FOR_EVER),
    Measured("e_subscriptions", Kind.DUPLICATED, 20, 0, 2.0),
    Measured("e_subscriptions", Kind.ORPHANED, 20, 75, FOR_EVER),
    Measured("e_subscriptions", Kind.STALLED, 20, 8, 35),
    Measured("f_strategies", Kind.DUPLICATED, 3, 80, FOR_EVER),
    Measured("f_strategies", Kind.ORPHANED, 3, 80, FOR_EVER),
    Measured("g_machineroom", Kind.ORPHANED, 0, 130, FOR_EVER),
    Measured("g2_nearby", Kind.DUPLICATED, 35, 0, 1.9),
    Measured("g2_nearby", Kind.ORPHANED, 35, 0, 2.0),
    Measured("h_expand", Kind.ORPHANED, 30, 1, 50),
    Measured("h_expand", Kind.DUPLICATED, 30, 0, 0),
    Measured("j_more", Kind.ORPHANED, 20, 0, 0),
    Measured("k_brokerdown", Kind.ORPHANED, 100, 5, 51),
    Measured("k_brokerdown", Kind.DUPLICATED, 30, 0, 20),
    Measured("l_orderly", Kind.ORPHANED, 60, 40, 62),
    Measured("l_orderly", Kind.DUPLICATED, 30, 0, 0),
    Measured("m_sigstop40", Kind.STALLED, 60, 39, 42),
    Measured("m_sigstop40", Kind.DUPLICATED, 60, 0, 0),
)


def label(topic: str, broker_name: str, queue_id: int) -> str:
    return f"{topic[0]}{broker_name[-1]}{queue_id}"


def held_at_the_end(cluster: Cluster) -> dict[str, str]:
    held: dict[str, list[str]] = {}
    for queue, owners in cluster.fleet.assignment().items():
        for owner in owners:
            if not is_retry_topic(queue.topic):
                held.setdefault(owner.partition("@")[2], []).append(label(*queue))
    return {owner: " ".join(sorted(queues)) for owner, queues in sorted(held.items())}


@pytest.mark.parametrize("name", sorted(ENDS_AS))
def test_a_script_ends_in_the_assignment_of_the_real_cluster(name: str) -> None:
    assert held_at_the_end(SCRIPTS[name].play(1)) == ENDS_AS[name]


@pytest.mark.parametrize("name", sorted(path.name.removesuffix(".jsonl.gz") for path in RECORDINGS.glob("*.jsonl.gz")))
def test_the_assignments_are_those_of_the_recordings(name: str) -> None:
    owned: dict[tuple[str, str], list[str]] = {}
    listed: list[str] = []
    with gzip.open(RECORDINGS / f"{name}.jsonl.gz", "rt") as lines:
        for line in map(json.loads, lines):
            if line["kind"] == "consumer_list" and line["code"] == 0:
                listed = line["ids"]
            elif line["kind"] == "running_info" and line["code"] == 0:
                queues = (q for q in line["mqTable"] if not is_retry_topic(q["topic"]))
                mine = [label(q["topic"], q["brokerName"], q["queueId"]) for q in queues]
                owned[line["clientId"], line["startTimestamp"]] = mine
    ends: dict[str, list[str]] = {}
    for (client_id, _), queues in owned.items():
        if client_id in listed and queues:
            ends.setdefault(client_id.partition("@")[2], []).extend(queues)
    assert {client: " ".join(sorted(queues)) for client, queues in sorted(ends.items())} == ENDS_AS[name]


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_windows_lie_within_what_was_measured(name: str) -> None:
    for seed in SEEDS:
        cluster = SCRIPTS[name].play(seed)
        for want in (one for one in MEASURED if one.name == name):
            lengths = lengths_of(cluster, want)
            assert max(lengths, default=0) >= want.least, (seed, want, lengths)
            assert max(lengths, default=0) <= want.most, (seed, want, lengths)


def lengths_of(cluster: Cluster, want: Measured) -> list[float]:
    from_ts = cluster.began_ts + want.after * 1000
    windows = [
        w for w in cluster.fleet.truth.windows if (w.kind is want.kind and w.from_ts >= from_ts) or w.to_ts is None
    ]
    return [(w.lasted_until(cluster.fleet.now) - w.from_ts) / 1000 for w in windows if w.kind is want.kind]


def fired(name: str, seed: int = 1) -> Counter[tuple[str, str, str]]:
    """(kind, topic, cause) of what the detector pages of a script, warnings and critical."""
    detectors: list[Detector] = []
    SCRIPTS[name].play(seed, lambda fleet: detectors.append(Detector(fleet, DEFAULT_SETTINGS, policy=AS_RECORDED)))
    return Counter((a.kind, f.topic or "", a.cause or "") for f, a in alerts_fired(detectors[0]))


@pytest.mark.deep_rows("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize("name", ["a_scaleout", "b_kill9", "h_expand", "i_broadcast", "j_more"])
def test_the_detector_is_silent_where_it_is_silent_on_the_recording(name: str) -> None:
    assert not fired(name)


def test_it_raises_the_same_of_one_id_in_two_machines_as_on_the_recording() -> None:
    """As in the recording, the id is asked through every broker in turn; with this seed they ask one instance each."""
    expected = {("DUPLICATED", "T", "SAME_CLIENT_ID"), ("ORPHANED", "T", "SAME_CLIENT_ID")}
    assert fired("d_sameid", seed=5).keys() == expected


@pytest.mark.slow("minutes and hours of a fleet are simulated")
def test_it_raises_the_same_of_two_topics_in_one_group_as_on_the_recording() -> None:
    expected = {(kind, topic, "SUBSCRIPTION_MISMATCH") for kind, topic in (("ORPHANED", "T"), ("ORPHANED", "U"))}
    assert fired("e_subscriptions").keys() == expected | {("INCONSISTENT_SUBSCRIPTION", "", "SUBSCRIPTION_MISMATCH")}


@pytest.mark.slow("minutes and hours of a fleet are simulated")
def test_of_a_room_without_consumers_it_names_the_cause() -> None:
    assert fired("g_machineroom").keys() == {("ORPHANED", "T", "ROOM_WITHOUT_CONSUMER")}


@pytest.mark.slow("minutes and hours of a fleet are simulated")
def test_a_client_that_is_stopped_is_found_stalled() -> None:
    assert ("STALLED", "T", "CLIENT_STALLED") in fired("c_sigstop")


@pytest.mark.deep_rows("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize("name", ["g2_nearby", "k_brokerdown", "l_orderly", "m_sigstop40"])
def test_what_repairs_itself_in_time_is_nobodys_page(name: str) -> None:
    assert not fired(name)


def test_what_is_consumed_again_is_what_was_measured() -> None:
    """A few messages where a queue moves; all of the pause where a client resumes after others took over."""
    for name in ("a_scaleout", "b_kill9"):
        for progress in SCRIPTS[name].play(1).fleet.progresses():
            assert progress.repeats.overlap + progress.repeats.old_offset <= 8
    repeats = [p.repeats.old_offset for p in SCRIPTS["c_sigstop"].play(1).fleet.progresses() if p.repeats.old_offset]
    assert len(repeats) == 3
    assert all(600 <= count <= 720 for count in repeats)
