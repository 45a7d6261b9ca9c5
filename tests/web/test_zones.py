"""Times in the reader's zone: the configured one, the browser's, or UTC by a switch."""

import re
from zoneinfo import ZoneInfo

import pytest
from starlette.applications import Starlette

from streaming.notices.notice import Site
from streaming.web.app import web_app
from streaming.web.context import reader_zone
from streaming.web.live.watch import Watch
from streaming.web.settings import WebSettings
from streaming.wording.times import clock, moment
from tests.web.asking import ask

ORDERS = "/group?cluster=prod&group=orders"
SHANGHAI, KOLKATA = ZoneInfo("Asia/Shanghai"), ZoneInfo("Asia/Kolkata")


@pytest.fixture
def app(settings: WebSettings, watch: Watch) -> Starlette:
    return web_app(settings._replace(site=Site(zone=SHANGHAI)), watch)


@pytest.mark.parametrize(
    ("chosen", "of_browser", "zone"),
    [
        ("", "", "Asia/Shanghai"), ("", "Asia/Kolkata", "Asia/Kolkata"), ("local", "Asia/Kolkata", "Asia/Kolkata"),
        ("utc", "Asia/Kolkata", "UTC"), ("", "No/Where", "Asia/Shanghai"), ("", "../../etc/passwd", "Asia/Shanghai"),
        ("", "Asia", "Asia/Shanghai"), ("", "x" * 5000, "Asia/Shanghai"), ("x", "", "Asia/Shanghai"),
    ],
)  # fmt: skip
def test_whose_zone_it_is(chosen: str, of_browser: str, zone: str) -> None:
    assert str(reader_zone(chosen, of_browser, SHANGHAI)) == zone


@pytest.mark.deep_rows("a page of a day")
@pytest.mark.parametrize("path", ["/", ORDERS, "/alert"])
@pytest.mark.parametrize(
    ("cookie", "zone", "name"),
    [
        ("", SHANGHAI, "UTC+08:00"),
        ("browser_zone=Asia/Kolkata", KOLKATA, "UTC+05:30"),
        ("zone=utc", ZoneInfo("UTC"), "UTC"),
    ],
)
def test_every_time_of_a_page_is_of_one_zone(
    app: Starlette, watch: Watch, path: str, cookie: str, zone: ZoneInfo, name: str
) -> None:
    alert = next(one for one in watch.known.open_alerts(("prod", "orders")) if one.fact.waiting)
    page = ask(app, path if path != "/alert" else f"/alert?id={alert.fact.fingerprint}", {"cookie": cookie}).text
    page = re.sub(r'(?:datetime|href)="[^"]*"', "", page)
    now = watch.now_ms()
    assert moment(now, zone) in page
    assert alert.fact.read_ts is not None
    assert clock(alert.fact.read_ts, now, zone) in page
    for other in {SHANGHAI, KOLKATA, ZoneInfo("UTC")} - {zone}:
        assert clock(alert.fact.read_ts, now, other) not in page
    assert f">times in {name}</a>" in page, "the switch names the zone"


def test_the_switch_leads_to_utc_and_back(app: Starlette) -> None:
    answer = ask(app, "/zone?to=utc&back=/?q=a")
    assert (answer.status, answer.headers["location"]) == (303, "/?q=a")
    assert answer.headers["set-cookie"].startswith("zone=utc;")
    assert ask(app, "/zone?to=local&back=//evil.example").headers["location"] == "/"


@pytest.mark.slow("a page of a day")
def test_a_time_that_was_typed_is_of_the_readers_zone_and_its_link_is_of_none(app: Starlette, watch: Watch) -> None:
    typed = clock(watch.now_ms() - 60_000, watch.now_ms(), SHANGHAI)
    day = moment(watch.now_ms() - 60_000, SHANGHAI)[:10]
    answer = ask(app, f"{ORDERS}&at={day}T{typed[-8:]}&local=1")
    assert answer.status == 303
    then = moment(watch.now_ms() - 60_000)[:19].replace(" ", "T").replace(":", "%3A")
    assert answer.headers["location"] == f"{ORDERS}&at={then}%2B00%3A00"
    assert "This is what was known at" in ask(app, answer.headers["location"]).text
