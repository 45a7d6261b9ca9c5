"""Revive logs that brokers do not read, or read late, and all that only looks like it."""

import json
import re
from pathlib import Path

import msgspec

from schemas.events import QueueOffsets, TopicOffsets
from schemas.facts import AlertFact, GroupFact
from schemas.identity import REVIVE_GROUP, retry_topic
from schemas.observed import ReviveBehind
from streaming.core.state.packing import pack, unpack
from streaming.core.state.restore import GroupSeed, SeedAlert, restore
from tests.core.fleet import Fleet

KIND = "REVIVE_STUCK"
LOG = "rmq_sys_REVIVE_LOG_DefaultCluster"
EIGHT = range(8)
RECORDED = Path(__file__).parent / "revive_stuck.jsonl"


class Logs:
    """The revive logs of brokers, read every 20 s. ``ends`` and ``offsets`` are those of the eight queues of each."""

    def __init__(self, *brokers: str, every: float = 20) -> None:
        self.fleet = Fleet({LOG: dict.fromkeys(brokers, 8)}, group=REVIVE_GROUP, every=every, progress_every=0)
        self.ends = {broker: [1_000] * 8 for broker in brokers}
        self.offsets = {broker: [995] * 8 for broker in brokers}

    def grow(self, by: int, broker: str = "a", queues: range = EIGHT) -> None:
        for queue in queues:
            self.ends[broker][queue] += by

    def read(self, broker: str = "a", queues: range = EIGHT, behind: int = 5) -> None:
        """The broker reads on, up to ``behind`` the end."""
        for queue in queues:
            self.offsets[broker][queue] = self.ends[broker][queue] - behind

    def round(self, *asked: str) -> "Logs":
        """``asked``: the brokers that give offsets; none: all."""
        ts = self.fleet._ts() + round(self.fleet.every * 1000)
        answers = [
            TopicOffsets(broker, LOG, ts, tuple(
                QueueOffsets(queue, ends[queue], ends[queue] - offsets[queue], ends[queue] - offsets[queue])
                for queue in EIGHT
            ))
            for broker, ends in self.ends.items()
            if (offsets := self.offsets[broker]) and broker in (asked or self.ends) and broker not in self.fleet.down
        ]  # fmt: skip
        self.fleet.round(offsets=tuple(answers))
        return self

    def healthy(self, rounds: int = 6, by: int = 40) -> "Logs":
        for _ in range(rounds):
            for broker in self.ends:
                self.grow(by, broker)
                self.read(broker)
            self.round()
        return self

    def alert(self) -> AlertFact:
        return self.fleet.alert(KIND, LOG)

    def shown(self) -> ReviveBehind:
        observed = self.alert().observed.revive_behind
        assert observed is not None
        return observed


def stuck(rounds: int = 4, by: int = 40) -> Logs:
    logs = Logs("a", "b").healthy()
    for _ in range(rounds):
        logs.grow(by)
        logs.grow(by, "b")
        logs.read("b")
        logs.round()
    return logs


# --- what is found


def test_a_broker_that_reads_none_of_its_log_is_found_within_80_s() -> None:
    logs = stuck(3)
    assert not logs.fleet.firing()
    logs.grow(40)
    logs.round()
    assert logs.fleet.firing() == {(LOG, KIND)}
    found, alert = logs.shown(), logs.alert()
    assert (found.broker_names, found.records) == (("a",), 8 * (4 * 40 + 5))
    assert (found.stands_ms, found.late_for_ms) == (60_000, None)
    assert alert.severity == "warning"
    assert {(queue.broker_name, queue.queue_id) for queue in alert.queues} == {("a", queue) for queue in EIGHT}
    assert logs.fleet.status().status == "findings"


