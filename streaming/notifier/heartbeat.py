"""A caller of a dead-man switch's URL while all is well: the service behind it alarms when the calls stop.

The interval stands in the table ``[heartbeat]`` of ``config/alerts``.
"""

import logging
from collections.abc import Callable
from threading import Event
from urllib.parse import urlsplit

import requests

from streaming.sinks.bounded_http import exchange
from streaming.sinks.http import is_success

log = logging.getLogger(__name__)

TIMEOUT_S = 10.0


class Heartbeat:
    """A GET of ``url`` every ``every_s`` seconds; its path may be a secret and is never shown."""

    def __init__(self, url: str, every_s: float) -> None:
        self._url = url
        self._every_s = every_s

    def run(self, is_well: Callable[[], bool], stop: Event) -> None:
        """Call the URL until ``stop``. The first call comes after one interval."""
        while not stop.wait(self._every_s):
            if is_well():
                self._beat()
            else:
                log.warning("no heartbeat is sent: not all is well")

    def _beat(self) -> None:
        host = urlsplit(self._url).hostname
        try:
            response = exchange("GET", self._url, TIMEOUT_S, timeout=TIMEOUT_S)
            if not is_success(response):
                log.warning("heartbeat: %s answered %s", host, response.status_code)
        except requests.RequestException as error:
            log.warning("heartbeat: %s cannot be reached: %s", host, type(error).__name__)
