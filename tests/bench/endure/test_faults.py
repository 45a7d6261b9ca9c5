"""What is counted of faults in the midst of a run, and how the next fault is chosen."""

import errno
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import Thread

import msgspec
import pytest
from msgspec.structs import replace

from bench.endure import disks
from bench.endure.fault_kinds import FAULTS
from bench.endure.fault_stage import Refused
from bench.endure.faults import RANDOM_MOMENT_S, Played, _Player, free_stage, read_played, write_faults_report
from bench.endure.ledger import Ledger
from bench.endure.report import LINES, PAGE
from bench.reliability.counting import EventNumbers, repeated_notices, times_without_page
from schemas.events import encode_event
from schemas.records import group_key
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import Record, fold
from testing.hook import Told
from testing.http_server import Got
from testing.job import child_environment
from testing.written import commit
from tests.core.fleet import T0, Fleet

CLUSTER = "prod"


def records():
    """Of a group, one of whose queues belongs to two clients for a while."""
    fleet = Fleet(cluster=CLUSTER)
    fleet.join("x", "y")
    fleet.run(60)
    fleet.own("y", "a0 b0-3")
    fleet.run(60)
    return [
        Record(group_key(one.cluster, one.group).encode(), value := encode_event(one), len(value), None, None, "", 0, n)
        for n, one in enumerate(fleet.events)
    ]


class Topic:
    """A Kafka topic, of which a reader has been given ``records``."""

    def __init__(self):
        self.records = []

    def new(self):
        found, self.records = self.records, []
        return found


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch):
    one = Topic()
    monkeypatch.setattr("bench.endure.ledger.TopicReader", lambda *_: one)
    return one


@pytest.mark.deep("a short measurement")
def test_a_fact_that_never_comes_is_missing_once_and_one_that_comes_again_is_repeated_once(topic, tmp_path: Path):
    told = records()
    facts = fold(None, told, DEFAULT_SETTINGS).facts
    ledger = Ledger("", "", 1, tmp_path, CLUSTER)
    topic.records = told
    ledger.read_records()
    assert not ledger.is_even
    commit(tmp_path, facts[1:])
    ledger.read_facts()
    assert not ledger.is_even
    assert (ledger.count_missing(), ledger.count_missing(), ledger.count_repeated()) == (1, 0, 0)
    assert ledger.is_even
    commit(tmp_path, facts[4:6])
    ledger.read_facts()
    assert (ledger.count_repeated(), ledger.count_repeated(), ledger.count_missing()) == (2, 0, 0)


@pytest.mark.deep("a short measurement")
def test_after_a_new_checkpoint_only_what_comes_from_there_on_is_wanted(topic, tmp_path: Path):
    told = records()
    half = len(told) // 2
    first = fold(None, told[:half], DEFAULT_SETTINGS)
    ledger = Ledger("", "", 1, tmp_path, CLUSTER)
    topic.records, topic.go_back = told[:half], lambda offsets: topic.records.extend(told[offsets[0] :])
    ledger.read_records()
    commit(tmp_path, first.facts)
    ledger.begin_again([], {0: half})
    ledger.read_records()
    ledger.read_facts()
    assert (ledger.is_even, ledger.count_repeated(), ledger.facts) == (False, 0, first.facts)
    commit(tmp_path, fold(None, told[half:], DEFAULT_SETTINGS).facts)
    ledger.read_facts()
    assert (ledger.is_even, ledger.count_missing(), ledger.count_repeated()) == (True, 0, 0)


