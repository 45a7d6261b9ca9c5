"""From the configuration to what the collector needs: the clusters, credentials, TLS, the outputs."""

import socket
import ssl
from collections.abc import Callable
from os import getpid
from pathlib import Path
from typing import NoReturn

from streaming.collector.failover.membership import Membership
from streaming.collector.failover.reach import Reach
from streaming.collector.failover.topic import connect
from streaming.collector.output.kafka import KafkaOutput, make_producer
from streaming.collector.wire.acl import Credentials
from streaming.config.options import producer_arguments
from streaming.config.sections import Collector, Config
from streaming.config.values import server_list
from streaming.errors import CollectorError


def name_servers(config: Config) -> dict[str, tuple[str, ...]]:
    """By cluster. Raises CollectorError where there is no cluster to watch."""
    if not config.collector.clusters:
        raise CollectorError(
            'collector.clusters is empty: name the clusters to watch, as in clusters = { prod = "10.0.0.1:9876" }'
        )
    return {cluster: server_list(servers) for cluster, servers in config.collector.clusters.items()}


def credentials_of(collector: Collector) -> Credentials | None:
    """Raises CollectorError for a secret's file that cannot be read."""
    if not collector.access_key:
        return None
    secret = collector.secret_key.get_secret_value()
    if collector.secret_key_file:
        try:
            secret = Path(collector.secret_key_file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise CollectorError(f"{collector.secret_key_file}: the secret cannot be read from it") from None
    return Credentials(collector.access_key, secret)


def tls_of(collector: Collector) -> ssl.SSLContext | None:
    """Names are not compared, since brokers are known by address. Raises CollectorError for unusable files."""
    if not collector.tls:
        return None
    try:
        context = ssl.create_default_context(cafile=collector.tls_ca_file or None)
        context.check_hostname = False
        if not collector.tls_verify:
            context.verify_mode = ssl.CERT_NONE
        if collector.tls_cert_file:
            _load_key(context, collector.tls_cert_file, collector.tls_key_file)
    except (OSError, ValueError) as error:
        raise CollectorError(f"collector.tls: the certificates cannot be used: {error}") from error
    return context


def _load_key(context: ssl.SSLContext, certificate: str, key: str, password: str = "", option: str = "") -> None:
    """Raises CollectorError for an encrypted key without its passphrase: OpenSSL would ask at the terminal, and a
    service would wait for ever. ``option`` is that of the passphrase.
    """
    set_it = f"set {option}, or " if option else ""

    def refuse() -> NoReturn:
        raise CollectorError(
            f"{key or certificate}: the key is encrypted and its passphrase is not known: {set_it}store the key "
            "without one, readable for evenkeel alone (openssl pkey -in KEY -out NEW)"
        )

    context.load_cert_chain(certificate, key or None, password=password or refuse)


def kafka_output(config: Config, went_on: Callable[[], object]) -> KafkaOutput:
    """Raises CollectorError for a key of the Kafka client that cannot be used."""
    options = client_options(config)
    servers, limit_bytes = config.source.bootstrap_servers, config.collector.memory_mb * 1024 * 1024
    return KafkaOutput(lambda: make_producer(servers, options), config.source.topic, limit_bytes, went_on)


def membership(config: Config, went_on: Callable[[], object]) -> Membership:
    """Of the collectors that agree by the topic ``failover_topic``. Raises CollectorError as ``client_options``."""
    options, servers, topic = client_options(config), config.source.bootstrap_servers, config.collector.failover_topic
    return Membership(
        name_servers(config),
        lambda assignor: connect(servers, options, topic, assignor),
        topic,
        Reach(config.collector.interval_seconds),
        went_on,
    )


def client_options(config: Config) -> dict[str, object]:
    """The options of the Kafka client. Raises CollectorError for a key that cannot be used.

    The client would find it later, in a thread of its own, and ask at the terminal for the passphrase.
    """
    options = producer_arguments(config.collector.kafka)
    certificate, key, password = (str(options.get(f"ssl_{name}") or "") for name in ("certfile", "keyfile", "password"))
    if not certificate:
        return options
    try:
        _load_key(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), certificate, key, password, "collector.kafka.ssl.password")
    except (OSError, ValueError) as error:
        raise CollectorError(f"collector.kafka: the key and its certificate cannot be used: {error}") from error
    return options


def source_name(now_ms: int) -> str:
    """The life of this producer, for people too."""
    return f"collector {socket.gethostname()} {getpid()} {now_ms}"[:255]
