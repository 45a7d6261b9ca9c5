"""The polls of clients that own no queue: who may take messages where, and how many clients wait there."""

import re
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from schemas.facts import Fact, GroupFact
from streaming.config.sections import Web
from streaming.explain.group_text import lines_of
from streaming.explain.snapshot_from_facts import snapshot_of
from streaming.notices.notice import Site
from streaming.projections.projector import run_projections
from streaming.tables.storage import mark_replayed
from streaming.web.app import web_app
from streaming.web.live.watch import Watch
from streaming.web.security.access import AccessRules
from streaming.web.security.users import Users
from streaming.web.settings import WebSettings
from streaming.web.views.group import GroupView
from streaming.web.words import words_in
from testing.written import commit
from tests.core.fleet import T0, Fleet
from tests.core.test_polled import JAVA, A, B, Popping, settled
from tests.core.test_polled_by_remoting_clients import at_any, popping
from tests.web.asking import ask
from tests.web.made_tables import CLUSTER, health_of
from tests.web.test_queue_lag import shown


def view(fleet: Fleet) -> GroupView:
    return shown(fleet.facts)


def half_polled() -> Popping:
    fleet = settled()
    fleet.silence_idle_clients("a")
    fleet.run(120)
    return fleet


def test_where_nobody_polls_comes_first_with_its_finding() -> None:
    rows = view(half_polled()).polls
    assert [(row.polls.broker_name, row.finding, row.level, row.polls.waiting) for row in rows] == [
        ("a", "UNPOLLED", "critical", 0),
        ("b", "POLLED", "right", 2),
    ]
    assert {row.takers for row in rows} == {None}, "each member"


def closed_at_one() -> Popping:
    fleet = settled()
    fleet.silence("a")
    fleet.closed = {"a"}
    fleet.run(120)
    return fleet


@pytest.mark.slow("a page of a day")
def test_no_number_is_said_of_a_broker_that_was_not_asked(tmp_path: Path) -> None:
    """It lets nobody of the group consume."""
    fleet = closed_at_one()
    page = page_of(fleet.facts, tmp_path)
    assert page.count("may not consume") == 1
    assert [row.polls.closed for row in view(fleet).polls] == [True, None]
    text = "\n".join(line.text for line in lines_of(snapshot_of(fleet.facts), 120, UTC))
    assert text.count("may not consume") == 1


def test_the_map_has_a_row_for_queues_whose_clients_poll() -> None:
    drawn = view(half_polled()).map
    assert [row.kind for row in drawn.rows] == ["anybody", "client", "client"]
    assert {(cell.queue.broker_name, cell.mark) for cell in drawn.cells} == {("a", "unpolled"), ("b", "polled")}
    assert {cell.y for cell in drawn.cells} == {drawn.rows[0].y}


def test_what_cannot_be_known_of_them_is_not_said_to_be_missing() -> None:
    """They have no owner, and do not report. Of remoting clients both would be a fault."""
    found = view(half_polled())
    assert {row.by_pop for row in found.queues} == {True}
    assert found.group.owns_none


def test_members_are_shown_with_the_proxies_that_list_them() -> None:
    fleet = Popping()
    fleet.proxies = {A: JAVA, B: JAVA[:1]}
    fleet.run(120)
    rows = {row.member.client_id: row for row in view(fleet).members}
    assert {name: row.listed_by for name, row in rows.items()} == {JAVA[0]: f"{A}, {B}", JAVA[1]: A}
    assert {row.queues for row in rows.values()} == {None}, "no client owns a queue"


def page_of(told: list[Fact], folder: Path, language: str = "en") -> str:
    facts = [replace(fact, cluster=CLUSTER) for fact in told]
    commit(folder / "facts", sorted([*facts, *health_of(facts)], key=lambda fact: fact.ts))
    run_projections(str(folder))
    mark_replayed(folder, "a test")
    watch = Watch(str(folder))
    watch.read()
    rules = AccessRules(Users({}, {}), needs_user=False, may_silence=frozenset("*"))
    web = Web(listen="127.0.0.1:8400")
    app = web_app(WebSettings(str(folder), folder / "n", web, rules, Site(), series_limit=20_000), watch)
    return ask(app, f"/group?cluster={CLUSTER}&group=g", {"Accept-Language": language}).text


@pytest.mark.slow("a page of a day")
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"fifo": False}, "taken and not acknowledged: not known"),
        ({"fifo": False, "in_flight": 12, "in_flight_ts": T0}, "acknowledged: 12 messages, read at 22:13:20"),
        ({"fifo": True}, "FIFO: those taken and not acknowledged are among them"),
        ({"fifo": None}, ""),
    ],
)
def test_what_is_in_flight_is_said_or_that_it_is_not_known(tmp_path: Path, known: dict[str, Any], said: str) -> None:
    facts = half_polled().facts
    last = max(number for number, fact in enumerate(facts) if isinstance(fact.payload, GroupFact))
    facts[last] = replace(facts[last], payload=replace(facts[last].payload, oldest_ts=T0 - 5_000, **known))
    page = page_of(facts, tmp_path)
    assert said in page
    assert ("acknowledged" in page) is (known["fifo"] is not None)
    if known["fifo"] is not None:
        assert "the oldest was stored after 22:13:15" in page
    text = "\n".join(line.text for line in lines_of(snapshot_of(facts), 120, UTC))
    assert ("12 messages, read 22:13:20" in text) is (known.get("in_flight") == 12)
    assert ("acknowledged: not known" in text) is (known["fifo"] is not True and known.get("in_flight") is None)


@pytest.mark.slow("a page of a day")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_has_each_number_with_the_time_of_its_reading(tmp_path: Path, language: str) -> None:
    words, page = words_in(language), page_of(half_polled().facts, tmp_path, language)
    (table,) = re.findall(rf'aria-label="{re.escape(words("polls"))}">(.*?)</table>', page, re.DOTALL)
    rows = [re.sub(r"<[^>]*>", " ", row).split() for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]]
    assert [row[:4] for row in rows] == [["UNPOLLED", "T", "a", "4"], ["POLLED", "T", "b", "4"]]
    for row in rows:
        assert sum(re.fullmatch(r"\d\d:\d\d:\d\d", word) is not None for word in row) == 2
    assert words("each_member", n=2) in re.sub(r"<[^>]*>", "", table)
    assert words("by_pop") in page
    assert 'class="short"' not in page, "that no member reports is no fault"
    assert all(proxy in page for proxy in (A, B))


def test_remoting_clients_that_pop_are_named_where_they_pop() -> None:
    for fleet, takers in ((at_any(), {("x", "y", "z")}), (popping((0, 1), (2,), ()), {("x", "y")})):
        fleet.run(120)
        assert {row.takers for row in view(fleet).polls} == takers
        assert {row.queues for row in view(fleet).members} == {None}


def test_a_group_of_remoting_clients_has_no_polls() -> None:
    fleet = Popping()
    fleet.proxies, fleet.polls = {}, {}
    fleet.join("x", "y")
    fleet.run(120)
    found = view(fleet)
    assert found.polls == ()
    assert {(row.listed_by, row.queues) for row in found.members} == {("", 4)}