def test_facts_of_records_that_are_read_later_are_wanted_in_the_end(topic, tmp_path: Path):
    told = records()
    ledger = Ledger("", "", 1, tmp_path, CLUSTER)
    commit(tmp_path, fold(None, told, DEFAULT_SETTINGS).facts)
    ledger.read_facts()
    for half in (told[: len(told) // 2], told[len(told) // 2 :]):
        topic.records = half
        ledger.read_records()
    assert (ledger.count_repeated(), ledger.count_missing(), ledger.is_even) == (0, 0, True)


def test_a_gap_in_the_numbers_of_events_is_counted():
    told, numbers = records(), EventNumbers()
    again = told[3]._replace(offset=len(told))
    found = [numbers.take(record) for record in [*told[:5], *told[7:], again]]
    assert (sum(lost for lost, _ in found), sum(repeated for _, repeated in found)) == (2, 1)


def notice(status, sent_ts, *fingerprints, trouble=None, queues=(0,), **more):
    found = [{"broker_name": "b", "queue_id": one} for one in queues]
    alert = {"severity": "critical", "cause": "UNEXPLAINED", "queues": found, **more}
    alerts = [{"alert": {"fingerprint": one, **alert}} for one in fingerprints]
    return {"key": "k", "status": status, "sent_ts": sent_ts, "alerts": alerts, "trouble": trouble}


def test_a_notice_that_says_the_same_again_is_repeated():
    first, longer = notice("firing", 1, "a"), notice("firing", 2, "a", "b")
    assert list(repeated_notices([first, longer, notice("resolved", 3, "a", "b")])) == []
    assert list(repeated_notices([first, again := notice("firing", 2, "a")])) == [again]
    assert list(repeated_notices([first, again := notice("firing", 2, "a", queues=())])) == [again]


@pytest.mark.parametrize("news", [{"queues": (0, 1)}, {"cause": "CONFIG"}, {"severity": "warning"}])
def test_a_notice_with_news_of_the_same_alert_is_not_repeated(news):
    assert list(repeated_notices([notice("firing", 1, "a"), notice("firing", 2, "a", **news)])) == []


def test_an_alert_that_is_open_for_long_without_a_page_is_lost():
    facts = fold(None, records(), DEFAULT_SETTINGS).facts
    (alert,) = {fact.payload.fingerprint for fact in facts if fact.payload.fact == "alert"}
    fired_ts = min(f.ts for f in facts if f.payload.fact == "alert" and f.payload.state == "firing")
    assert list(times_without_page([], facts, fired_ts + 121_000)) == [fired_ts]
    assert list(times_without_page([], facts, fired_ts + 119_000)) == []
    assert list(times_without_page([notice("firing", fired_ts, alert)], facts, fired_ts + 121_000)) == []


def test_an_alert_that_ended_after_a_clock_was_set_right_is_not_open():
    """Its facts of the time before are later, by that clock."""
    fired, *_ = (
        fact for fact in fold(None, records(), DEFAULT_SETTINGS).facts
        if fact.payload.fact == "alert" and fact.payload.state == "firing"
    )  # fmt: skip
    ahead = replace(fired, ts=fired.ts + 300_000, seq=fired.seq + 1)
    ended = replace(fired, ts=fired.ts + 60_000, seq=fired.seq + 2, payload=replace(fired.payload, state="resolved"))
    notices = [
        notice("firing", fired.ts, fired.payload.fingerprint), notice("resolved", ended.ts, fired.payload.fingerprint),
    ]  # fmt: skip
    assert list(times_without_page(notices, [fired, ahead, ended], fired.ts + 900_000)) == []


def played(fault, **more):
    return Played(fault=fault, seed=1, number=1, ts=1_790_000_000_000, away_s=600, **more)


def test_the_rarest_fault_is_next_and_the_order_is_by_the_seed():
    def chosen(seed):
        player = object.__new__(_Player)
        player._chance = random.Random(seed)
        times: Counter[str] = Counter()
        for _ in range(3 * len(FAULTS)):
            times[player.rarest(FAULTS, times)] += 1
            yield times.copy()

    assert set(list(chosen(1))[-1].values()) == {3}
    assert list(chosen(1)) == list(chosen(1)) != list(chosen(2))


def test_the_report_has_the_times_of_each_fault_and_what_was_lost(tmp_path: Path):
    lines = [
        played("Kafka away", facts_s=3.0, well_s=9.0),
        played("Kafka away", facts_s=5.0, well_s=11.0),
        played("kill -9 of run", facts_s=50.0, facts_missing=2, wrong=["it refused to start"]),
    ]
    (tmp_path / LINES).write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in lines))
    assert read_played(tmp_path) == lines
    assert write_faults_report(tmp_path, {"title": "A run", "seed": 7}) == ["kill -9 of run"]
    page = (tmp_path / PAGE).read_text()
    assert "| Kafka away | 2 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 4 | 5 | 10 | 11 |" in page
    assert "| kill -9 of run | 1 | 0 | 0 | 2 | 0 | 0 | 0 | 0 | 50 | 50 | over 600 | over 600 |" in page
    assert "2 facts missing; it refused to start" in page


def test_each_session_has_a_stage_of_its_own_and_a_later_one_takes_what_is_free(tmp_path: Path):
    with free_stage(tmp_path) as first:
        with free_stage(tmp_path) as second, free_stage(tmp_path) as third:
            assert len({first, second, third}) == 3
        with free_stage(tmp_path) as again:
            assert again == second


@pytest.mark.deep("a short measurement")
@pytest.mark.skipif(not disks.may_mount(), reason="mounting takes root")
def test_a_disk_that_is_filled_takes_nothing_until_it_is_freed(tmp_path: Path):
    with disks.mounted(tmp_path, ["state"]):
        disks.fill(tmp_path / "state")
        with pytest.raises(OSError, match="No space") as refused:
            (tmp_path / "state" / "one").write_bytes(b"x" * 5_000)
        assert refused.value.errno == errno.ENOSPC
        disks.free(tmp_path / "state")
        (tmp_path / "state" / "two").write_bytes(b"x" * 5_000)
    assert not os.path.ismount(tmp_path / "state")