def test_it_is_one_alert_of_both_brokers_and_over_once_both_read_on() -> None:
    logs = Logs("a", "b").healthy()
    for _ in range(4):
        logs.grow(40)
        logs.grow(40, "b")
        logs.round()
    assert logs.shown().broker_names == ("a", "b")
    logs.read()
    logs.round().round().round()
    assert logs.shown().broker_names == ("b",)
    logs.read("b")
    for _ in range(5):  # what was read last had come long before
        logs.round()
    assert not logs.fleet.firing()
    assert logs.fleet.status().status == "excluded"


def test_one_queue_that_is_not_read_on_is_found_after_five_minutes() -> None:
    logs = Logs("a").healthy()
    for _ in range(16):
        assert not logs.fleet.firing()
        logs.grow(40)
        logs.read(queues=range(1, 8))
        logs.round()
    assert logs.fleet.firing() == {(LOG, KIND)}
    assert [queue.queue_id for queue in logs.alert().queues] == [0]


def test_a_broker_that_reads_on_late_is_found() -> None:
    """It gets 40 records a round and reads 10: it is a minute late after three rounds, and found two minutes later."""
    logs = Logs("a").healthy()
    found_after = 0
    for number in range(1, 20):
        logs.grow(40)
        logs.offsets["a"] = [offset + 10 for offset in logs.offsets["a"]]
        logs.round()
        found_after = found_after or number * bool(logs.fleet.firing())
    assert 8 <= found_after <= 12
    found = logs.shown()
    assert found.stands_ms is None
    assert (found.late_for_ms or 0) >= 120_000
    for _ in range(2):  # it may still have to read on: its offset has stood for 40 s
        logs.round()
    assert logs.fleet.state.revivals[0].late_since_ts > 0
    for _ in range(3):  # nothing comes any more, and nothing is left to read
        logs.round()
    assert not logs.fleet.firing()


# --- what only looks like it


def test_a_log_at_rest_keeps_records_that_are_never_read() -> None:
    logs = Logs("a").healthy()
    for _ in range(40):
        logs.round()
    assert not logs.fleet.alerts()


def test_late_acknowledgements_alone_are_no_sign() -> None:
    """One client acknowledges its last batch late, and pops nothing meanwhile: 29 records come, and no checkpoint."""
    logs = Logs("a").healthy()
    for _ in range(29):
        logs.grow(1, queues=range(3, 4))
        logs.round()
    assert not logs.fleet.alerts()


def test_clients_that_acknowledge_all_late_are_no_sign() -> None:
    """Each of 8 clients pops 32 messages every 160 s. The checkpoint is read; the acknowledgements follow."""
    logs = Logs("a").healthy()
    for number in range(120):
        logs.grow(4)
        logs.read(queues=range(number % 8, number % 8 + 1))
        logs.round()
    assert not logs.fleet.alerts()


def test_a_broker_that_was_away_gets_time_to_start() -> None:
    """What came due meanwhile is in its log at once; it stood still for a moment before."""
    logs = Logs("a").healthy()
    logs.grow(3)
    logs.round()
    logs.fleet.down.add("a")
    logs.round().round().round()
    logs.fleet.down.clear()
    logs.grow(500)
    logs.round()
    logs.grow(40)
    logs.round()
    assert not logs.fleet.alerts()
    logs.read()
    assert not logs.healthy().fleet.alerts()


def test_a_broker_that_catches_up_after_a_long_outage_is_not_late() -> None:
    logs = Logs("a").healthy()
    logs.fleet.down.add("a")
    logs.grow(400)
    for _ in range(5):
        logs.round()
    logs.fleet.down.clear()
    for _ in range(3):
        logs.grow(40)
        logs.offsets["a"] = [offset + 170 for offset in logs.offsets["a"]]
        logs.round()
    assert not logs.fleet.alerts()


def test_a_log_that_is_made_again_is_a_new_one() -> None:
    logs = stuck(3)
    logs.ends["a"], logs.offsets["a"] = [400] * 8, [395] * 8
    for _ in range(5):
        logs.round()
    assert not logs.fleet.alerts()


