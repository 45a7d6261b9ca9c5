"""What fits a screen, on a desk and on a phone; what keys and the search do; whose time it is. In a real Chromium."""

from functools import cache
from pathlib import Path

import pytest

from schemas.facts import AlertFact
from streaming.notifier.silence_files import SilenceFiles
from streaming.notifier.silences import Silence
from streaming.wall_clock import now_ms
from streaming.web.settings import WebSettings
from tests.explain.facts import facts_of_scenario
from tests.scenarios.scenario import FILES
from tests.web.axe import AXE, AXE_MISSING, violations
from tests.web.browser import MISSING, Look, browser
from tests.web.made_tables import make_tables
from tests.web.screenshots import links, served, when_it_answers

pytestmark = [pytest.mark.chromium, pytest.mark.skipif(bool(MISSING), reason=MISSING), pytest.mark.timeout(120)]

DESK, PHONE = Look(width=1280, height=800), Look(width=390, height=844)
BOX = "const box = (s) => document.querySelector(s).getBoundingClientRect();"


def test_a_group_is_understood_without_scrolling(chromedriver: str, site: str) -> None:
    with browser(chromedriver, DESK) as page:
        page.open(site + links(site)[0])
        assert page.run(
            BOX + "return box('.alert').right <= box('.map').left && box('.alert').top < box('.map').bottom"
        )
        assert page.run(BOX + "return box('.timeline').bottom") <= 800
        widths = page.run(
            "return [...document.querySelectorAll('.map .column')].map(one => one.getBoundingClientRect().width)"
        )
        assert widths
        assert 14 <= min(widths) <= max(widths) <= 28
        folded = page.run("return [...document.querySelectorAll('main details:not([open])')].map(one => one.id)")
        assert {"right-queues", "members"} <= set(folded)


@pytest.mark.parametrize("width", [360, 390, 414])
def test_a_phone_shows_the_map_the_timeline_with_its_labels_and_each_queues_owner(
    chromedriver: str, site: str, width: int
) -> None:
    with browser(chromedriver, PHONE._replace(width=width)) as page:
        page.open(site + links(site)[0])
        for part in (".map .cells", ".timeline .lanes", ".timeline .plot"):
            assert page.run(BOX + f"return box('{part}').left >= 0 && box('{part}').right <= {width}"), part
        assert page.run("const one = document.querySelector('.map'); return one.scrollWidth <= one.clientWidth")
        bars = page.run(
            "return [...document.querySelectorAll('.b-alert-critical')].map(one => one.getBoundingClientRect().right)"
        )
        assert bars
        assert max(bars) <= width
        said = page.text("#queues")
        assert "nobody" in said
        label = "return getComputedStyle(document.querySelector('#queues td:nth-child(4)'), '::before').content"
        assert page.run(label) == '"Owner"'


def test_the_overview_of_a_phone_shows_members_and_what_waits(chromedriver: str, site: str) -> None:
    with browser(chromedriver, PHONE) as page:
        page.open(site)
        shown = "return [...document.querySelectorAll('tbody tr:first-child td.n')].every(one => one.offsetHeight > 0)"
        assert page.run(shown)


@pytest.mark.parametrize("path", ["/", "group", "alert", "/plan", "/health"])
def test_what_is_touched_is_large_enough(chromedriver: str, site: str, path: str) -> None:
    small = """
        return [...document.querySelectorAll('a, button, input:not([type=hidden]), select, summary')]
            .filter(one => one.getClientRects().length && !one.closest('svg, .skip'))
            .filter(one => one.getBoundingClientRect().right > 0)
            .filter(one => (one.type === 'radio' ? one.labels[0] : one).getBoundingClientRect().height < 24)
            .map(one => one.outerHTML.slice(0, 150))
    """
    group, alert = links(site)
    with browser(chromedriver, PHONE) as page:
        page.open(site + {"group": group, "alert": alert}.get(path, path))
        assert page.run(small) == []


def test_the_search_reacts_while_it_is_typed_and_can_be_shared(chromedriver: str, site: str) -> None:
    with browser(chromedriver) as page:
        page.open(site)
        page.run("document.body.focus()")
        page.keys("/sto")
        page.wait_for("return document.querySelectorAll('tbody tr').length === 1")
        assert page.run("return location.search") == "?q=sto"
        assert page.run("return document.activeElement.id + document.activeElement.value") == "searchsto"
        assert page.run("return document.querySelector('a.share').getAttribute('href')") == "/?q=sto"


