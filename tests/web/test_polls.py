"""The polls of clients that own no queue: who may take messages where, and how many clients wait there."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from streaming.config.sections import Web
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
from tests.core.fleet import Fleet
from tests.core.test_polled import JAVA, A, B, Popping, settled
from tests.core.test_polled_by_remoting_clients import at_any, popping
from tests.tables.written import commit
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


def test_the_map_has_a_row_for_queues_whose_clients_poll() -> None:
    drawn = view(half_polled()).map
    assert [row.kind for row in drawn.rows] == ["anybody", "client", "client"]
    assert {(cell.queue.broker_name, cell.mark) for cell in drawn.cells} == {("a", "unpolled"), ("b", "polled")}
    assert {cell.y for cell in drawn.cells} == {drawn.rows[0].y}


def test_members_are_shown_with_the_proxies_that_list_them() -> None:
    fleet = Popping()
    fleet.proxies = {A: JAVA, B: JAVA[:1]}
    fleet.run(120)
    rows = {row.member.client_id: row for row in view(fleet).members}
    assert {name: row.listed_by for name, row in rows.items()} == {JAVA[0]: f"{A}, {B}", JAVA[1]: A}
    assert {row.queues for row in rows.values()} == {None}, "no client owns a queue"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_has_each_number_with_the_time_of_its_reading(tmp_path: Path, language: str) -> None:
    facts = [replace(fact, cluster=CLUSTER) for fact in half_polled().facts]
    commit(tmp_path / "facts", sorted([*facts, *health_of(facts)], key=lambda fact: fact.ts))
    run_projections(str(tmp_path))
    mark_replayed(tmp_path, "a test")
    watch = Watch(str(tmp_path))
    watch.read()
    rules = AccessRules(Users({}, {}), needs_user=False, may_silence=frozenset("*"))
    web = Web(listen="127.0.0.1:8400")
    app = web_app(WebSettings(str(tmp_path), tmp_path / "n", web, rules, Site(), series_limit=20_000), watch)
    words = words_in(language)
    page = ask(app, f"/group?cluster={CLUSTER}&group=g", {"Accept-Language": language}).text
    (table,) = re.findall(rf'aria-label="{re.escape(words("polls"))}">(.*?)</table>', page, re.DOTALL)
    rows = [re.sub(r"<[^>]*>", " ", row).split() for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]]
    assert [row[:4] for row in rows] == [["UNPOLLED", "T", "a", "4"], ["POLLED", "T", "b", "4"]]
    for row in rows:
        assert sum(re.fullmatch(r"\d\d:\d\d:\d\d", word) is not None for word in row) == 2
    assert words("each_member", n=2) in re.sub(r"<[^>]*>", "", table)
    assert words("by_pop") in page
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
