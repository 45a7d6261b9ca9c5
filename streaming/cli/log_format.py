"""Where log lines go: standard error, so that results on standard output stay clean."""

import json
import logging
import sys
import time

from streaming.config import Log
from streaming.wording.names import plain_lines

# These speak of their own wire at INFO, or of addresses that hold secrets at DEBUG.
_TALKATIVE = ("py4j", "kafka", "apprise", "urllib3")


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{record.msecs:03.0f}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": plain_lines(record.getMessage()),
        }
        if record.exc_info:
            line["exception"] = plain_lines(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)


class Words(logging.Formatter):
    """A line each. What follows a line break is indented: brokers and clients choose their names, and no name may look
    like a record of its own or act on a terminal.
    """

    def format(self, record: logging.LogRecord) -> str:
        return plain_lines(super().format(record)).replace("\n", "\n  ")


def configure_logs(log: Log) -> None:
    """Log as the configuration says, in UTC."""
    handler = logging.StreamHandler(sys.stderr)
    words = Words("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter = JsonLines() if log.format == "json" else words
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.basicConfig(level=log.level, handlers=[handler], force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
