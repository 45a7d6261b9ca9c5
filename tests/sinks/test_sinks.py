"""What each sink sends, to real servers on loopback."""

import hmac
import json
import logging
import socketserver
from hashlib import sha256
from threading import Thread
from typing import Any

import apprise
import pytest

from schemas.facts import Severity
from streaming.errors import DeliveryError, SetupError
from streaming.sinks.alertmanager import AlertmanagerSink
from streaming.sinks.chat import ChatSink
from streaming.sinks.log import LogSink
from streaming.sinks.pagerduty import PagerDutySink
from streaming.sinks.sink import Message, Sink
from streaming.sinks.webhook import WebhookSink
from testing.http_server import Answer, Server
from tests.sinks.messages import NOW, blind, message


def test_log_says_title_and_body(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    LogSink("log").send(message())
    LogSink("log").send(message("resolved"))
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", "A title\na body\nof two lines"),
        ("INFO", "A title\na body\nof two lines"),
    ]


def test_webhook_is_signed_and_says_all() -> None:
    with Server() as server:
        WebhookSink("hook", f"{server.url}/in", "hunter2", 5).send(message())
        (got,) = server.got
    timestamp = got.headers["X-Evenkeel-Timestamp"]
    signature = hmac.new(b"hunter2", timestamp.encode() + b"." + got.body, sha256).hexdigest()
    assert got.headers["X-Evenkeel-Signature"] == f"sha256={signature}"
    said = got.json
    assert (said["key"], said["status"], said["groups"], said["title"]) == ("k1", "firing", ["orders"], "A title")
    assert said["alerts"][0]["alert"]["queues"][0]["queue_id"] == 0
    assert b"hunter2" not in got.body


def test_webhook_repeats_itself_under_the_same_idempotency_key_only() -> None:
    with Server() as server:
        sink = WebhookSink("hook", server.url, "", 5)
        for one in (message(), message(now=NOW + 1), message("resolved"), message(severity=Severity.WARNING)):
            sink.send(one)
        keys = [got.headers["Idempotency-Key"] for got in server.got]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert "X-Evenkeel-Signature" not in server.got[0].headers


def test_pagerduty_triggers_and_resolves_under_one_key() -> None:
    with Server(always=Answer(202)) as server:
        sink = PagerDutySink("pd", f"{server.url}/v2/enqueue", "R0", 5)
        for one in (message(), message("resolved"), blind()):
            sink.send(one)
        trigger, resolve, trouble = (got.json for got in server.got)
    assert (trigger["event_action"], trigger["dedup_key"], trigger["routing_key"]) == ("trigger", "k1", "R0")
    assert trigger["payload"]["severity"] == "critical"
    assert trigger["payload"]["timestamp"] == "2023-11-14T22:13:11+00:00"
    assert trigger["payload"]["class"] == "ORPHANED"
    assert resolve == {"event_action": "resolve", "dedup_key": "k1", "routing_key": "R0"}
    assert trouble["payload"]["class"] == "monitor_blind"


def told_alertmanager(*messages: Message) -> list[Any]:
    with Server() as server:
        sink = AlertmanagerSink("am", f"{server.url}/", "t0", 5)
        for one in messages:
            sink.send(one)
        assert {got.path for got in server.got} == {"/api/v2/alerts"}
        assert {got.headers["Authorization"] for got in server.got} == {"Bearer t0"}
        return [got.json for got in server.got]


def test_alertmanager_is_told_when_to_give_up() -> None:
    (first,), (again,), (over,) = told_alertmanager(
        message(), message(now=NOW + 60_000), message("resolved", now=NOW + 90_000)
    )
    assert first["labels"] == {
        "alertname": "ORPHANED", "cluster": "prod", "consumer_group": "orders", "cause": "ROUTE_LAG",
        "severity": "critical", "evenkeel_key": "k1",
    }  # fmt: skip
    assert first["labels"] == again["labels"] == over["labels"]
    assert [one["endsAt"][14:19] for one in (first, again, over)] == ["17:20", "18:20", "14:50"]
    assert {one["startsAt"] for one in (first, again, over)} == {"2023-11-14T22:13:11.000+00:00"}


def test_alertmanager_is_told_that_what_bore_other_labels_is_over() -> None:
    _, told, again = told_alertmanager(
        message(severity=Severity.WARNING), message(now=NOW + 1000), message(now=NOW + 61_000)
    )
    assert [(one["labels"]["severity"], one["endsAt"][14:19]) for one in told] == [
        ("critical", "17:21"),
        ("warning", "13:21"),
    ]
    assert len(again) == 1


def test_alertmanager_knows_storms_and_troubles_by_their_names() -> None:
    (storm,), (trouble,) = (
        told_alertmanager(one)[0] for one in (message(groups=("a", "b"), cause=None), blind("firing"))
    )
    assert storm["labels"]["alertname"] == "GROUPS_IN_TROUBLE"
    assert "consumer_group" not in storm["labels"]
    assert trouble["labels"]["alertname"] == "monitor_blind"


# Through apprise


