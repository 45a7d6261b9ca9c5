"""A group and an alert: what their pages say, at which time, and in which language."""

import re
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from starlette.applications import Starlette

from schemas.facts import Severity
from streaming.notices.notice import Notice, OpenAlert
from streaming.notifier.from_config import link_template
from streaming.notifier.silence_files import SilenceFiles
from streaming.notifier.silences import Silence
from streaming.web.app import web_app
from streaming.web.live.watch import Watch
from streaming.web.pages import plan_page
from streaming.web.pages.silences import silence_of
from streaming.web.rendering import machine_time
from streaming.web.request_values import LARGEST_FORM
from streaming.web.security.users import new_token, read_users
from streaming.web.settings import WebSettings
from tests.explain.facts import facts_of_scenario
from tests.web.asking import Answer, ask

ORDERS = "/group?cluster=prod&group=orders"
OURS = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate"}


@pytest.fixture
def app(settings: WebSettings, watch: Watch) -> Starlette:
    return web_app(settings, watch)


def the_alert(watch: Watch, kind: str = "DUPLICATED") -> OpenAlert:
    return next(one for one in watch.known.alerts.values() if (one.group, one.fact.kind) == ("orders", kind))


def text_of(answer: Answer) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.text))


@pytest.mark.slow("a page of a day")
def test_a_group_says_which_queue_since_when_why_and_what_to_do(app: Starlette) -> None:
    said = text_of(ask(app, ORDERS))
    assert "queues consumed twice" in said
    assert re.search(r"since \d\d:\d\d:\d\d UTC", said)
    assert "several instances use one client id" in said
    assert "give each instance its own instanceName" in said
    assert "mqadmin consumerConnection" in said
    assert "x (2 instances)" in said or "(2 instances)" in said


@pytest.mark.slow("a page of a day")
def test_what_is_found_of_a_group_is_said_in_words(app: Starlette) -> None:
    assert "3 queues consumed twice · 3 queues consumed by nobody" in text_of(ask(app, ORDERS))


@pytest.mark.slow("a page of a day")
@pytest.mark.parametrize(("language", "said"), [("en", r"at \d\d:\d\d:\d\d"), ("zh", r"\d\d:\d\d:\d\d 时")])
def test_every_number_of_messages_and_all_evidence_has_the_time_at_which_it_was_read(
    app: Starlette, watch: Watch, language: str, said: str
) -> None:
    alert = the_alert(watch, "ORPHANED")
    assert alert.fact.waiting
    number = f"{alert.fact.waiting:,}"
    overview = text_of(ask(app, "/", headers={"Accept-Language": language}))
    assert re.search(rf"{number} {said}", overview)
    group = text_of(ask(app, ORDERS, headers={"Accept-Language": language}))
    evidence = {"en": r"is used by 2 instances", "zh": "被 2 个实例使用"}[language]
    assert re.search(rf"{evidence}[^·]*? {said}", group)
    waiting = re.findall(said, group)
    assert len(waiting) >= 3, "of the alert, its evidence and its queues"


@pytest.mark.slow("a page of a day")
def test_one_cause_is_explained_once(app: Starlette, watch: Watch) -> None:
    kinds = {one.fact.kind for one in watch.known.open_alerts(("prod", "orders"))}
    assert len(kinds) > 1
    assert ask(app, ORDERS).text.count("several instances use one client id") == 1


@pytest.mark.slow("a page of a day")
def test_a_group_as_it_was(app: Starlette) -> None:
    begin = facts_of_scenario("same_client_id")[0].ts
    then = text_of(ask(app, f"{ORDERS}&at={_iso(begin + 40_000)}"))
    assert "This is what was known at" in then
    assert "queues consumed twice" not in then
    assert "Back to now" in then
    assert "later →" in then


@pytest.mark.slow("a page of a day")
def test_a_timeline_that_ends_now_has_nothing_later(app: Starlette) -> None:
    now = text_of(ask(app, ORDERS))
    assert "← earlier" in now
    assert "later →" not in now


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/group?cluster=prod&group=nothing", 404, "no group nothing"),
        ("/group?cluster=other&group=orders", 404, "no group orders"),
        ("/group", 400, "group: a text of 1 to 255 characters"),
        (f"{ORDERS}&at=yesterday", 400, "yesterday: not a time"),
        (f"{ORDERS}&at=2001-01-01", 404, "nothing was known of group orders by then"),
        (f"{ORDERS}&minutes=99999999&map=x", 200, "orders"),
        ("/alert?id=nothing", 404, "No such alert is known"),
        ("/alert", 400, "id: a text"),
        ("/group?cluster=prod&group=a'%20OR%20'1'='1", 404, "no group"),
    ],
)
def test_what_is_asked_for_wrongly_is_said(app: Starlette, address: str, status: int, said: str) -> None:
    answer = ask(app, address)
    assert (answer.status, said in answer.text.replace("&#39;", "'")) == (status, True)


