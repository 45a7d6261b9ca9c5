"""The file for the pages of the demo, which the sink ``log`` writes. The terminal shows their titles."""

import logging
import time
from pathlib import Path
from queue import SimpleQueue

from streaming.log_format import TextLines
from streaming.sinks.log import log as pages


class PageLog(logging.FileHandler):
    """A log handler that takes every page from its creation on, so that none goes to standard error."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8")
        formatter = TextLines("%(asctime)sZ %(message)s", "%Y-%m-%dT%H:%M:%S")
        formatter.converter = time.gmtime
        self.setFormatter(formatter)
        self._titles: SimpleQueue[str] = SimpleQueue()
        pages.addHandler(self)
        pages.setLevel(logging.INFO)
        pages.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        self._titles.put(self.format(record).partition("\n")[0].partition(" ")[2])

    def new_titles(self) -> list[str]:
        """The titles of pages since the last call."""
        return [self._titles.get() for _ in range(self._titles.qsize())]

    def close(self) -> None:
        pages.removeHandler(self)
        pages.propagate = True
        super().close()
