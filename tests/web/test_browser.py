"""The pages in a real Chromium, over tables that a job's own code has made."""

import pytest

from tests.web.browser import MISSING, Browser, Look, browser

pytestmark = [pytest.mark.chromium, pytest.mark.skipif(bool(MISSING), reason=MISSING), pytest.mark.timeout(120)]

PHONE = Look(width=390, height=844)


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
        page.open(site + page.run("return document.querySelector('.timeline a').getAttribute('href')"))
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


def test_a_command_is_copied_with_one_click(chromedriver: str, site: str) -> None:
    with browser(chromedriver) as page:
        page.open(site)
        page.click("tbody tr:first-child td a")
        page.wait_for("return document.querySelector('button.copy') !== null")
        clipboard = "{writeText: async (text) => { window.taken = text; }}"
        page.run(f"Object.defineProperty(navigator, 'clipboard', {{value: {clipboard}}})")
        page.click("button.copy")
        page.wait_for("return document.querySelector('button.copy').textContent === 'Copied'")
        assert page.run("return window.taken") == page.text("code.command")
        assert page.faults() == []
    with browser(chromedriver, Look(javascript=False)) as page:
        page.open(site)
        page.click("tbody tr:first-child td a")
        assert "--cluster" in page.text("code.command") or "mqadmin" in page.text("code.command")
        assert "Copy" not in page.text()


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
