"""A webhook of the user: signed JSON.

``X-Evenkeel-Signature`` is ``sha256=`` and the hex HMAC-SHA256, under the shared secret, of ``X-Evenkeel-Timestamp``,
a full stop and the body. Check it, and refuse old timestamps. ``Idempotency-Key`` is the same when a message is
repeated, and differs between messages with different content.
"""

import hmac
from hashlib import sha256
from typing import Any

import msgspec

from streaming.sinks.http import HttpSink, post
from streaming.sinks.sink import Message


class WebhookSink(HttpSink):
    def send(self, message: Message) -> str:
        body = msgspec.json.encode(webhook_payload(message))
        timestamp = str(message.now // 1000)
        said = sha256(msgspec.json.encode(message.notice)).hexdigest()[:16]
        headers = {
            "User-Agent": "evenkeel",
            "Idempotency-Key": f"{message.notice.key}-{message.notice.status}-{said}",
            "X-Evenkeel-Timestamp": timestamp,
        }
        if self.secret:
            signature = hmac.new(self.secret.encode(), timestamp.encode() + b"." + body, sha256).hexdigest()
            headers["X-Evenkeel-Signature"] = f"sha256={signature}"
        return post(self.url, body, headers, self.timeout_s)


def webhook_payload(message: Message) -> dict[str, Any]:
    """The body: a notice's fields, its text, and when it was sent. Times are epoch ms."""
    notice = message.notice
    return {
        "schema": 1,
        "key": notice.key,
        "status": notice.status,
        "severity": notice.severity.value,
        "cluster": notice.cluster,
        "groups": notice.groups,
        "cause": notice.cause,
        "since_ts": notice.since_ts,
        "sent_ts": message.now,
        "title": message.text.title,
        "body": message.text.body,
        "link": message.link,
        "trouble": notice.trouble,
        "alerts": [
            {"cluster": alert.cluster, "group": alert.group, "topic": alert.topic, "ts": alert.ts, "alert": alert.fact}
            for alert in notice.alerts
        ],
    }
