"""What the notifier keeps between starts: files of earlier versions stay readable."""

import json

import msgspec

from schemas.facts import FAILED, Contradiction
from streaming.notices.trouble_text import trouble_said
from streaming.notifier.open_alerts import OpenAlerts
from streaming.notifier.state_files import Position
from tests.notifier.facts import alert

NOW = 1_700_000_000_000
# as evenkeel wrote it when the health of a cluster had a class of the notifier's own
STORED = """
{"table_id": "t", "version": 7, "standing": {"alerts": {}, "ended": {}, "troubles": [],
 "refused": {"c/g": {"cluster": "c", "group": "g", "seq": 3, "since_ts": 1699999999995, "reason": "bad_events",
                     "reason_details": null}},
 "health": {"c": {"heard_ts": 1700000000000, "covering_ts": 1700000000000, "newest_round_ts": 1699999999000,
   "newest": {"status": "ok", "batch_id": 1, "groups": 1, "rounds": 3, "events": 3, "quarantined": 0,
              "brokers_unanswered": 0, "lag_ms": 1000, "events_per_s": 1.0, "batch_ms": 1, "state_bytes": 1,
              "records_lost": 0, "detail": null, "batch_ended_ts": null, "working_ms": null, "kafka_ts": null,
              "kafka_error": null, "unread": null, "quiet_since_ts": null, "contradicting": 1,
              "contradiction": {"group": "g", "followed": "a", "source": "b"}},
   "failed_ts": 1700000002000, "failure": "out of memory", "contradicted_since_ts": 1700000000000,
   "contradicted_ts": 1700000000000, "contradiction": {"group": "g", "followed": "a", "source": "b"}}}}}
"""


def test_a_file_of_an_earlier_version_is_read_and_written_with_the_same_names() -> None:
    position = msgspec.json.decode(STORED, type=Position)
    health = position.open_alerts.health["c"]
    assert (health.health_ts, health.rounds_ts, health.newest_round_ts) == (NOW, NOW, NOW - 1_000)
    assert (health.status, health.ts, health.failure) == (FAILED, NOW + 2_000, "out of memory")
    assert health.contradiction == Contradiction("g", "a", "b")
    assert position.open_alerts.refused["c/g"].since_ts == NOW - 5
    assert json.loads(msgspec.json.encode(position)) == json.loads(STORED) | {"form": 1}


def test_what_0_2_0_kept_of_slots_is_ignored() -> None:
    """Where collectors shared a cluster, it kept slots of the cluster, and a trouble of its own kind."""
    stored = json.loads(STORED)
    of_cluster = stored["standing"]["health"]["c"]
    of_cluster["slots"] = {"2": {"groups": 1, "newest_round_ts": 5, "rounds_ts": 5}}
    of_cluster["newest"]["slots"] = [{"slot": 2, "groups": 1, "newest_round_ts": 5}]
    evidence = {"heard_ts": 5, "slots": [2], "groups": 1}
    trouble = {"kind": "monitor_blind", "cluster": "c", "since_ts": 5, "why": "slots_not_seen", "evidence": evidence}
    stored["standing"]["troubles"] = [trouble]
    position = msgspec.json.decode(json.dumps(stored), type=Position)
    assert position.open_alerts.health == msgspec.json.decode(STORED, type=Position).open_alerts.health
    (found,) = position.open_alerts.troubles
    assert trouble_said(found, "en", NOW) == trouble_said(found, "zh", NOW) == ""


def test_facts_that_are_read_again_after_a_restart_change_nothing() -> None:
    open_alerts = msgspec.json.decode(STORED, type=Position).open_alerts
    facts = [alert(), alert("h"), alert("h", seq=2, at=5, state="resolved", fired=0)]
    open_alerts.take(facts)
    before = open_alerts.copy()
    open_alerts.take(facts[::-1])
    assert open_alerts == before
    assert [len(open_alerts.alerts), len(open_alerts.ended)] == [1, 1]


def test_alerts_that_ended_are_forgotten_after_ten_minutes() -> None:
    """They are saved with each commit that is read. 1,000 groups in a storm had 1,000 of them, 4 MB, within an hour."""
    open_alerts = OpenAlerts()
    open_alerts.take([alert(), alert("h", seq=1), alert("h", seq=2, at=5, state="resolved", fired=0)])
    open_alerts.forget(NOW + 600_000)
    assert [len(open_alerts.alerts), len(open_alerts.ended)] == [1, 1]
    open_alerts.forget(NOW + 606_000)
    assert [len(open_alerts.alerts), len(open_alerts.ended)] == [1, 0]
