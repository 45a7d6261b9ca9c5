"""The log: always there, needs nothing."""

import logging

from streaming.sinks.sink import Message

log = logging.getLogger(__name__)


class LogSink:
    resend_ms: int | None = None
    most_bytes: int | None = None

    def __init__(self, name: str) -> None:
        self.name = name

    def send(self, message: Message) -> str:
        level = logging.WARNING if message.notice.status == "firing" else logging.INFO
        log.log(level, "%s", message.words)
        return "written to the log"
