"""Whether the hosts that a configuration names take a connection now. Nothing is sent to them."""

import socket
import time
from collections.abc import Iterator
from threading import Semaphore, Thread
from typing import NamedTuple
from urllib.parse import urlsplit

from requests.utils import get_environ_proxies, select_proxy

from streaming.config.alerts import Alerts
from streaming.config.sections import Config
from streaming.config.values import host_and_port, server_list
from streaming.sinks.pagerduty import URL as PAGERDUTY

CONNECT_WITHIN_S = 3.0
ALL_WITHIN_S = 10.0  # a name server that is silent holds up each name for longer
AT_ONCE = 16
_PORTS = {"http": 80, "https": 443}


class Host(NamedTuple):
    """A host to check. ``why``: the key that names it."""

    why: str
    host: str
    port: int

    @property
    def address(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.why}: {self.address}"


def hosts_of(config: Config, alerts: Alerts) -> list[Host]:
    """The hosts of the configuration whose names are no secrets. Only apprise knows the host of a chat sink."""
    return list(dict.fromkeys([*hosts_of_kafka(config), *_name_servers(config), *hosts_of_sinks(alerts)]))


def ask_all(hosts: list[Host], within_s: float = ALL_WITHIN_S) -> Iterator[tuple[Host, str | None]]:
    """Each host in the order given, and why it took no connection. One that has not answered in time counts as away.

    The threads do not keep the process from ending.
    """
    answers: dict[Host, str | None] = {}
    room, until = Semaphore(AT_ONCE), time.monotonic() + within_s

    def ask(host: Host) -> None:
        with room:
            answers[host] = _failure(host)

    threads = [Thread(target=ask, args=(host,), name="ask", daemon=True) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0, until - time.monotonic()))
    in_time = dict(answers)
    for host in hosts:
        yield host, in_time.get(host, f"no answer within {within_s:g} s")


def hosts_of_kafka(config: Config) -> list[Host]:
    if config.source.kind != "kafka":
        return []
    servers = server_list(config.source.bootstrap_servers)
    return [Host("source.bootstrap_servers", *host_and_port(server)) for server in servers]


def _name_servers(config: Config) -> Iterator[Host]:
    for cluster, servers in config.collector.clusters.items():
        for server in server_list(servers):
            yield Host(f"collector.clusters.{cluster}", *host_and_port(server))


def hosts_of_sinks(alerts: Alerts) -> Iterator[Host]:
    for number, sink in enumerate(alerts.sinks):
        url = sink.url or (PAGERDUTY if sink.kind == "pagerduty" else "")
        if url:
            yield _by_url(f"sinks[{number}] {sink.name}", url)
    if alerts.heartbeat.url:
        yield _by_url("heartbeat.url", alerts.heartbeat.url)


def _by_url(why: str, url: str) -> Host:
    """The host of the address, or of the proxy that the environment names for it."""
    proxy = select_proxy(url, get_environ_proxies(url))
    parts = urlsplit(proxy if proxy and "://" in proxy else f"http://{proxy}" if proxy else url)
    named = f"{why}, by the proxy" if proxy else why
    return Host(named, parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 80))


def _failure(host: Host) -> str | None:
    try:
        socket.create_connection((host.host, host.port), CONNECT_WITHIN_S).close()
    except OSError as error:
        return error.strerror or str(error)
    return None
