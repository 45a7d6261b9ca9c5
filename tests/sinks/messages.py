"""Messages as the notifier would hand them to a sink."""

from typing import Any

from schemas.facts import AlertFact, AlertQueue, Severity
from streaming.notices.notice import MonitorTrouble, Notice, OpenAlert, Text
from streaming.sinks.sink import Message

NOW = 1_700_000_000_000


TEXT = Text("A title", "a body\nof two lines")


def message(status: str = "firing", now: int = NOW, **changed: Any) -> Message:
    fact = AlertFact(
        fingerprint="f", state=status, severity="critical", kind="ORPHANED", cause="ROUTE_LAG",
        queues=(AlertQueue("b", 0),), reason="held_long_enough", active_ts=NOW - 9000, fired_ts=NOW - 4000,
    )  # fmt: skip
    values: dict[str, Any] = {
        "key": "k1", "status": status, "severity": Severity.CRITICAL, "cluster": "prod", "groups": ("orders",),
        "cause": "ROUTE_LAG", "alerts": (OpenAlert("prod", "orders", "Orders", NOW, 1, fact),), "since_ts": NOW - 9000,
    }  # fmt: skip
    return Message(Notice(**values | changed), TEXT, "https://evenkeel.example/prod/orders", now)


def blind(status: str = "firing") -> Message:
    trouble = MonitorTrouble("monitor_blind", "prod", NOW - 9000, "nothing arrives")
    return message(status, key="k2", groups=(), cause=None, alerts=(), trouble=trouble)
