"""Five tasks of somebody who sees the pages for the first time, by what is seen: on a desk, on a phone, in Chinese.

Each begins on the overview. It takes a few taps, and no more scrolling than by one screen.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from streaming.web.settings import WebSettings
from tests.web.browser import MISSING, Browser, Look, browser
from tests.web.screenshots import served, when_it_answers

pytestmark = [pytest.mark.chromium, pytest.mark.skipif(bool(MISSING), reason=MISSING), pytest.mark.timeout(120)]

# The smallest elements that show a text, on the screen or by one screen of scrolling.
_SHOWING = """
    const [wanted, among] = arguments;
    const plain = (text) => text.replace(/\\s+/g, ' ').trim();
    const found = [...document.querySelectorAll(among)].filter(one =>
        one.checkVisibility() && plain(one.innerText || one.value || '').includes(wanted));
    const smallest = found.filter(one => !found.some(other => other !== one && one.contains(other)));
    return smallest.filter(one => one.getBoundingClientRect().bottom <= 2 * window.innerHeight)
"""


class Said(NamedTuple):
    """What a reader of a language looks for."""

    silence: str
    silences: str
    twice: str
    same_id: str
    since: str
    stop_all_but_one: str
    silenced: str
    by: str
    lag: str
    show: str
    then: str
    nobody: str
    not_taken_over: str


ENGLISH = Said(
    "Silence", "Silences", "3 queues consumed twice", "same client id", "since 15:17:40", "stop all but one",
    "Silenced until", "somebody on this machine", "lag: 2,220 messages", "Show",
    "This is what was known at 2026-11-21 14:05:00 UTC",
    "3 queues consumed by nobody", "queues not taken over",
)  # fmt: skip
CHINESE = Said(
    "静默", "静默", "3 个队列重复消费", "客户端 ID 相同", "自 15:17:40 UTC 起", "停掉其余实例",
    "已静默至", "本机用户", "堆积 2,220 条消息", "查看", "这是 2026-11-21 14:05:00 UTC",
    "3 个队列无人消费", "队列没有被接管",
)  # fmt: skip
DESK, PHONE = Look(width=1280, height=800), Look(width=390, height=844)


class Newcomer:
    """Taps, types and reads what is seen. ``taps`` counts."""

    def __init__(self, page: Browser, said: Said) -> None:
        self.page = page
        self.said = said
        self.taps = 0

    def tap(self, text: str, among: str = "a, button, summary, label") -> None:
        """Tap the first element that shows the text, and wait for the page that it leads to."""
        elements = self.page.run(_SHOWING, text, among)
        assert elements, f"nothing to tap says {text!r} within two screens:\n{self.page.text()[:3000]}"
        self.page.run("document.documentElement.dataset.left = 'yes'")
        self.page.click_element(elements[0])
        self.taps += 1
        self.page.wait_for("return document.readyState === 'complete' && !document.documentElement.dataset.left")

    def reads(self, *texts: str) -> None:
        for text in texts:
            assert self.page.run(_SHOWING, text, "main *"), f"{text!r} is not within two screens:\n{self.page.text()}"


@pytest.fixture(
    params=[(DESK, ENGLISH), (PHONE, ENGLISH), (PHONE._replace(language="zh-CN"), CHINESE)],
    ids=["desk", "phone", "phone in Chinese"],
)
def newcomer(
    request: pytest.FixtureRequest, chromedriver: str, settings: WebSettings, day: object
) -> Iterator[Newcomer]:
    look, said = request.param
    with served(settings._replace(tables=str(day))) as address:
        when_it_answers(address)
        with browser(chromedriver, look) as page:
            page.open(address)
            yield Newcomer(page, said)


def silence_orders(newcomer: Newcomer) -> None:
    newcomer.tap("orders")
    newcomer.tap(newcomer.said.silence, "main a")
    newcomer.page.type("input[name=why]", "known, we restart it")
    newcomer.tap(newcomer.said.silence, "main button")


def test_which_queue_since_when_why_and_what_to_do(newcomer: Newcomer) -> None:
    said = newcomer.said
    newcomer.tap("orders")

    newcomer.reads(said.twice, "a: 0-2", said.since, said.same_id, said.stop_all_but_one)
    assert newcomer.taps == 1


def test_to_silence_it(newcomer: Newcomer) -> None:
    silence_orders(newcomer)

    newcomer.reads(newcomer.said.silenced)
    assert newcomer.taps == 3


def test_who_silenced_it(newcomer: Newcomer) -> None:
    silence_orders(newcomer)
    newcomer.tap("evenkeel", "header a")
    newcomer.taps = 0

    newcomer.tap("orders")
    newcomer.reads(newcomer.said.silenced, newcomer.said.by, "known, we restart it")
    newcomer.tap(newcomer.said.silences, "nav a")
    newcomer.reads(newcomer.said.by, "known, we restart it", "orders")
    assert newcomer.taps == 2


def test_the_lag_of_a_group(newcomer: Newcomer) -> None:
    newcomer.reads("2,220")
    newcomer.tap("orders")

    newcomer.reads(newcomer.said.lag)
    assert newcomer.taps == 1


def test_the_same_yesterday_at_five_past_two(newcomer: Newcomer) -> None:
    said = newcomer.said
    newcomer.page.type("#search", "stock")
    newcomer.page.wait_for("return document.querySelectorAll('tbody tr').length === 1")
    newcomer.tap("stock")
    newcomer.page.run("document.querySelector('#at').value = '2026-11-21T14:05'")  # each phone has its own picker
    newcomer.tap(said.show, "main button")

    newcomer.reads(said.then, said.nobody, "a: 3", said.not_taken_over)
    assert newcomer.taps == 2
