"""Settings of the pages. The defaults are in the tables ``[web]`` and ``[metrics]`` of ``config/sections``."""

from pathlib import Path
from typing import NamedTuple

from streaming.notices.notice import Site
from streaming.web.security.access import AccessRules


class Listen(NamedTuple):
    """The address to listen on. ``certificate`` and ``key``: files for TLS, both or none."""

    host: str
    port: int
    certificate: str = ""
    key: str = ""


class WebSettings(NamedTuple):
    """The settings of the pages.

    ``tables``: their folder; ``state``: the notifier's folder, where silences are kept; ``site``: for commands.
    ``series_limit``: the maximum number of series of single groups in ``/metrics``.
    """

    tables: str
    state: Path
    listen: Listen
    access: AccessRules
    site: Site
    series_limit: int
