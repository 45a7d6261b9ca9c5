"""Silences on the pages: marks on what is silenced, a page with all of them, and what one would silence."""

import re
from urllib.parse import quote

import pytest
from starlette.applications import Starlette

from streaming.notifier.silence_files import FOLDER, SilenceFiles
from streaming.notifier.silences import Silence
from streaming.wall_clock import now_ms
from streaming.web.app import web_app
from streaming.web.live.watch import Watch
from streaming.web.rendering import machine_time
from streaming.web.settings import WebSettings
from streaming.web.views.alerts import silence_rows, silenced
from tests.web.asking import ask
from tests.web.test_pages import ORDERS, form_of, text_of, the_alert

NOW = now_ms()
HOUR = 3_600_000


@pytest.fixture
def app(settings: WebSettings, watch: Watch) -> Starlette:
    return web_app(settings, watch)


def silence(name: str = "on", until: int = NOW + HOUR, **patterns: str) -> Silence:
    return Silence(id=name, from_ts=NOW - HOUR, until_ts=until, by="Ada", why="known since noon", **patterns)


def open_alerts(watch: Watch) -> list[str]:
    return [one.fact.fingerprint for one in watch.known.open_alerts(("prod", "orders"))]


def test_the_silence_that_lasts_longest_counts(watch: Watch) -> None:
    alert, other = the_alert(watch), the_alert(watch, "ORPHANED")
    short, long = silence("short", NOW + 1, kind="DUPLICATED"), silence("long", kind="DUPLICATED")
    over = silence("over", NOW, group="*")

    assert silenced([alert, other], [long, short, over], NOW) == {alert.fact.fingerprint: long}


def test_silences_that_are_on_come_first_with_what_they_silence(watch: Watch) -> None:
    alert = the_alert(watch)
    rows = silence_rows([silence("over", NOW), silence("on", group="orders")], [alert], NOW)

    assert [(row.silence.id, row.is_on, row.alerts) for row in rows] == [("on", True, (alert,)), ("over", False, ())]


@pytest.mark.slow("a page of a day")
@pytest.mark.parametrize(("language", "mark"), [("en", "silenced"), ("zh", "已静默")])
def test_what_is_silenced_has_a_mark(
    app: Starlette, settings: WebSettings, watch: Watch, language: str, mark: str
) -> None:
    SilenceFiles(settings.state).add(silence(group="orders", kind="ORPHANED"))

    for address in ("/", ORDERS):
        page = ask(app, address, headers={"Accept-Language": language}).text
        marks = re.findall(r'class="badge is-silenced" href="/silences" title="([^"]*)">([^<]*)<', page)
        assert [text for _, text in marks] == [mark]
        assert "Ada" in marks[0][0]
        assert "known since noon" in marks[0][0]


@pytest.mark.slow("a page of a day")
def test_a_group_of_the_past_has_the_marks_of_then(app: Starlette, settings: WebSettings, watch: Watch) -> None:
    SilenceFiles(settings.state).add(silence(group="orders"))
    newest = watch.known.newest_ts()
    assert newest < NOW - HOUR, "the alerts of this test fired before the silence began"

    assert "is-silenced" in ask(app, ORDERS).text
    then = ask(app, f"{ORDERS}&at={quote(machine_time(newest))}")
    assert "queues consumed twice" in text_of(then)
    assert "is-silenced" not in then.text


def test_the_page_lists_who_silences_what_until_when_and_why(
    app: Starlette, settings: WebSettings, watch: Watch
) -> None:
    files = SilenceFiles(settings.state)
    files.add(silence(group="ord*", cause="SAME_CLIENT_ID"))
    files.add(silence("over", NOW, group="stock"))

    said = text_of(ask(app, "/silences"))
    of_orders = r"on Group ord\* Cause SAME_CLIENT_ID orders \d+ queues? consumed \w+.* Ada known since noon"
    assert re.search(of_orders, said)

    assert said.count("End this silence") == 2, "a heading, and one button: the other one is over"
    assert "over Group stock" in said
    assert said.index("ord*") < said.index("stock")


def test_a_silence_is_ended_on_their_page(app: Starlette, settings: WebSettings, watch: Watch) -> None:
    SilenceFiles(settings.state).add(silence(group="orders"))
    token = re.search(r'name="token" value="([0-9a-f]+)"', ask(app, "/silences").text)
    assert token

    answer = ask(app, "/silence/end", form={"token": token[1], "silence": "on", "back": "silences"})
    assert (answer.status, answer.headers["location"]) == (303, "/silences")
    (ended,) = SilenceFiles(settings.state).all()
    assert not ended.is_on(now_ms())


def test_who_may_only_read_sees_them_and_cannot_end_them(settings: WebSettings, watch: Watch) -> None:
    app = web_app(settings._replace(access=settings.access._replace(may_silence=frozenset())), watch)
    SilenceFiles(settings.state).add(silence(group="orders"))

    page = ask(app, "/silences").text
    assert "known since noon" in page
    assert "<form" not in page


def test_that_none_counts_is_said(app: Starlette, settings: WebSettings) -> None:
    settings.state.mkdir(parents=True)
    (settings.state / FOLDER).write_text("no folder")

    assert "None of the silences counts" in text_of(ask(app, "/silences"))


@pytest.mark.slow("a page of a day")
def test_before_it_is_set_a_silence_says_what_it_silences(app: Starlette, watch: Watch) -> None:
    said = text_of(ask(app, f"/alert?id={the_alert(watch).fact.fingerprint}"))

    of_alert, of_cause, of_group = re.findall(r"Now this silences: (.*?)(?= (?:all findings|everything|For))", said)
    assert "consumed twice" in of_alert
    assert "consumed by nobody" not in of_alert
    assert "consumed twice" in of_cause
    assert "consumed by nobody" in of_cause
    assert of_group.count(" · ") >= of_cause.count(" · ")


@pytest.mark.slow("a page of a day")
def test_the_form_begins_with_the_cause(app: Starlette, watch: Watch) -> None:
    """One fault has several alerts, and a silence is for the fault."""
    page = ask(app, f"/alert?id={the_alert(watch).fact.fingerprint}").text

    assert re.findall(r'value="(\w+)" checked', page.replace("\n", " ")) == ["cause"]


@pytest.mark.slow("a page of a day")
def test_a_silence_for_a_cause_silences_its_twin(app: Starlette, settings: WebSettings, watch: Watch) -> None:
    assert ask(app, "/silence", form=form_of(app, watch, scope="cause")).status == 303

    (made,) = SilenceFiles(settings.state).all()
    assert (made.kind, made.cause, made.group) == ("*", "SAME_CLIENT_ID", "orders")
    assert made.matches(the_alert(watch, "ORPHANED"))
