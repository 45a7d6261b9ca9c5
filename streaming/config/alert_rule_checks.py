"""Checks of the alert rules across keys: the keys of a sink that go together, and what the machine has."""

import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from string import Formatter
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from streaming.config.alerts import SINK_NAME, Alerts, RouteSection, SecretPlace, SinkSection
from streaming.config.config_errors import NO_VALUE, KeyPath
from streaming.config.cross_key_checks import Broken
from streaming.config.secrets import secret_at, text_file_fault
from streaming.config.sections import Config
from streaming.config.values import is_host

_BY_APPRISE = frozenset({"dingtalk", "feishu", "wecom", "slack", "mail", "apprise"})
_WITH_URL = frozenset({"webhook", "alertmanager"})
_MAY_HAVE_URL = _WITH_URL | {"pagerduty"}
_WITH_SECRET = _BY_APPRISE | {"pagerduty"}
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_ADDRESS = "an address that begins with https:// or http://"
_IN_A_HEADER = re.compile(r"[!-~]+")  # RFC 6750: a bearer token is ASCII without spaces


def zone_named(name: str) -> ZoneInfo | None:
    """The time zone; None if this machine has none of that name."""
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return None


def broken_alert_rules(alerts: Alerts, config: Config, environ: Mapping[str, str]) -> Iterator[Broken]:
    """Every rule that valid values break, among themselves or together with ``config``."""
    yield from _monitor(alerts, config)
    link = alerts.pages.link
    if link and not _is_link(link):
        yield Broken(
            (("pages", "link"),), link, f"{_ADDRESS}; {{cluster}}, {{group}} and {{alert}} in it stand for their names"
        )
    if alerts.pages.docs and not _is_address(alerts.pages.docs):
        yield Broken((("pages", "docs"),), alerts.pages.docs, f"{_ADDRESS}, where evenkeel's folder docs/ can be read")
    if alerts.pages.time_zone and zone_named(alerts.pages.time_zone) is None:
        yield Broken(
            (("pages", "time_zone"),), alerts.pages.time_zone, 'a name that this machine knows: "Asia/Shanghai"'
        )
    if alerts.heartbeat.url and not _is_address(alerts.heartbeat.url):
        yield Broken((("heartbeat", "url"),), alerts.heartbeat.url, _ADDRESS)
    names = [sink.name for sink in alerts.sinks]
    for number, sink in enumerate(alerts.sinks):
        if not _NAME.fullmatch(sink.name) or sink.name in names[:number]:
            yield Broken((("sinks", number, "name"),), sink.name, SINK_NAME)
        yield from _sink(number, sink, environ)
    for number, route in enumerate(alerts.routes):
        yield from _route(number, route, names)
    yield from _last_route(alerts.routes)


def _monitor(alerts: Alerts, config: Config) -> Iterator[Broken]:
    least = max(2 * config.job.health_seconds + 5, 2 * config.collector.interval_seconds + 20)
    if alerts.monitor.blind_seconds < least:
        allowed = f"at least {least:g}: job.health_seconds and collector.interval_seconds say how often there is news"
        yield Broken((("monitor", "blind_seconds"),), alerts.monitor.blind_seconds, allowed)


def _sink(number: int, sink: SinkSection, environ: Mapping[str, str]) -> Iterator[Broken]:
    url: KeyPath = ("sinks", number, "url")
    kind: KeyPath = ("sinks", number, "kind")
    if sink.url and sink.kind not in _MAY_HAVE_URL:
        where = "; its address is its secret" if sink.kind in _BY_APPRISE else ""
        yield Broken((url, kind), sink.url, f"nothing where kind is {sink.kind}{where}")
    elif (sink.url or sink.kind in _WITH_URL) and not _is_address(sink.url):
        yield Broken((url, kind), sink.url or NO_VALUE, f"{_ADDRESS}, since kind is {sink.kind}")
    if sink.kind in _BY_APPRISE and find_spec("apprise") is None:
        yield Broken((kind,), sink.kind, "another kind, unless apprise is installed: pip install apprise")
    yield from _secret(number, sink, environ)


def _secret(number: int, sink: SinkSection, environ: Mapping[str, str]) -> Iterator[Broken]:
    key: KeyPath = ("sinks", number, "secret")
    place = sink.secret
    if place is None:
        if sink.kind in _WITH_SECRET:
            yield Broken(
                (key, ("sinks", number, "kind")), None, f"given where kind is {sink.kind}: {_meaning(sink.kind)}"
            )
    elif sink.kind == "log":
        yield Broken((key, ("sinks", number, "kind")), "", "nothing where kind is log")
    elif bool(place.env) == bool(place.file):
        yield Broken((key,), "", "one of env and file")
    else:
        given: KeyPath = (*key, "env" if place.env else "file")
        if (allowed := _secret_fault(sink.kind, place, environ)) is not None:
            yield Broken((given,), "", allowed)


def _secret_fault(kind: str, place: SecretPlace, environ: Mapping[str, str]) -> str | None:
    """The requirement that the place of a secret does not meet; None if there is a secret.

    A path is not shown, nor a text that cannot be a variable's name: it may be the secret itself.
    """
    if place.file and (fault := text_file_fault(place.file)) is not None:
        return fault
    if place.env and not environ.get(place.env, "").strip():
        named = f"; {place.env} is not" if _VARIABLE.fullmatch(place.env) else ""
        return f"the name of a variable that is set and not empty{named}"
    if kind == "alertmanager" and not _IN_A_HEADER.fullmatch(secret_at(place, environ)):
        return "the place of a bearer token: ASCII without blanks"
    return None


def _meaning(kind: str) -> str:
    return "the integration key" if kind == "pagerduty" else "the address that apprise takes, which holds the token"


def _route(number: int, route: RouteSection, names: list[str]) -> Iterator[Broken]:
    here: KeyPath = ("routes", number)
    if unknown := [name for name in route.sinks if name not in names]:
        yield Broken(((*here, "sinks"),), unknown, f"names of sinks: {', '.join(names)}")
    if "/" in route.cluster:
        yield Broken(((*here, "cluster"),), route.cluster, "a pattern without /, since no cluster's name has one")


def _last_route(routes: list[RouteSection]) -> Iterator[Broken]:
    for number, route in enumerate(routes):
        is_last = number == len(routes) - 1
        is_for_all = (route.cluster, route.group, len(set(route.severities))) == ("*", "*", 2)
        if is_last and not is_for_all:
            allowed = (
                "a last route for all that is left, with neither cluster, group nor severities; sinks = [] is nobody"
            )
            yield Broken((("routes", number), ("routes",)), "", allowed)
        if is_for_all and not is_last:
            allowed = f"the last route: routes[{number}] is for everything, and the first match counts"
            yield Broken((("routes", number), ("routes",)), "", allowed)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in ("http", "https")
            and is_host(parts.hostname or "")
            and parts.port != 0
            and not any(map(str.isspace, text))
        )
    except ValueError:  # "[::1" without its bracket, or a port of six digits
        return False


def _is_link(template: str) -> bool:
    """True if the template becomes an address with names filled in. Fields of a name, as in {group.x}, are refused."""
    try:
        names = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
        return names <= {"cluster", "group", "alert"} and _is_address(
            template.format(cluster="c", group="g", alert="a")
        )
    except ValueError:
        return False
