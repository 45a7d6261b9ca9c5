"""The format of log lines. They go to standard error, so that standard output has only results."""

import json
import logging
import sys
import time

from streaming.config.sections import Log
from streaming.secret_mask import masked
from streaming.wording.names import plain_lines

# They log their own requests at INFO, or addresses that contain secrets at DEBUG.
_AT_WARNING = ("py4j", "kafka", "apprise", "urllib3")


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{record.msecs:03.0f}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": plain_lines(masked(record.getMessage())),
        }
        if record.exc_info:
            line["exception"] = plain_lines(masked(self.formatException(record.exc_info)))
        return json.dumps(line, ensure_ascii=False, default=str)


class TextLines(logging.Formatter):
    """One line of text a record. Text after a line break is indented, so that no name of a broker or client looks like
    a record, or acts on a terminal.
    """

    def format(self, record: logging.LogRecord) -> str:
        return plain_lines(masked(super().format(record))).replace("\n", "\n  ")


def configure_logs(log: Log) -> None:
    """Log as the configuration says, in UTC."""
    handler = logging.StreamHandler(sys.stderr)
    text = TextLines("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter = JsonLines() if log.format == "json" else text
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.basicConfig(level=log.level, handlers=[handler], force=True)
    for name in _AT_WARNING:
        logging.getLogger(name).setLevel(logging.WARNING)