def test_messages_that_stay_in_the_log_for_hours_are_no_stall_and_no_missing_member() -> None:
    logs = Logs("a").healthy()
    for _ in range(100):
        logs.grow(1, queues=range(1))
        logs.round()
    assert not logs.fleet.alerts()
    assert logs.fleet.finding("a0", LOG).finding == "EXCLUDED"
    assert (logs.fleet.status().status, logs.fleet.status().reason) == ("excluded", "SYSTEM_GROUP")


def test_what_waits_in_the_logs_is_no_lag_and_no_news_of_the_group() -> None:
    logs = Logs("a").healthy()
    told = len(logs.fleet.told(GroupFact))
    for number in range(40):
        logs.grow(500)
        logs.read(behind=10 * number)
        logs.round()
    assert not logs.fleet.alerts()
    assert (logs.fleet.status().waiting, logs.fleet.status().fullest) == (None, ())
    assert len(logs.fleet.told(GroupFact)) == told


def test_other_groups_keep_nothing_of_it() -> None:
    fleet = Fleet(group="g")
    fleet.join("c1")
    assert not fleet.run(60).state.revivals


# --- evidence that is lost


def test_an_alert_goes_on_while_its_broker_gives_no_offsets() -> None:
    logs = stuck(5)
    for _ in range(30):
        logs.round("b")
    assert logs.fleet.firing() == {(LOG, KIND)}
    assert logs.alert().stale
    logs.read()
    logs.round().round().round()
    assert not logs.fleet.firing()


def test_state_is_packed_with_it() -> None:
    logs = stuck(3)
    assert unpack(pack(logs.fleet.state)) == logs.fleet.state
    assert logs.fleet.state.revivals


def test_an_alert_that_was_restored_stays_open_until_its_log_is_seen_to_be_read() -> None:
    logs = stuck(5)
    opened, now = SeedAlert(LOG, logs.alert()), logs.fleet.state.now
    seed = GroupSeed(cluster="c", group=REVIVE_GROUP, now=now, next_seq=1_000, alerts=(opened,))
    logs.fleet.state = restore(msgspec.json.encode(seed), logs.fleet.settings)
    logs.round().round()
    assert logs.fleet.firing() == {(LOG, KIND)}
    logs.read()
    logs.round().round().round()
    assert not logs.fleet.firing()


# --- as it was recorded


def recorded() -> list[tuple[int, dict[int, tuple[int, int]]]]:
    """The readings of 208, and when: queue -> end and offset."""
    readings = []
    for line in RECORDED.read_text().splitlines():
        one = json.loads(line)
        rows = re.findall(r'"queueId":(\d+),.*?"brokerOffset":(\d+),"consumerOffset":(\d+)', one["revive"])
        readings.append((one["ts"], {int(queue): (int(end), int(offset)) for queue, end, offset in rows}))
    return readings


def test_a_broker_with_a_long_reviveInterval_as_recorded() -> None:
    """5.3.3, from before the setting until 15 s after its restart; then as if nothing more came."""
    logs = Logs("a")
    readings = recorded()
    for ts, rows in readings:
        logs.fleet.every = (ts - readings[0][0]) / 1000 + 20 - logs.fleet.now
        logs.ends["a"] = [rows[queue][0] for queue in EIGHT]
        logs.offsets["a"] = [rows[queue][1] for queue in EIGHT]
        logs.round()
    logs.fleet.every = 20
    assert not logs.fleet.firing()
    for _ in range(3):
        logs.round()
    assert logs.fleet.firing() == {(LOG, KIND)}
    assert len(logs.alert().queues) == 8


def test_the_retry_topic_of_the_group_is_no_log() -> None:
    logs = Logs("a").healthy()
    logs.fleet.round(
        offsets=(TopicOffsets("a", retry_topic(REVIVE_GROUP), logs.fleet._ts(), (QueueOffsets(0, 9, 9, 9),)),)
    )
    assert len(logs.fleet.state.revivals) == 8
