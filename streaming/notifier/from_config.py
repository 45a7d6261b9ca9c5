"""The notifier's settings, routes and sinks from the configuration and the alert rules."""

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

from streaming.config.alert_rule_checks import zone_named
from streaming.config.alerts import Alerts, SinkSection
from streaming.config.secrets import secret_at
from streaming.config.sections import Config
from streaming.errors import SetupError
from streaming.notices.notice import Notice, Site
from streaming.notifier.heartbeat import Heartbeat
from streaming.notifier.monitor_health import monitor_limits
from streaming.notifier.pages import page_settings
from streaming.notifier.sink_view import Route
from streaming.notifier.state_files import require_known_form
from streaming.notifier.threads import Destination, NotifierSettings
from streaming.secret_mask import every_part
from streaming.sinks.alertmanager import AlertmanagerSink
from streaming.sinks.chat import ChatSink
from streaming.sinks.log import LogSink
from streaming.sinks.masked_sink import MaskedSink
from streaming.sinks.pagerduty import PagerDutySink
from streaming.sinks.sink import Sink
from streaming.sinks.webhook import WebhookSink
from streaming.tables.storage import local_path, replayed_by
from streaming.tables.version import require_known_tables

_BY_HTTP: dict[str, Callable[[str, str, str, float], Sink]] = {
    "webhook": WebhookSink,
    "alertmanager": AlertmanagerSink,
    "pagerduty": PagerDutySink,
}


def notifier_settings(
    config: Config, alerts: Alerts, environ: Mapping[str, str] | None = None, file: Path | None = None
) -> NotifierSettings:
    """The settings of the notifier. ``file``: the configuration file, for the commands in a page.

    Raises SetupError if a sink cannot be created, and for tables that a replay made. Raises it for state of a newer
    evenkeel, and CheckpointError for tables of one on this machine. An object store may be away: it is asked later.
    """
    maker = replayed_by(config.tables.path)
    if maker is not None:
        raise SetupError(
            f"the tables in {config.tables.path} were made by '{maker}': what they say is past, and nobody is to be "
            "paged for it; name the tables of 'evenkeel run' in tables.path"
        )
    if local_path(config.tables.path) is not None:
        require_known_tables(config.tables.path)
    require_known_form(Path(config.notify.state))
    names = tuple(sink.name for sink in alerts.sinks)
    routes = tuple(
        Route(tuple(route.sinks), route.cluster, route.group, frozenset(route.severities)) for route in alerts.routes
    )
    return NotifierSettings(
        tables=config.tables.path,
        state=Path(config.notify.state).resolve(),
        destinations=[Destination(sink_of(section, environ), section.language) for section in alerts.sinks],
        routes=routes or (Route(names),),
        page_settings=page_settings(alerts.pages),
        limits=monitor_limits(alerts.monitor),
        clusters=tuple(config.collector.clusters),
        link=link_template(alerts.pages.link),
        site=site_of(config, alerts, file),
        heartbeat=Heartbeat(alerts.heartbeat.url, alerts.heartbeat.every_seconds) if alerts.heartbeat.url else None,
    )


def site_of(config: Config, alerts: Alerts, file: Path | None) -> Site:
    """The facts about the installation for pages. ``file``: the configuration file, for the commands in a page."""
    pages = alerts.pages
    return Site(
        config=str(file.absolute()) if file is not None else "",
        name_servers=config.collector.clusters,
        zone=zone_named(pages.time_zone) if pages.time_zone else None,
        docs=pages.docs.rstrip("/") or "docs",
        tables="" if file is not None else absolute(config.tables.path),
        state="" if file is not None else absolute(config.notify.state),
    )


def absolute(folder: str) -> str:
    """Return the folder's absolute path; an address of another storage is returned unchanged."""
    path = local_path(folder)
    return folder if path is None else str(path.absolute())


def sink_of(section: SinkSection, environ: Mapping[str, str] | None = None) -> Sink:
    """The sink that a section describes, with its secret, which is never shown."""
    secret = secret_at(section.secret, environ)
    secrets = {secret, *every_part(section.url), *every_part(secret, names_host=False)}
    if section.kind in _BY_HTTP:
        sink = _BY_HTTP[section.kind](section.name, section.url, secret, section.timeout_seconds)
    else:
        sink = LogSink(section.name) if section.kind == "log" else ChatSink(section.name, section.kind, secret)
    return MaskedSink(sink, secrets)


def link_template(template: str) -> Callable[[Notice], str | None]:
    """Return a function that makes a notice's address; it names the group or alert only if there is a single one."""

    def link(notice: Notice) -> str | None:
        group = notice.groups[0] if len(notice.groups) == 1 else ""
        alert = notice.alerts[0].fact.fingerprint if group and len(notice.alerts) == 1 else ""
        names = {"cluster": notice.cluster, "group": group, "alert": alert}
        return template.format(**{name: quote(value, safe="") for name, value in names.items()}) or None

    return link