@pytest.fixture
def robots(monkeypatch: pytest.MonkeyPatch) -> Any:
    """apprise's own plugins, told to speak to loopback instead of the vendor's host."""
    from apprise.plugins.dingtalk import NotifyDingTalk
    from apprise.plugins.feishu import NotifyFeishu
    from apprise.plugins.slack import NotifySlack
    from apprise.plugins.wecombot import NotifyWeComBot

    with Server() as server:
        for plugin in (NotifyDingTalk, NotifyFeishu):
            monkeypatch.setattr(plugin, "notify_url", server.url + "/{token}")
        monkeypatch.setattr(NotifyWeComBot, "notify_url", server.url + "/{key}")
        monkeypatch.setattr(NotifySlack, "webhook_url", server.url)
        monkeypatch.setattr(NotifySlack, "request_rate_per_sec", 0)
        yield server


ADDRESSES = {
    "dingtalk": "dingtalk://abcdefgh12345678",
    "feishu": "feishu://abcdefgh-1234-5678-9012-abcdefghijkl",
    "wecom": "wecombot://abcdefgh-1234-5678-9012-abcdefghijkl",
    "slack": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#ops",
}


@pytest.mark.parametrize("kind", ADDRESSES)
def test_chat_is_told_title_and_body(kind: str, robots: Server) -> None:
    robots.always = Answer(body=b"ok" if kind == "slack" else b'{"errcode": 0, "code": 0}')
    ChatSink("chat", kind, ADDRESSES[kind]).send(message())
    (got,) = robots.got
    said = json.dumps(got.json)
    assert "A title" in said
    assert "of two lines" in said


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [
        ("dingtalk", Answer(429, headers=(("Retry-After", "9"),)), (True, 9)),
        ("wecom", Answer(500), (True, None)),
        ("feishu", Answer(403), (False, None)),
        ("dingtalk", Answer(body=b'{"errcode": 130101, "errmsg": "send too fast"}'), (True, None)),
        ("wecom", Answer(body=b'{"errcode": 45009, "errmsg": "api freq out of limit"}'), (True, None)),
        ("feishu", Answer(body=b'{"code": 11232, "msg": "frequency limited"}'), (True, None)),
        ("dingtalk", Answer(body=b'{"errcode": 310000, "errmsg": "sign not match"}'), (False, None)),
        ("slack", Answer(404, b"no_service"), (False, None)),
        ("wecom", Answer(body=b"<html>please log in</html>"), (True, None)),
        ("feishu", Answer(body=b""), (True, None)),
        ("dingtalk", Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"), (True, None)),
        ("dingtalk", Answer(0), (True, None)),
    ],
)
def test_refusal_of_a_chat_is_heard(
    kind: str, answer: Answer, expected: tuple[bool, float | None], robots: Server
) -> None:
    """A 200 that says no in its body is a no, whatever apprise makes of it."""
    robots.script = [answer]
    with pytest.raises(DeliveryError) as raised:
        ChatSink("chat", kind, ADDRESSES[kind]).send(message())
    assert (raised.value.is_temporary, raised.value.retry_after_s) == expected


def test_anything_that_apprise_knows_can_be_a_sink() -> None:
    with Server(Answer(), Answer(503)) as server:
        sink = ChatSink("any", "apprise", f"json://127.0.0.1:{server.port}/x")
        sink.send(message())
        with pytest.raises(DeliveryError, match="503"):
            sink.send(message())
    assert server.got[0].json["title"] == "A title"


def test_mail_arrives() -> None:
    with _Mailbox() as mailbox:
        address = f"mailto://127.0.0.1:{mailbox.port}/?from=evenkeel@example.com&to=ops@example.com&mode=insecure"
        ChatSink("mail", "mail", address).send(message())
    assert "Subject: A title" in mailbox.text
    assert "To: ops@example.com" in mailbox.text


@pytest.mark.parametrize(
    ("kind", "address"),
    [("dingtalk", "slack://a/b/c"), ("slack", "slack://"), ("mail", "nonsense"), ("apprise", "x://y")],
)
def test_address_of_another_kind_is_refused_without_showing_it(kind: str, address: str) -> None:
    with pytest.raises(SetupError, match="sink ops: its secret is no apprise address") as raised:
        ChatSink("ops", kind, address)
    assert address not in str(raised.value).split(": ", 2)[1]


def test_every_sink_is_a_sink() -> None:
    sinks: list[Sink] = [
        LogSink("a"), WebhookSink("b", "", "", 1), PagerDutySink("c", "", "", 1), AlertmanagerSink("d", "", "", 1),
        ChatSink("e", "slack", ADDRESSES["slack"]),
    ]  # fmt: skip
    assert [sink.resend_ms for sink in sinks] == [None, None, None, 60_000, None]
    assert apprise.__version__


class _Mailbox:
    """As much of SMTP as one mail needs."""

    def __enter__(self) -> "_Mailbox":
        lines: list[str] = []

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"220 here\r\n")
                in_data = False
                for raw in self.rfile:
                    line = raw.decode().rstrip()
                    if in_data:
                        lines.append(line)
                        in_data = line != "."
                        answer = b"" if in_data else b"250 ok\r\n"
                    else:
                        in_data = line.upper() == "DATA"
                        answer = (
                            b"354 go on\r\n" if in_data else b"221 bye\r\n" if line.upper() == "QUIT" else b"250 ok\r\n"
                        )
                    self.wfile.write(answer)
                    if line.upper() == "QUIT":
                        return

        self._lines = lines
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.text = "\n".join(self._lines)
