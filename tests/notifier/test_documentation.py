"""What docs/notifications.md shows is what happens."""

import hmac
import re
from hashlib import sha256
from pathlib import Path
from typing import get_args

import pytest

from streaming.config.alerts import Alerts, SinkKind
from streaming.config.load import load_alerts
from streaming.config.sections import Config
from streaming.sinks.webhook import WebhookSink, webhook_payload
from testing.http_server import Server
from tests.sinks.messages import message

TEXT = (Path(__file__).parents[2] / "docs" / "notifications.md").read_text("utf-8")
BLOCKS = [re.sub(r"(?m)^    ", "", block) for block in re.findall(r"(?m)(?:^    .*\n|^\n(?=    ))+", TEXT)]


def test_rules_shown_are_accepted(tmp_path: Path) -> None:
    (rules,) = (block for block in BLOCKS if "[[sinks]]" in block)
    (tmp_path / "secret").write_text("dingtalk://abc")
    path = tmp_path / "alerts.toml"
    path.write_text(rules.replace("/run/secrets/dingtalk", str(tmp_path / "secret")))
    config = Config()
    config = config.model_copy(update={"notify": config.notify.model_copy(update={"alerts": str(path)})})
    assert load_alerts(config, {"PAGERDUTY_KEY": "x"}) != Alerts()


@pytest.mark.parametrize("kind", get_args(SinkKind))
def test_every_sink_is_named(kind: str) -> None:
    assert f"| `{kind}` |" in TEXT


def test_every_key_of_the_webhook_is_named() -> None:
    assert [key for key in webhook_payload(message()) if f"`{key}`" not in TEXT] == []


def test_signature_is_checked_as_shown() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    with Server() as server:
        WebhookSink("hook", server.url, "hunter2", 5).send(message())
        (got,) = server.got
    first, second = code.strip().splitlines()
    names = {"hmac": hmac, "secret": b"hunter2", "headers": got.headers, "body": got.body, "sha256": sha256}
    exec(first, names)
    assert eval(second, names)