def test_an_alert_says_all_that_a_page_does(app: Starlette, watch: Watch) -> None:
    answer = ask(app, f"/alert?id={the_alert(watch).fact.fingerprint}")
    said = text_of(answer)
    for part in ("queues consumed twice", "Evidence", "What to do", "What changed before", "Notifications", "Silence"):
        assert part in said
    chinese = text_of(ask(app, f"/alert?id={the_alert(watch).fact.fingerprint}", {"accept-language": "zh"}))
    for part in ("重复消费", "证据", "处理办法", "此前的变化", "通知记录", "静默"):
        assert part in chinese


def test_an_alert_names_the_others_of_its_group(app: Starlette, watch: Watch) -> None:
    """What helps against one may do harm to another."""
    alert = the_alert(watch)
    page = ask(app, f"/alert?id={alert.fact.fingerprint}").text
    others = page.split("Other alerts of this group")[1].split("</ul>")[0]
    named = set(re.findall(r"/alert\?id=([^\"&]+)", others))
    assert named == {one.fact.fingerprint for one in watch.known.open_alerts(("prod", "orders"))} - {
        alert.fact.fingerprint
    }
    assert named


@pytest.mark.slow("a page of a day")
def test_the_link_of_a_page_leads_here(app: Starlette, watch: Watch) -> None:
    alert = the_alert(watch)
    notice = Notice(
        key="k", status="firing", severity=Severity.CRITICAL, cluster="prod", groups=("orders",), cause=None,
        alerts=(alert,), since_ts=0,
    )  # fmt: skip
    link = link_template("/open?cluster={cluster}&group={group}&alert={alert}")
    for one, leads_to in (
        (notice, "/alert?id="),
        (replace(notice, alerts=(alert, alert)), "/group?cluster=prod&group=orders"),
        (replace(notice, groups=("orders", "stock")), "/?cluster=prod"),
    ):
        answer = ask(app, link(one) or "")
        assert answer.status == 303
        assert answer.headers["location"].startswith(leads_to)
        assert ask(app, answer.headers["location"]).status == 200


def form_of(app: Starlette, watch: Watch, **more: str) -> dict[str, str]:
    page = ask(app, f"/alert?id={the_alert(watch).fact.fingerprint}").text
    token = re.search(r'name="token" value="([0-9a-f]+)"', page)
    return {
        "token": token[1] if token else "", "id": the_alert(watch).fact.fingerprint, "minutes": "30", "why": "a deploy",
        "scope": "alert", **more,
    }  # fmt: skip


@pytest.mark.slow("a page of a day")
def test_an_alert_is_silenced_and_the_silence_is_ended(app: Starlette, watch: Watch, settings: WebSettings) -> None:
    form = form_of(app, watch)
    answer = ask(app, "/silence", {"origin": "http://127.0.0.1:8400", "sec-fetch-site": "same-origin"}, form)
    assert (answer.status, answer.headers["location"].startswith("/alert?id=")) == (303, True)
    (silence,) = SilenceFiles(settings.state).all()
    assert (silence.by, silence.why, silence.kind) == ("local", "a deploy", "DUPLICATED")
    assert silence.matches(the_alert(watch))
    assert not silence.matches(the_alert(watch, "ORPHANED"))
    ended = ask(app, "/silence/end", form={**form, "silence": silence.id})
    assert ended.status == 303
    (silence,) = SilenceFiles(settings.state).all()
    assert not silence.is_on(silence.until_ts)


@pytest.mark.deep_rows("a page of a day")
@pytest.mark.parametrize(
    ("headers", "change", "status"),
    [
        ({}, {"token": ""}, 403),
        ({}, {"token": "0" * 64}, 403),
        ({"origin": "http://evil.example"}, {}, 403),
        ({"sec-fetch-site": "cross-site"}, {}, 403),
        ({"origin": "null"}, {}, 403),
        ({}, {"why": " "}, 400),
        ({}, {"minutes": "9999999"}, 400),
        ({}, {"minutes": "-1"}, 400),
        ({}, {"id": "nothing"}, 400),
        ({}, {"scope": "everything"}, 400),
        ({}, {"why": "x" * LARGEST_FORM}, 400),
    ],
)
def test_a_silence_that_is_not_meant_is_refused(
    app: Starlette, watch: Watch, settings: WebSettings, headers: dict[str, str], change: dict[str, str], status: int
) -> None:
    assert ask(app, "/silence", headers, form_of(app, watch) | change).status == status
    assert SilenceFiles(settings.state).all() == []


