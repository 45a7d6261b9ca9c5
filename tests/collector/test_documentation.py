"""What docs/collector.md shows is what happens."""

import json
import re
from pathlib import Path

from schemas.events import AssignmentReport
from schemas.records import decode_record
from streaming.collector.probing import client_schedule
from streaming.collector.probing.broker_metrics import PAGE_MS
from streaming.collector.probing.client_schedule import CLIENT_PAUSE_MS, FIRST_ASK_AFTER_JOIN_MS, FOLLOW_UPS_A_MINUTE
from streaming.collector.probing.cluster_probe import REVIVALS_MS
from streaming.collector.probing.directory_probe import GROUPS_MS
from streaming.collector.probing.follow_ups import TRIES_AT_MOST
from streaming.collector.probing.group_schedule import KEEP_WATCHING_MS, LOOK_MS
from streaming.collector.probing.live_transport import RUNNING_INFO_TIMEOUT_MS
from streaming.collector.probing.policy import DEFAULT_POLICY, TABLES_TIMEOUT_MS
from streaming.collector.probing.proxy_search import AT_MOST, NEW_FOR_MS, NEW_READ_MS, READ_MS
from streaming.collector.probing.queues_beyond_read import ASKED_AT_ONCE
from streaming.collector.probing.route_probe import RETRY_ROUTE_MS
from streaming.collector.wire.client import Lane
from streaming.collector.wire.requests import Code

TEXT = (Path(__file__).parents[2] / "docs" / "collector.md").read_text("utf-8")


def test_own_report_is_accepted_by_the_job() -> None:
    match = re.search(r"(?ms)^    (\{\"event\".*?\]\})\n", TEXT)
    assert match is not None
    value = json.dumps(json.loads(match[1])).encode()
    (event,) = decode_record(b"prod/orders", value, len(value), 1_700_000_000_000)
    assert isinstance(event, AssignmentReport)
    assert [queue.queue_id for queue in event.owned[0].queues] == [0, 1]


def test_every_request_is_listed() -> None:
    assert [code for code in Code if not re.search(rf"\b{code.value}\b", TEXT)] == []


def test_numbers_are_those_of_the_code() -> None:
    policy = DEFAULT_POLICY
    for said, ms in [
        ("every round (5 s)", policy.interval_ms),
        ("every 10 s per topic", policy.route_ms),
        ("`%RETRY%` every 60 s", RETRY_ROUTE_MS),
        ("every broker | every 30 s", GROUPS_MS),
        ("without members | every 50 s", LOOK_MS),
        ("every 20 s; every 60 s for groups at rest", policy.offsets_ms),
        ("asks every broker each 20 s for the offsets", REVIVALS_MS),
        ("this page of each broker every 30 s", PAGE_MS),
        ("is not asked for 4 s at least", CLIENT_PAUSE_MS),
        ("its first 5 s", FIRST_ASK_AFTER_JOIN_MS),
        ("10 s for tables", TABLES_TIMEOUT_MS),
        ("12 s for running info", RUNNING_INFO_TIMEOUT_MS),
    ]:
        assert said in TEXT
        assert f"{ms // 1000} s" in said
    assert f"At most {Lane.CLIENTS.value} requests are with one broker" in TEXT
    assert client_schedule.SLOW_ANSWER_MS == 1_000
    assert f"left the route in the last {KEEP_WATCHING_MS // 60_000} minutes" in TEXT
    assert f"{ASKED_AT_ONCE} queues of a group at most each time" in TEXT
    assert f"At most {AT_MOST} messages of one broker" in TEXT
    assert f"every {NEW_READ_MS // 1000} s for five\n  minutes after a proxy has come" in TEXT
    assert f"every {READ_MS // 60_000} minutes otherwise" in TEXT
    assert NEW_FOR_MS == 5 * 60_000
    assert FOLLOW_UPS_A_MINUTE == TRIES_AT_MOST == 4
    assert "gets\nfour of them a minute at most" in TEXT
    assert "four brokers were tried" in TEXT
