"""The pages in a real Chromium, over tables that a job's own code has made."""

from collections.abc import Iterator
from threading import Event, Thread

import pytest
import requests

from streaming.web.live.watch import Watch
from streaming.web.server import _listen, _serve
from streaming.web.settings import Listen, WebSettings
from tests.web.browser import MISSING, Browser, Look, browser, driver

pytestmark = [pytest.mark.chromium, pytest.mark.skipif(bool(MISSING), reason=MISSING), pytest.mark.timeout(120)]

PHONE = Look(width=390, height=844)


@pytest.fixture(scope="module")
def chromedriver() -> Iterator[str]:
    with driver() as address:
        yield address


@pytest.fixture
def site(settings: WebSettings) -> Iterator[str]:
    """The address of a real server."""
    stop, watch = Event(), Watch(settings.tables)
    watch.read()
    port = _free_port(settings)
    served = Thread(target=_serve, args=(settings._replace(listen=Listen("127.0.0.1", port)), watch, stop))
    served.start()
    address = f"http://127.0.0.1:{port}"
    _wait_for(address)
    yield address
    stop.set()
    served.join(20)
    assert not served.is_alive()


def _free_port(settings: WebSettings) -> int:
    with _listen(settings._replace(listen=Listen("127.0.0.1", 0))) as free:
        return int(free.getsockname()[1])


def _wait_for(address: str) -> None:
    for _ in range(100):
        try:
            requests.get(address, timeout=5)
            return
        except requests.ConnectionError:
            Event().wait(0.1)
    raise AssertionError(f"{address} does not answer")


def is_too_wide(page: Browser) -> bool:
    return bool(page.run("return document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def test_the_overview_leads_to_the_worst_group(chromedriver: str, site: str) -> None:
    with browser(chromedriver) as page:
        page.open(site)
        assert "consumed twice" in page.text("tbody tr:first-child")
        page.wait_for("return !document.getElementById('live').hidden")
        page.type("input[type=search]", "invoices\n")
        page.wait_for("return document.querySelectorAll('tbody tr').length === 1")
        assert "invoices" in page.text("tbody tr")
        assert page.faults() == []


@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
def test_a_phone_shows_all_without_scrolling_sideways(chromedriver: str, site: str, language: str) -> None:
    with browser(chromedriver, PHONE._replace(language=language, dark=True)) as page:
        page.open(site)
        assert not is_too_wide(page)
        assert page.run("return document.documentElement.lang") == language[:2]


def test_it_works_without_javascript(chromedriver: str, site: str) -> None:
    with browser(chromedriver, Look(javascript=False)) as page:
        page.open(site)
        page.click(".tile.is-healthy")
        assert "invoices" in page.text("tbody")
        assert "orders" not in page.text("tbody")


def test_a_group_shows_its_map_and_a_moment_before(chromedriver: str, site: str) -> None:
    with browser(chromedriver) as page:
        page.open(site)
        page.click("tbody tr:first-child th a")
        page.wait_for("return document.querySelectorAll('.map use').length > 0")
        titles = page.run("return [...document.querySelectorAll('.map use title')].map(one => one.textContent)")
        assert any("DUPLICATED" in title for title in titles)
        widths = page.run(
            "return [...document.querySelectorAll('.map use')].map(one => one.getBoundingClientRect().width)"
        )
        assert min(widths) > 5
        page.click(".timeline a")
        page.wait_for("return location.search.includes('at=')")
        assert "This is what was known at" in page.text()
        assert page.faults() == []


def test_an_alert_is_silenced_by_keyboard(chromedriver: str, site: str) -> None:
    with browser(chromedriver) as page:
        page.open(site)
        page.click("tbody tr:first-child td a")
        page.wait_for("return document.querySelector('form.silence') !== null")
        page.run("document.querySelector('form.silence input[name=why]').focus()")
        page.keys("we know\ue007")  # Enter
        page.wait_for("return document.body.innerText.includes('Silenced until')")
        assert "we know" in page.text()
        page.click("form.notice button")
        page.wait_for("return !document.body.innerText.includes('Silenced until')")
        assert page.faults() == []


@pytest.mark.parametrize("name", ["th", "td"])
def test_a_phone_shows_a_group_and_an_alert(chromedriver: str, site: str, name: str) -> None:
    with browser(chromedriver, PHONE) as page:
        page.open(site)
        page.click(f"tbody tr:first-child {name} a")
        page.wait_for("return location.pathname !== '/'")
        assert not is_too_wide(page)


def test_every_field_and_picture_has_a_name_for_a_screen_reader(chromedriver: str, site: str) -> None:
    nameless = """
        const wanted = 'main input:not([type=hidden]), main select, main svg[role], main a, button';
        return [...document.querySelectorAll(wanted)]
            .filter(one => !(one.getAttribute('aria-label') || one.innerText || one.textContent || one.labels?.length))
            .map(one => one.outerHTML.slice(0, 200))
    """
    with browser(chromedriver) as page:
        page.open(site)
        assert page.run(nameless) == []
        page.click("tbody tr:first-child th a")
        page.wait_for("return location.pathname === '/group'")
        assert page.run(nameless) == []
        assert page.run("return [...document.querySelectorAll('h1')].length") == 1
