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