def test_who_may_only_read_cannot_silence(watch: Watch, settings: WebSettings) -> None:
    rules = settings.access._replace(may_silence=frozenset({"ada"}))
    app = web_app(settings._replace(access=rules), watch)
    page = ask(app, f"/alert?id={the_alert(watch).fact.fingerprint}").text
    assert '<form class="silence"' not in page
    assert "You may read, but not silence." in page
    token = re.search(r'name="token" value="([0-9a-f]+)"', page)
    answer = ask(app, "/silence", form=form_of(app, watch) | {"token": token[1] if token else ""})
    assert answer.status == 403
    assert ask(app, "/silence").status == 405
    assert SilenceFiles(settings.state).all() == []


def test_a_name_in_a_silence_is_no_pattern(watch: Watch) -> None:
    alert = the_alert(watch)
    strange = msgspec.structs.replace(alert, group="[a-z]*?")
    silence: Silence = silence_of(strange, "group", 30, "ada", "why", 0)
    assert silence.matches(strange)
    assert not silence.matches(msgspec.structs.replace(alert, group="abc"))


@pytest.mark.slow("a page of a day")
def test_pages_have_nothing_inline(app: Starlette, watch: Watch) -> None:
    alert = f"/alert?id={the_alert(watch).fact.fingerprint}"
    for address in ("/", "/nowhere", ORDERS, f"{ORDERS}&map=all&minutes=1440", alert):
        page = ask(app, address).text
        assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|javascript:", page)
        assert not re.search(r"(?:src|href|action)=[\"']?(?:https?:)?//", page)


def _iso(ts: int) -> str:
    return machine_time(ts).replace("+00:00", "Z")


def test_tables_that_cannot_be_read_are_said(settings: WebSettings, tmp_path: Path) -> None:
    watch = Watch(str(tmp_path / "none"))
    watch.error = "no such folder"
    answer = ask(web_app(settings._replace(tables=str(tmp_path / "none")), watch), "/")
    assert (answer.status, "The tables cannot be read now" in answer.text) == (200, True)


def test_evenkeel_itself_is_shown(app: Starlette, tables: Path) -> None:
    said = text_of(ask(app, "/health"))
    for part in ("sees it", "prod", "No notifier here", "None since yesterday."):
        assert part in said
    assert ask(app, "/health", {"accept-language": "zh"}).status == 200


@pytest.mark.slow("a page of a day")
def test_a_change_is_tried_before_it_is_made(app: Starlette) -> None:
    answer = ask(app, "/plan?cluster=prod&group=invoices&join=1", OURS)
    said = text_of(answer)
    assert answer.status == 200
    assert "one more client" in said
    assert re.search(r"AVG used by the group now \d+ \d+ \d+ / \d+", said)
    assert "p-moved" in answer.text


def test_a_plan_begins_with_a_list_of_groups(app: Starlette) -> None:
    page = ask(app, "/plan").text
    assert set(re.findall(r'href="/plan\?cluster=prod&amp;group=(\w+)"', page)) == {"orders", "invoices", "stock"}
    assert re.findall(r'href="/plan\?cluster=prod&amp;group=(\w+)"', ask(app, "/plan?q=STO").text) == ["stock"]


def test_each_field_of_a_plan_says_what_is_so_now(app: Starlette) -> None:
    page = ask(app, "/plan?cluster=prod&group=invoices").text
    said = text_of(ask(app, "/plan?cluster=prod&group=invoices"))
    clients, topic, number = re.findall(r"Now: (\d+) clients.*? Now: ([\w-]+)=(\d+)", said)[0]
    assert int(clients) == page.split('<datalist id="clients">')[1].split("</datalist>")[0].count("<option")
    assert f'value="{topic}={2 * int(number)}"' in page
    assert "AVG, as now" in said
    assert page.count("<fieldset") == page.count("<legend") == 4


