"""One group's facts out of a table that holds more."""

from pathlib import Path

import pytest

from schemas.facts import Fact
from streaming.errors import SourceError
from streaming.explain.log import read_group, read_monitor
from streaming.explain.picture import Monitor
from tests.explain.telling import T0, Teller, health
from tests.tables.written import commit

DAY_S = 86_400


def told(group: str = "orders", cluster: str = "prod", seq: int = 0, at_s: float = 0, n: int = 3) -> list[Fact]:
    g = Teller(group, cluster, seq)
    for queue_id in range(n):
        g.queue(at_s + queue_id, queue_id, "MATCH")
    return g.facts


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    commit(tmp_path / "facts", [*told(), *told("orders-eu"), *told("Billing"), *told("orders-eu", "dr")])
    commit(tmp_path / "facts", told(seq=3, at_s=DAY_S))
    return tmp_path


def test_a_group_until_a_time_in_its_order(tables: Path) -> None:
    assert read_group(str(tables), "orders", None, None) == [*told(), *told(seq=3, at_s=DAY_S)]
    assert read_group(str(tables), "orders", "prod", T0 + 1000) == told(n=2)
    assert read_group(str(tables), "orders-eu", "dr", None) == told("orders-eu", "dr")


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
    assert read_monitor(str(tmp_path), "prod", None) == Monitor(T0 + 15_000, "late", T0 - 55_000)
    assert read_monitor(str(tmp_path), "prod", T0 + 14_999) == Monitor(T0, "ok", T0 - 2000)
    assert read_monitor(str(tmp_path), "dr", None) is None