@pytest.mark.deep("a short measurement")
@pytest.mark.skipif(not disks.may_mount(), reason="mounting takes root")
def test_a_disk_is_filled_while_others_write_there(tmp_path: Path):
    def write() -> None:
        with suppress(OSError), (tmp_path / "tables" / "one").open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 100_000)

    with disks.mounted(tmp_path, ["tables"]):
        writer = Thread(target=write)
        writer.start()
        disks.fill(tmp_path / "tables")
        writer.join()
        with pytest.raises(OSError, match="No space"):
            (tmp_path / "tables" / "two").write_bytes(b"x" * 5_000)


def test_a_program_on_a_machine_with_a_wrong_clock_follows_it(tmp_path: Path):
    (tmp_path / "clock").write_text("3600")
    program = (
        "import sys; from pathlib import Path; from bench.endure import shifted_clock as one; import time;"
        "file = Path(sys.argv[1]); one._shift(file); print(time.time_ns()); file.write_text('-300'); print(time.time())"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "clock")]
    done = subprocess.run(command, env=child_environment(), capture_output=True, text=True, check=True)
    ahead_ns, behind_s = done.stdout.split()
    assert int(ahead_ns) / 1e9 == pytest.approx(time.time() + 3600, abs=60)
    assert float(behind_s) == pytest.approx(time.time() - 300, abs=60)


class StillStage:
    """A stage that works at once, and writes the facts of a fifth of its records at a time but for those that it
    ``loses``.
    """

    def __init__(self, topic, path):
        self.ledger = Ledger("", "", 1, path, CLUSTER)
        self.told = Told(self)
        self.taken, self.services, self.turns, self.loses = [], {}, 0, 0
        self._topic, self._path, self._left, self._blob = topic, path, records(), None
        self.work()

    def work(self):
        number = len(self._left) // 5
        self._topic.records += self._left[:number]
        done = fold(self._blob, self._left[:number], DEFAULT_SETTINGS)
        self._blob, self._left = done.blob, self._left[number:]
        commit(self._path, done.facts[self.loses :])

    def is_reached(self, condition, within_s):
        """Events come, and facts."""
        for _ in range(4):
            if condition():
                return True
            self.work()
        return False

    def turn(self):
        self.turns += 1

    def pause(self, seconds):
        assert 0 <= seconds <= RANDOM_MOMENT_S

    def ill(self):
        return {"group-0", "group-1"}

    def facts_version(self):
        return 0

    def is_projected(self, version):
        return True

    is_well = is_turn_told = lambda self: True


def page_of(group, **more):
    content = notice("firing", T0, "a") | {"key": group, "groups": [group]} | more
    return Got("", {}, json.dumps(content).encode(), 0)


@pytest.fixture
def still_stage(topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bench.endure.faults.now_ms", lambda: T0)
    return StillStage(topic, tmp_path)


def play(stage, monkeypatch, fault):
    monkeypatch.setitem(FAULTS, "one", lambda *_: fault() or [])
    return _Player(stage, 0, 1).play("one")


@pytest.mark.deep("a short measurement")
def test_a_fault_that_costs_nothing_is_good(still_stage, monkeypatch: pytest.MonkeyPatch):
    def fault():
        still_stage.work()
        still_stage.taken += [page_of("group-1"), page_of("group-5", trouble={"kind": "monitor_blind"})]

    one = play(still_stage, monkeypatch, fault)
    assert (one.is_bad, one.pages, one.troubles, still_stage.turns) == (False, 1, 1, 1)
    assert None not in (one.facts_s, one.well_s)


@pytest.mark.deep("a short measurement")
def test_a_fault_that_loses_a_fact_or_calls_for_a_healthy_group_is_bad(still_stage, monkeypatch: pytest.MonkeyPatch):
    def fault():
        still_stage.loses = 1
        still_stage.work()
        still_stage.taken += [page_of("group-5"), page_of("group-5")]

    one = play(still_stage, monkeypatch, fault)
    assert (one.is_bad, one.facts_missing, one.pages_false, one.pages_repeated) == (True, 1, 2, 1)


@pytest.mark.deep("a short measurement")
def test_a_program_that_is_refused_is_no_end_of_the_count(still_stage, monkeypatch: pytest.MonkeyPatch):
    def fault():
        raise Refused("run ended with status 2")

    one = play(still_stage, monkeypatch, fault)
    assert (one.wrong, one.well_s) == (["run ended with status 2"], None)
