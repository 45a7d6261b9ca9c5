"""A caller of a dead-man switch's URL while all is well: the service behind it alarms when the calls stop.

The interval stands in the table ``[heartbeat]`` of ``config/alerts``.
"""

import logging
import time
from collections.abc import Callable
from threading import Event
from urllib.parse import urlsplit

import requests

from streaming.sinks.bounded_http import exchange
from streaming.sinks.http import is_success

log = logging.getLogger(__name__)

TIMEOUT_S = 10.0
AGAIN_S = 5.0  # after a look at which not all was well


class Heartbeat:
    """A GET of ``url`` every ``every_s`` seconds; its path may be a secret and is never shown."""

    def __init__(self, url: str, every_s: float) -> None:
        self._url = url
        self._every_s = every_s
        self._counted_from_s = time.monotonic()

    def take_over(self, former: "Heartbeat") -> None:
        """Count the interval from the last call of another, which ends: a reload makes no call late."""
        self._counted_from_s = former._counted_from_s

    def run(self, is_well: Callable[[], bool], stop: Event) -> None:
        """Call the URL until ``stop``. The first call comes after one interval.

        A call that is due while not all is well is made as soon as all is well again.
        """
        pause_s, was_well = self._counted_from_s + self._every_s - time.monotonic(), True
        while not stop.wait(max(0.0, pause_s)):
            if is_well():
                self._beat()
                self._counted_from_s = time.monotonic()
                pause_s, was_well = self._every_s, True
                continue
            if was_well:
                log.warning("no heartbeat is sent until all is well")
            pause_s, was_well = min(self._every_s, AGAIN_S), False

    def _beat(self) -> None:
        host = urlsplit(self._url).hostname
        try:
            response = exchange("GET", self._url, TIMEOUT_S, timeout=TIMEOUT_S)
            if not is_success(response):
                log.warning("heartbeat: %s answered %s", host, response.status_code)
        except requests.RequestException as error:
            log.warning("heartbeat: %s cannot be reached: %s", host, type(error).__name__)
