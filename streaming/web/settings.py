"""The settings of the pages, from the configuration and the alert rules.

The defaults are in the tables ``[web]`` and ``[metrics]`` of ``config/sections``.
"""

import sys
from pathlib import Path
from shlex import quote
from shutil import which
from typing import NamedTuple

from streaming.config.alerts import Alerts
from streaming.config.sections import Config, Web
from streaming.config.values import is_loopback
from streaming.core.retention import FORGET_AFTER_MS
from streaming.networks import networks
from streaming.notices.notice import Site
from streaming.notifier.from_config import site_of
from streaming.tables.storage import replayed_by
from streaming.web.security.access import AccessRules
from streaming.web.security.users import read_users


class WebSettings(NamedTuple):
    """The settings of the pages.

    ``tables``: their folder; ``state``: the notifier's folder, where silences are kept; ``site``: for commands.
    ``series_limit``: the maximum number of series of single groups in ``/metrics``. ``forget_after_ms``: so long a
    group without a status is shown.
    """

    tables: str
    state: Path
    web: Web
    access: AccessRules
    site: Site
    series_limit: int
    forget_after_ms: int = FORGET_AFTER_MS


def web_settings(config: Config, alerts: Alerts, file: Path | None = None) -> WebSettings:
    """The settings. ``file``: the configuration's path, for commands. Raises SetupError for a wrong file of users."""
    web = config.web
    host, _ = web.address()
    return WebSettings(
        tables=config.tables.path,
        state=Path(config.notify.state).resolve(),
        web=web,
        access=AccessRules(
            users=read_users(web.users),
            needs_user=bool(web.users or web.proxies) or not is_loopback(host),
            proxies=networks(web.proxies),
            proxy_header=web.proxy_header,
            may_silence=frozenset(web.may_silence),
            hosts=frozenset(name.lower() for name in web.hosts),
        ),
        site=site_of(config, alerts, file)._replace(
            program=started_as(sys.argv[0]) if is_loopback(host) else "evenkeel",
            is_played=replayed_by(config.tables.path) is not None,
        ),
        series_limit=config.metrics.series_limit,
        forget_after_ms=config.settings().timing.forget_after_ms,
    )


def started_as(program: str) -> str:
    """The command that starts this evenkeel in a shell on this machine. ``program``: its name for Python."""
    path = Path(program).absolute()
    if path.name == "__main__.py":
        return f"{quote(sys.executable)} -m streaming"
    is_at_hand = path.name != "evenkeel" or which("evenkeel") == str(path)
    return "evenkeel" if is_at_hand else quote(str(path))
