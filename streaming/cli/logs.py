"""Where log lines go: standard error, so that results on standard output stay clean."""

import json
import logging
import sys
import time

from streaming.config import Log

# These speak of their own wire at INFO, or of addresses that hold secrets at DEBUG.
_TALKATIVE = ("py4j", "kafka", "apprise", "urllib3")


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{record.msecs:03.0f}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def configure_logs(log: Log) -> None:
    """Log as the configuration says, in UTC."""
    handler = logging.StreamHandler(sys.stderr)
    words = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter = JsonLines() if log.format == "json" else words
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.basicConfig(level=log.level, handlers=[handler], force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
