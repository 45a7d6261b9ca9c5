"""``/api/v1``: the same as the pages show, as JSON, with the same rights, and described by OpenAPI."""

import json
import re
from datetime import UTC
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jsonschema
import pytest
from starlette.applications import Starlette
from starlette.requests import Request

from streaming.cli import main
from streaming.notifier.silence_files import SilenceFiles
from streaming.notifier.silences import Silence
from streaming.wall_clock import now_ms
from streaming.web.app import web_app
from streaming.web.context import Context
from streaming.web.live.watch import Watch
from streaming.web.pages.group_page import GroupFacts, group_page
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


@pytest.mark.deep_rows("a page of a day")
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


@pytest.mark.deep_rows("a page of a day")
@pytest.mark.parametrize(
    ("group", "at"), [("orders", ""), ("carts", ""), ("billing", ""), ("stock", "2026-11-21T14:05:00Z")]
)
def test_what_the_page_of_a_group_shows_is_what_it_gives(settings: WebSettings, day: Path, group: str, at: str) -> None:
    of_day = Watch(str(day))
    of_day.read()
    context = Context(settings._replace(tables=str(day)), of_day)
    request = Request(_scope(f"cluster=prod&group={group}&at={at}"))
    view = group_page(GroupFacts(context), request).values["view"]
    given = get(web_app(context.settings, of_day), "/group", cluster="prod", group=group, **({"at": at} if at else {}))

    assert (given["cluster"], given["group"]) == (view.group.cluster, view.group.group)
    assert (given["waiting"], given["read_ts"]) == (view.lag.messages, view.lag.read_ts)
    assert (given["members_reporting"], given["brokers_covered"]) == (
        view.group.members_reporting,
        view.group.brokers_covered,
    )
    assert {one["client_id"] for one in given["members"]} == {row.member.client_id for row in view.members}
    assert sum(one["waiting"] or 0 for one in given["queues"]) == sum(row.waiting or 0 for row in view.queues)
    assert {(one["topic"], one["finding"], one["cause"] or "") for one in given["queues"]} == {
        (row.first.topic, row.first.finding, row.first.cause or "") for row in view.queues
    }
    shown = {alert.known.fact.fingerprint: alert for card in view.alerts for alert in card}
    alerts = {one["fingerprint"]: one for one in given["alerts"] if one["state"] != "resolved"}
    assert set(alerts) == set(shown)
    for name, alert in alerts.items():
        page_of_it = shown[name]
        assert (alert["since_ts"], alert["do"], alert["for_now"]) == (
            page_of_it.known.since_ts,
            page_of_it.do,
            page_of_it.now,
        )
        assert bool(alert["waits_until_ts"]) == (alert["state"] == "pending") == bool(page_of_it.note)
        assert len(alert["queues"]) in (0, int(page_of_it.what.split()[0]) if page_of_it.queues else 0)


def _scope(query: str) -> dict[str, Any]:
    return {"type": "http", "method": "GET", "path": "/group", "query_string": query.encode(), "headers": []}


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
    from datetime import datetime

    return datetime.fromtimestamp(ts / 1000, UTC).isoformat()
