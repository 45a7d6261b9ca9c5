"""The settings of the pages from the configuration and the alert rules."""

from pathlib import Path

from streaming.config import Alerts, Config
from streaming.config.values import is_loopback
from streaming.notifier.from_config import site_of
from streaming.web.security.access import AccessRules, networks
from streaming.web.security.users import read_users
from streaming.web.settings import Listen, WebSettings


def web_settings(config: Config, alerts: Alerts, file: Path | None = None) -> WebSettings:
    """``file``: of the configuration, for the commands on the pages. Raises SetupError for a file of users."""
    web = config.web
    host, port = web.address()
    return WebSettings(
        tables=config.tables.path,
        state=Path(config.notify.state).resolve(),
        listen=Listen(host, port, web.tls_cert_file, web.tls_key_file),
        access=AccessRules(
            users=read_users(web.users),
            needs_user=bool(web.users or web.proxies) or not is_loopback(host),
            proxies=networks(web.proxies),
            proxy_header=web.proxy_header,
            may_silence=frozenset(web.may_silence),
            hosts=frozenset(name.lower() for name in web.hosts),
        ),
        site=site_of(config, alerts, file),
        series_limit=config.metrics.series_limit,
    )