@pytest.mark.deep_rows("a page of a day")
@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("", 200, "RocketMQ is not touched"),
        ("group=nothing&cluster=prod&join=1", 404, "no group nothing"),
        ("group=invoices&cluster=prod&leave=nobody", 400, "nobody"),
        ("group=invoices&cluster=prod&queues=T", 400, "T: a topic and its number of queues"),
        ("group=invoices&cluster=prod&queues=T=99999", 400, ""),
        ("group=invoices&cluster=prod&join=x&rolling=-1&strategy=x", 200, "invoices"),
    ],
)
def test_a_plan_that_cannot_be_is_said(app: Starlette, query: str, status: int, said: str) -> None:
    answer = ask(app, f"/plan?{query}", OURS)
    assert (answer.status, said in answer.text) == (status, True)


@pytest.fixture
def no_plan_may_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: object) -> None:
        raise AssertionError("a plan was started")

    monkeypatch.setattr(plan_page, "forecasts", started)


@pytest.mark.parametrize("sent", [{}, {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}])
def test_plan_that_a_link_of_another_site_may_have_asked_for_waits_to_be_meant(
    app: Starlette, sent: dict[str, str], no_plan_may_start: None
) -> None:
    answer = ask(app, "/plan?cluster=prod&group=invoices&join=3", sent)
    assert answer.status == 200
    assert "Nothing has been tried yet" in answer.text
    assert 'name="join" value="3"' in answer.text
    assert "尚未预演" in ask(app, "/plan?cluster=prod&group=invoices&join=3", {**sent, "accept-language": "zh"}).text


@pytest.mark.slow("a page of a day")
def test_plan_is_tried_by_its_form_and_gives_a_link(app: Starlette) -> None:
    form = {"cluster": "prod", "group": "invoices", "join": "1"}
    token = re.search(r'name="token" value="([0-9a-f]+)"', ask(app, "/plan?cluster=prod&group=invoices").text)
    assert token
    answer = ask(app, "/plan", {"origin": "http://127.0.0.1:8400"}, {**form, "token": token[1]})
    assert (answer.status, "p-moved" in answer.text) == (200, True)
    assert 'href="/plan?cluster=prod&amp;group=invoices&amp;join=1"' in answer.text
    assert token[1] not in re.sub(r'name="token" value="[0-9a-f]+"', "", answer.text), "no link has it"


def test_plan_of_a_form_of_another_site_is_refused(app: Starlette, no_plan_may_start: None) -> None:
    form = {"cluster": "prod", "group": "invoices", "join": "1"}
    assert ask(app, "/plan", form={**form, "token": "0" * 64}).status == 403
    assert ask(app, "/plan", form=form).status == 403


@pytest.mark.parametrize(("language", "said"), [("en", "take too long for a page"), ("zh", "在页面上预演耗时过长")])
def test_plan_that_takes_too_long_is_refused_before_it_starts(
    app: Starlette, language: str, said: str, no_plan_may_start: None
) -> None:
    address = "/plan?cluster=prod&group=invoices&join=200&rolling=1"
    answer = ask(app, address, {**OURS, "accept-language": language})
    assert (answer.status, said in answer.text) == (400, True)


@pytest.mark.parametrize("address", ["/", "/changes", "/plan?cluster=prod&group=invoices&join=1"])
def test_what_a_page_of_another_site_embeds_is_refused(app: Starlette, address: str, no_plan_may_start: None) -> None:
    sent = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
    assert ask(app, address, sent).status == 403
    assert ask(app, "/", sent | {"sec-fetch-mode": "navigate"}).status == 200, "a link in a chat"


BROKEN = ("[", "]", "http://[", "http://[::1", "[::1", "\xff\xfe", "%", ":", "a:b:c", ";=;", "\t", "0" * 5000)


@pytest.mark.deep_rows("a page of a day")
@pytest.mark.parametrize("name", ["host", "origin", "referer", "cookie", "accept-language", "authorization",
                                  "sec-fetch-site", "sec-fetch-mode", "content-type", "x-forwarded-user"])  # fmt: skip
@pytest.mark.parametrize("value", BROKEN)
def test_broken_headers_are_no_fault_of_evenkeel(
    settings: WebSettings, watch: Watch, tmp_path: Path, name: str, value: str
) -> None:
    """With every host known, as where users are."""
    token, line = new_token("robot", "silence")
    (tmp_path / "users").write_text(line)
    rules = settings.access._replace(users=read_users(str(tmp_path / "users")), needs_user=True)
    app = web_app(settings._replace(access=rules), watch)
    headers = {"authorization": f"Bearer {token}", name: value}
    for address, form in (("/", None), ("/open?group=x", None), ("/language?to=zh&back=//[", None), ("/x", None),
                          ("/silence", {"token": "x"}), ("/healthz", None)):  # fmt: skip
        assert ask(app, address, headers, form).status < 500
