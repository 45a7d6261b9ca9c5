"""Prometheus Alertmanager, API v2. It resolves alerts that are not sent again, so they are sent every minute.

``endsAt`` of a firing alert is some re-sends ahead. If evenkeel stops, Alertmanager resolves the alert then, and a
dead-man rule of Alertmanager should report it. Alertmanager identifies an alert by its labels. If they change under one
key, the alert with the old labels is ended at the same time.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from streaming.sinks.http import HttpSink, post
from streaming.sinks.sink import Message

RESEND_MS = 60_000
_MISSED = 4  # re-sends that may be missed


@dataclass(repr=False)
class AlertmanagerSink(HttpSink):
    resend_ms = RESEND_MS
    _sent: dict[str, dict[str, Any]] = field(default_factory=dict)

    def send(self, message: Message) -> str:
        key = message.notice.key
        alert = alertmanager_alert(message)
        before = self._sent.get(key)
        alerts = [alert]
        if before is not None and before["labels"] != alert["labels"]:
            alerts.append({**before, "endsAt": _time(message.now)})
        url = self.url.rstrip("/") + "/api/v2/alerts"
        headers = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        answer = post(url, msgspec.json.encode(alerts), headers, self.timeout_s, answers_json=True)
        if message.notice.status == "firing":
            self._sent[key] = alert
        else:
            self._sent.pop(key, None)
        return answer


def alertmanager_alert(message: Message) -> dict[str, Any]:
    """The alert as a ``postableAlert`` of Alertmanager's API."""
    notice = message.notice
    kind = notice.trouble.began[0] if notice.trouble else notice.alerts[0].fact.kind
    labels = {
        "alertname": kind if notice.trouble or len(notice.groups) == 1 else "GROUPS_IN_TROUBLE",
        "cluster": notice.cluster,
        "consumer_group": notice.groups[0] if len(notice.groups) == 1 else "",
        "cause": notice.cause or "",
        "severity": notice.severity.value,
        "evenkeel_key": notice.key,
    }
    ends = message.now + _MISSED * RESEND_MS if notice.status == "firing" else message.now
    return {
        "labels": {name: text for name, text in labels.items() if text},  # to Alertmanager an empty label is none
        "annotations": {"summary": message.text.title, "description": message.text.body},
        "startsAt": _time(min(notice.since_ts, message.now)),
        "endsAt": _time(ends),
        **({"generatorURL": message.link} if message.link else {}),
    }


def _time(ts: int) -> str:
    return datetime.fromtimestamp(ts / 1000, UTC).isoformat(timespec="milliseconds")