def test_headers_sort_and_arrows_go_through_the_groups(chromedriver: str, site: str) -> None:
    with browser(chromedriver) as page:
        page.open(site)
        page.click("thead th:nth-child(2) a")
        page.wait_for("return location.search === '?sort=name'")
        names = page.run("return [...document.querySelectorAll('tbody th a')].map(one => one.innerText)")
        assert names == sorted(names)
        assert page.run("return document.querySelector('[aria-sort]').innerText").startswith("Group")
        page.run("document.body.focus()")
        page.keys("\ue015\ue015\ue013\ue015")  # down, down, up, down
        assert page.run("return document.activeElement.innerText") == names[1]
        page.keys("\ue007")
        page.wait_for("return location.pathname === '/group'")


def test_dead_data_is_red_though_the_connection_lives(chromedriver: str, settings: WebSettings, tmp_path: Path) -> None:
    dead = make_tables(tmp_path / "dead", {"orders": ("same_client_id", 150.0)}, is_past=False)
    with served(settings._replace(tables=str(dead))) as address:
        when_it_answers(address)
        with browser(chromedriver) as page:
            page.open(address)
            page.wait_for("return document.querySelector('#live.is-blind') !== null")
            said = page.text("#live")
            assert "d old" in said
            assert "no live updates" not in said


def test_times_are_of_the_browsers_zone_and_of_utc_by_a_click(chromedriver: str, site: str) -> None:
    with browser(chromedriver) as page:
        page.in_zone("Asia/Shanghai")
        page.open(site)
        page.wait_for("return document.querySelector('.zone').innerText === 'times in UTC+08:00'")
        assert "UTC+08:00" in page.text(".asof")
        page.click("a.zone")
        page.wait_for("return document.querySelector('.zone').innerText === 'times in UTC'")
        assert "UTC+08:00" not in page.text()
        assert page.faults() == []


@pytest.mark.skipif(AXE is None, reason=AXE_MISSING)
@pytest.mark.parametrize("look", [DESK, DESK._replace(dark=True), PHONE], ids=["desk", "dark", "phone"])
def test_axe_finds_nothing(chromedriver: str, site: str, look: Look) -> None:
    group, alert = links(site)
    with browser(chromedriver, look) as page:
        for path in ("/", group, alert, "/health", "/plan", group.replace("/group", "/plan") + "&join=1"):
            page.open(site + path)
            assert violations(page) == [], path
        assert page.run("return document.querySelectorAll('table.figures tbody tr').length > 1")


@pytest.mark.skipif(AXE is None, reason=AXE_MISSING)
@pytest.mark.parametrize("look", [DESK, DESK._replace(dark=True), PHONE], ids=["desk", "dark", "phone"])
def test_axe_finds_nothing_in_silences(chromedriver: str, site: str, settings: WebSettings, look: Look) -> None:
    group, alert = links(site)
    files, now = SilenceFiles(settings.state), now_ms()
    with browser(chromedriver, look) as page:
        page.open(site + "/silences")
        assert violations(page) == [], "empty"
        files.add(
            Silence(id="on", group="ord*", from_ts=now, until_ts=now + 3_600_000, by="Ada", why="known since noon")
        )
        files.add(Silence(id="over", group="stock", from_ts=now - 2, until_ts=now - 1, by="Ada", why="deploy"))
        for path in ("/silences", "/", group, alert):
            page.open(site + path)
            assert "known since noon" in page.run("return document.body.outerHTML")
            assert violations(page) == [], path


@pytest.mark.deep_rows("a browser lays out many pages")
@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_the_card_of_no_cause_pushes_the_timeline_off_a_screen(
    chromedriver: str, settings: WebSettings, tmp_path: Path, language: str
) -> None:
    tables = make_tables(tmp_path / "all", {name: (name, until) for name, until in firing_scenarios().items()})
    with served(settings._replace(tables=str(tables))) as address:
        when_it_answers(address)
        with browser(chromedriver, DESK._replace(language=language)) as page:
            too_low = {}
            for name in firing_scenarios():
                page.open(f"{address}/group?cluster=prod&group={name}")
                assert page.run(BOX + "return box('.alert').right <= box('.map').left"), name
                bottom = page.run(BOX + "return box('.timeline').bottom")
                if bottom > 800:
                    too_low[name] = bottom
            assert not too_low


@cache
def firing_scenarios() -> dict[str, float]:
    """Those in which an alert fires, and how many seconds after their beginning most alerts are open."""
    found = {}
    for path in FILES:
        facts = facts_of_scenario(path.stem)
        times = [fact.ts for fact in facts if isinstance(fact.payload, AlertFact) and fact.payload.state == "firing"]
        if times:
            found[path.stem] = (times[-1] - facts[0].ts) / 1000
    return found
