"""PagerDuty's Events API v2: trigger and resolve under one dedup key."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from streaming.sinks.http import HttpSink, post
from streaming.sinks.sink import Message

URL = "https://events.pagerduty.com/v2/enqueue"
_LONGEST_SUMMARY = 1024


class PagerDutySink(HttpSink):
    def send(self, message: Message) -> str:
        body = msgspec.json.encode({"routing_key": self.secret, **pagerduty_event(message)})
        return post(self.url or URL, body, {}, self.timeout_s, answers_json=True)


def pagerduty_event(message: Message) -> dict[str, Any]:
    """The event without its routing key."""
    notice = message.notice
    if notice.status == "resolved":
        return {"event_action": "resolve", "dedup_key": notice.key}
    kinds = sorted({alert.fact.kind for alert in notice.alerts})
    return {
        "event_action": "trigger",
        "dedup_key": notice.key,
        "client": "evenkeel",
        "links": [{"href": message.link, "text": "evenkeel"}] if message.link else [],
        "payload": {
            "summary": message.text.title[:_LONGEST_SUMMARY],
            "severity": notice.severity.value,
            "source": notice.cluster or "evenkeel",
            "component": notice.groups[0] if len(notice.groups) == 1 else "",
            "group": notice.cluster,
            "class": notice.trouble.kind if notice.trouble else ", ".join(kinds),
            "timestamp": datetime.fromtimestamp(notice.since_ts / 1000, UTC).isoformat(),
            "custom_details": {"text": message.text.body, "cause": notice.cause},
        },
    }
