"""``/api/v1``: the same as the pages show, as JSON, with the same rights, and described by OpenAPI."""

import json
import re
from typing import Any
from urllib.parse import urlencode

import jsonschema
import pytest
from starlette.applications import Starlette

from streaming.cli import main
from streaming.notifier.silence_files import SilenceFiles
from streaming.notifier.silences import Silence
from streaming.wall_clock import now_ms
from streaming.web.app import web_app
from streaming.web.live.watch import Watch
from streaming.web.security.access import AccessRules
from streaming.web.settings import WebSettings
from tests.explain.facts import facts_of_scenario
from tests.web.asking import ask
from tests.web.conftest import NOBODY

ORDERS = {"cluster": "prod", "group": "orders"}
ASKED = [
    ("/clusters", {}),
    ("/groups", {}),
    ("/groups", {"state": "firing", "q": "ord", "sort": "name", "page": "2"}),
    ("/group", ORDERS),
    ("/queues", ORDERS),
    ("/alerts", {"cluster": "prod", "state": "firing"}),
    ("/silences", {}),
]


@pytest.fixture
def app(settings: WebSettings, watch: Watch) -> Starlette:
    return web_app(settings, watch)


def get(app: Starlette, path: str, **query: str) -> Any:
    answer = ask(app, f"/api/v1{path}?{urlencode(query)}")
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return json.loads(answer.text)


@pytest.mark.parametrize(("path", "query"), ASKED, ids=str)
def test_every_answer_is_as_the_document_says(app: Starlette, path: str, query: dict[str, str]) -> None:
    document = get(app, "/openapi.json")
    described = document["paths"][f"/api/v1{path}"]["get"]
    schema = described["responses"]["200"]["content"]["application/json"]["schema"]

    jsonschema.validate(get(app, path, **query), {**schema, "components": document["components"]})
    assert set(query) <= {one["name"] for one in described["parameters"]}


def test_the_document_lists_every_address_and_its_failures(app: Starlette) -> None:
    document = get(app, "/openapi.json")

    assert set(document["paths"]) == {f"/api/v1{path}" for path, _ in ASKED}
    for path in document["paths"].values():
        assert set(path["get"]["responses"]) == {"200", "400", "401", "404", "503"}
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert references == set(document["components"]["schemas"])


def test_groups_come_in_the_order_of_the_page(app: Starlette) -> None:
    found = get(app, "/groups")

    shown = re.findall(r"/group\?cluster=prod&amp;group=(\w+)", ask(app, "/").text)
    assert [one["group"] for one in found["groups"]] == list(dict.fromkeys(shown))
    worst = found["groups"][0]
    assert (worst["state"], worst["severity"]) == ("firing", "critical")
    assert worst["waiting"]["read_ts"] <= found["as_of_ts"]
    assert [one["group"] for one in get(app, "/groups", q="order")["groups"]] == ["orders"]


def test_a_group_is_what_explain_says_of_it(app: Starlette, watch: Watch, capsys: pytest.CaptureFixture[str]) -> None:
    at = facts_of_scenario("same_client_id")[-1].ts
    found = get(app, "/group", **ORDERS, at=f"{_iso(at)}")
    assert main(["explain", "orders", "--tables", watch.tables, "--at", _iso(at), "--json"]) == 0

    assert found == json.loads(capsys.readouterr().out)


def test_a_moment_of_the_past_shows_nothing_that_came_later(app: Starlette) -> None:
    begin = facts_of_scenario("same_client_id")[0].ts
    now, then = get(app, "/queues", **ORDERS), get(app, "/queues", **ORDERS, at=_iso(begin + 40_000))

    assert {one["finding"] for one in now["queues"]} >= {"DUPLICATED", "ORPHANED"}
    assert not {one["finding"] for one in then["queues"]} & {"DUPLICATED", "ORPHANED"}
    assert {one["finding"] for one in get(app, "/queues", **ORDERS, finding="ORPHANED")["queues"]} == {"ORPHANED"}


def test_silences_say_what_they_silence_now(app: Starlette, settings: WebSettings, watch: Watch) -> None:
    now = now_ms()
    files = SilenceFiles(settings.state)
    files.add(Silence(id="on", group="ord*", from_ts=now, until_ts=now + 60_000, by="Ada", why="deploy"))
    files.add(Silence(id="over", group="ord*", from_ts=now - 2, until_ts=now - 1, by="Ada", why="deploy"))

    found = {one["silence"]["id"]: one for one in get(app, "/silences")["silences"]}
    of_orders = {one["fact"]["fingerprint"] for one in get(app, "/alerts", group="orders")["alerts"]}
    assert (found["on"]["is_on"], set(found["on"]["alerts"])) == (True, of_orders)
    assert (found["over"]["is_on"], found["over"]["alerts"]) == (False, [])


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/group?cluster=prod", 400, "group: a text of 1 to"),
        ("/group?cluster=prod&group=nobody", 404, "nobody"),
        ("/groups?state=broken", 400, "state: one of firing, findings"),
        ("/alerts?state=resolved", 400, "state: one of pending, firing"),
        ("/group?cluster=prod&group=orders&at=yesterday", 400, "at: "),
        ("/nothing", 404, "/api/v1/openapi.json lists all"),
    ],
)
def test_what_cannot_be_answered_says_why_in_json(app: Starlette, path: str, status: int, said: str) -> None:
    answer = ask(app, f"/api/v1{path}")

    assert answer.status == status
    assert said in json.loads(answer.text)["error"]


def test_it_needs_what_the_pages_need(settings: WebSettings, watch: Watch) -> None:
    rules = AccessRules(NOBODY, needs_user=True, may_silence=frozenset())
    app = web_app(settings._replace(access=rules), watch)

    for path in ("/groups", "/openapi.json", "/nothing"):
        assert ask(app, f"/api/v1{path}").status == 401


def test_nothing_is_changed_by_it(app: Starlette) -> None:
    assert ask(app, "/api/v1/silences", form={"why": "x"}).status == 405


def _iso(ts: int) -> str:
    from datetime import datetime, timezone

    return datetime.fromtimestamp(ts / 1000, timezone.utc).isoformat()
