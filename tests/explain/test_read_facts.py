"""One group's facts out of a table that holds more."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from schemas.facts import AlertChange, AlertClient, AlertQueue, Fact
from schemas.table_definition import Table
from schemas.tables import ALERTS, GROUP_MEMBERS, GROUP_STATUS, QUEUE_ASSIGNMENTS
from streaming.errors import SourceError
from streaming.explain.read_facts import KEPT_LONGER, read_expired, read_group, read_monitor
from streaming.explain.snapshot import BrokerList, MonitorStatus
from streaming.explain.snapshot_from_facts import snapshot_of
from streaming.tables.arrow_types import arrow_schema, without_comments
from testing.written import EPOCH, commit
from tests.explain.facts import T0, Teller, health

DAY_S = 86_400


def told(group: str = "orders", cluster: str = "prod", seq: int = 0, at_s: float = 0, n: int = 3) -> list[Fact]:
    g = Teller(group, cluster, seq)
    for queue_id in range(n):
        g.queue(at_s + queue_id, queue_id, "MATCH")
    return g.facts


def stand(tables: Path, table: Table, row: dict[str, Any]) -> None:
    """Write a row of one of the tables that people read, with the types that Spark writes."""
    schema = without_comments(arrow_schema(table))
    write_deltalake(tables / table.name, pa.Table.from_pylist([row], schema), mode="append")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    commit(folder / "facts", [*told(), *told("orders-eu"), *told("Billing"), *told("orders-eu", "dr")])
    commit(folder / "facts", told(seq=3, at_s=DAY_S))
    return folder


@pytest.mark.slow("facts of a group are read")
def test_a_group_until_a_time_in_its_order(tables: Path) -> None:
    assert read_group(str(tables), "orders", None, None) == [*told(), *told(seq=3, at_s=DAY_S)]
    assert read_group(str(tables), "orders", "prod", T0 + 1000) == told(n=2)
    assert read_group(str(tables), "orders-eu", "dr", None) == told("orders-eu", "dr")


@pytest.mark.deep_rows("facts of a group are read")
@pytest.mark.parametrize("name", ["o'brien", "''", 'a"b', "a\\'b", "-- x", "组", "' OR 'x' = 'x"])
def test_whatever_a_group_is_called_only_its_own_facts_are_read(tmp_path: Path, name: str) -> None:
    commit(tmp_path / "facts", [*told(), *told(name, "it's")])
    assert read_group(str(tmp_path), name, None, None) == told(name, "it's")
    assert read_group(str(tmp_path), name, "it's", T0 + 1000) == told(name, "it's", n=2)
    with pytest.raises(SourceError, match="the facts know no group"):
        read_group(str(tmp_path), f"{name}' --", None, None)


@pytest.mark.slow("facts of a group are read")
def test_a_reseed_goes_on_and_a_new_beginning_forgets(tmp_path: Path) -> None:
    path = tmp_path / "facts"
    commit(path, told(), "one")
    commit(path, told(seq=3, at_s=10), "two")
    assert read_group(str(tmp_path), "orders", None, None) == [*told(), *told(seq=3, at_s=10)]
    commit(path, told(at_s=20), "three")
    assert read_group(str(tmp_path), "orders", None, None) == told(at_s=20)
    assert read_group(str(tmp_path), "orders", None, T0 + 15_000) == [*told(), *told(seq=3, at_s=10)]


@pytest.mark.parametrize(
    ("group", "cluster", "until", "said"),
    [
        ("order", None, None, "the facts know no group order; did you mean orders"),
        ("ORDERS", None, None, "did you mean orders"),
        ("billing", None, None, "did you mean Billing?"),
        ("zzz", None, None, "it knows 3: Billing, orders, orders-eu"),
        ("orders", "dr", None, "group orders is not in cluster dr, but in prod"),
        ("orders-eu", None, None, "in several clusters: name one with --cluster: dr, prod"),
        (
            "orders",
            None,
            T0 - 1,
            "nothing was known of group orders by then: its first fact is of 2025-11-21 16:58:03 UTC",
        ),
    ],
)
def test_what_is_not_there_names_what_is(
    tables: Path, group: str, cluster: str | None, until: int | None, said: str
) -> None:
    with pytest.raises(SourceError, match=said.replace("?", r"\?")):
        read_group(str(tables), group, cluster, until)


@pytest.mark.slow("facts of a group are read")
def test_what_still_holds_outlives_its_facts(tmp_path: Path) -> None:
    """Facts are kept for a month; the tables made from them keep the newest row of each thing."""
    since = EPOCH + timedelta(milliseconds=T0)
    key = {"cluster": "prod", "consumer_group": "orders", "ts": since, "date": since.date()}
    queue = {
        "topic": "T", "broker_name": "a", "queue_id": 0, "finding": "ORPHANED", "severity": "critical",
        "cause": "MEMBER_GONE", "reason": None, "expected_owners": ["x"], "actual_owners": [], "since_time": since,
        "present": True, "seq": 4,
    }  # fmt: skip
    member = {
        "client_id": "x", "present": True, "since_time": since, "brokers": ["a", "b"], "instances": 2,
        "addresses": ["h:1"], "language": None, "version": None, "message_model": None, "strategy": None,
        "orderly": None, "subscriptions": ["T"], "start_time": None, "seq": 3,
    }  # fmt: skip
    alert = {
        "topic": "T", "kind": "ORPHANED", "fingerprint": "f", "state": "firing", "severity": "critical",
        "cause": "MEMBER_GONE", "reason": "held_long_enough", "active_time": since,
        "queues": [{"broker_name": "a", "queue_id": 0, "actual_owners": [], "expected_owners": ["x"], "waiting": 7}],
        "clients": [{"client_id": "x", "start_times": [since], "answered_time": since}],
        "changes": [{"change_time": since, "what": "left", "subject": "x"}],
        "fired_time": since, "resolved_time": None, "stale": None, "seq": 5,
    }  # fmt: skip
    status = {
        "status": "findings", "reason": "NO_REPORT_SINCE_CHANGE", "members": 2, "members_reporting": 1, "queues": 1,
        "reason_details": {"clients": {"client_ids": ["y"], "count": 1}}, "brokers_covered": 1,
        "finding_counts": [("ORPHANED", 1)], "brokers_known": 1, "seq": 6,
    }  # fmt: skip
    rows = [(QUEUE_ASSIGNMENTS, queue), (GROUP_MEMBERS, member), (ALERTS, alert), (GROUP_STATUS, status)]
    for table, row in rows:
        stand(tmp_path, table, key | row)
    commit(tmp_path / "facts", told("other"))
    picture = snapshot_of(read_group(str(tmp_path), "orders", None, None))
    assert (picture.status, picture.counts) == ("findings", {"ORPHANED": 1})
    assert picture.reason == "y has not reported since the last change"
    assert [(q.queue_id, q.finding, q.owners, q.expected) for q in picture.queues] == [(0, "ORPHANED", (), ("x",))]
    assert picture.views == (BrokerList("a", ("x", "x")), BrokerList("b", ("x", "x")))
    assert [(one.kind, one.state, one.queues) for one in picture.alerts] == [("ORPHANED", "firing", (("a", 0),))]
    (told_alert,) = (f.payload for f in read_expired(str(tmp_path), "orders", None, None) if f.payload.fact == "alert")
    assert told_alert.queues == (AlertQueue("a", 0, (), ("x",), 7),)
    assert told_alert.clients == (AlertClient("x", start_ts=(T0,), answered_ts=T0),)
    assert told_alert.changes == (AlertChange(T0, "left", "x"),)
    of_days = [table for table in KEPT_LONGER if "date" in table.partitioned_by]
    for since_ts, seqs in ((T0, [5, 6]), (T0 + DAY_S * 1000, [])):
        read = read_expired(str(tmp_path), "orders", None, None, since_ts, of_days)
        assert [fact.seq for fact in read] == seqs

    commit(tmp_path / "facts", told(seq=7, at_s=60, n=1))
    assert [fact.seq for fact in read_group(str(tmp_path), "orders", "prod", None)] == [3, 4, 5, 6, 7]
    assert snapshot_of(read_group(str(tmp_path), "orders", None, None)).queues[0].finding == "MATCH"
    with pytest.raises(SourceError, match="nothing was known of group orders by then"):
        read_group(str(tmp_path), "orders", None, T0 - 1)
    with pytest.raises(SourceError, match="did you mean orders"):
        read_group(str(tmp_path), "order", None, None)


def test_names_in_errors_do_not_act_on_a_terminal(tmp_path: Path) -> None:
    commit(tmp_path / "facts", told("ord\x1b[2Jers"))
    with pytest.raises(SourceError) as refused:
        read_group(str(tmp_path), "orders", None, None)
    assert str(refused.value).isprintable()


def test_a_missing_table_says_where_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="facts: no facts table can be read there: name the folder"):
        read_group(str(tmp_path / "no-such"), "orders", None, None)


def test_how_evenkeel_was_doing(tmp_path: Path) -> None:
    commit(tmp_path / "facts", [*told(), health(0, cluster="prod"), health(15, "late", 70, "prod"), health(30)])
    assert read_monitor(str(tmp_path), "prod", None) == MonitorStatus(T0 + 15_000, "late", T0 - 55_000)
    assert read_monitor(str(tmp_path), "prod", T0 + 14_999) == MonitorStatus(T0, "ok", T0 - 2000)
    assert read_monitor(str(tmp_path), "dr", None) is None
