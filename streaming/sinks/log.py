"""A sink that writes pages to evenkeel's own log."""

import logging
from dataclasses import dataclass

from streaming.sinks.sink import Message, Sink

log = logging.getLogger(__name__)


@dataclass
class LogSink(Sink):
    name: str

    def send(self, message: Message) -> str:
        level = logging.WARNING if message.notice.status == "firing" else logging.INFO
        log.log(level, "%s", "\n".join(filter(None, message.text)))
        return "written to the log"
