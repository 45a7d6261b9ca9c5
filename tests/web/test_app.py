"""The server's answers: which pages there are, who gets them, and what every answer says to the browser."""

import re
from pathlib import Path

import pytest
from starlette.applications import Starlette

from streaming.config.sections import Config
from streaming.networks import networks
from streaming.web.app import web_app
from streaming.web.live.watch import Watch
from streaming.web.security.access import AccessRules
from streaming.web.security.users import new_token, read_users
from streaming.web.settings import WebSettings
from tests.web.asking import ask


@pytest.fixture
def app(settings: WebSettings, watch: Watch) -> Starlette:
    return web_app(settings, watch)


def with_users(settings: WebSettings, watch: Watch, folder: Path, right: str = "read") -> tuple[Starlette, str]:
    """Pages that want to know who reads them, and a token for them."""
    token, line = new_token("robot", right)
    (folder / "users").write_text(line)
    rules = AccessRules(
        read_users(str(folder / "users")), True, networks(["10.0.0.7"]), proxy_header=Config().web.proxy_header
    )
    return web_app(settings._replace(access=rules), watch), token


@pytest.mark.parametrize("address", ["/", "/nowhere", "/static/page.css", "/static/none", "/language?to=zh"])
def test_every_answer_tells_the_browser_what_it_may_do(app: Starlette, address: str) -> None:
    headers = ask(app, address).headers
    assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'; script-src 'self'")
    assert "unsafe" not in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")
    kept = "immutable" in headers["cache-control"]
    assert kept is (address == "/static/page.css")


def test_the_worst_comes_first(app: Starlette) -> None:
    answer = ask(app, "/")
    assert answer.status == 200
    names = re.findall(r'title="([a-z]+)">\1</a>', answer.text)
    assert set(names) == {"orders", "stock", "invoices"}
    assert names[-1] == "invoices"
    assert "queues consumed twice" in answer.text


def test_groups_are_searched_and_filtered(app: Starlette) -> None:
    assert re.findall(r'title="([a-z]+)">\1</a>', ask(app, "/?q=STO").text) == ["stock"]
    assert "No group matches" in ask(app, "/?q=nothing").text
    assert "invoices" not in ask(app, "/?state=firing").text
    assert ask(app, "/?state=nonsense&sort=nonsense&page=-1&page=x").status == 200


def test_the_language_is_the_browsers_or_the_one_that_was_chosen(app: Starlette) -> None:
    assert '<html lang="en">' in ask(app, "/").text
    chinese = ask(app, "/", {"accept-language": "zh-CN,zh;q=0.9,en;q=0.8"}).text
    assert '<html lang="zh">' in chinese
    assert "个队列重复消费" in chinese
    assert '<html lang="en">' in ask(app, "/", {"accept-language": "zh", "cookie": "language=en"}).text
    assert '<html lang="en">' in ask(app, "/", {"accept-language": "zh;q=x, en"}).text


@pytest.mark.parametrize(
    ("back", "goes_to"),
    [("/?q=a", "/?q=a"), ("//evil.example", "/"), ("https://evil.example", "/"), ("/\\evil.example", "/"), ("", "/")],
)
def test_choosing_a_language_leads_to_no_other_site(app: Starlette, back: str, goes_to: str) -> None:
    answer = ask(app, f"/language?to=zh&back={back}")
    assert (answer.status, answer.headers["location"]) == (303, goes_to)
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "samesite=strict" in answer.headers["set-cookie"].lower()


def test_a_host_that_is_not_this_machine_is_refused(app: Starlette) -> None:
    assert ask(app, "/", {"host": "evil.example"}).status == 421
    assert ask(app, "/static/page.css", {"host": "evil.example"}).status == 421


def test_who_is_not_known_gets_nothing(settings: WebSettings, watch: Watch, tmp_path: Path) -> None:
    app, token = with_users(settings, watch, tmp_path)
    for address in ("/", "/changes", "/static/page.css", "/nowhere", "/language"):
        answer = ask(app, address)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Basic realm="evenkeel"')
        assert "orders" not in answer.text
    assert ask(app, "/", {"authorization": f"Bearer {token}"}).status == 200
    assert ask(app, "/", {"authorization": "Bearer x"}).status == 401
    assert ask(app, "/", {"x-forwarded-user": "ada"}).status == 401
    assert ask(app, "/", {"x-forwarded-user": "ada"}, peer="10.0.0.7").status == 200


def test_an_address_that_is_too_long_is_refused(app: Starlette) -> None:
    assert ask(app, f"/?q={'x' * 10_000}").status == 414


def test_what_is_not_there_is_said(app: Starlette) -> None:
    answer = ask(app, "/nowhere")
    assert answer.status == 404
    assert "There is no such page." in answer.text
    assert ask(app, "/", form={"a": "b"}).status == 405


def test_a_page_that_cannot_be_made_says_so_with_all_headers(
    app: Starlette, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("streaming.web.views.overview.RankedGroups.overview", broken)
    answer = ask(app, "/")
    assert (answer.status, answer.headers["x-frame-options"]) == (500, "DENY")
    assert "ZeroDivisionError" not in answer.text
    assert "the page / could not be made" in caplog.text
