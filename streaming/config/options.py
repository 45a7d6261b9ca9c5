"""Free options of Kafka and Spark, which are passed on unchanged. Values may be secrets and are treated as such."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, SecretStr

from streaming.config.values import SecretKind

_OURS = {
    "bootstrap.servers": "set source.bootstrap_servers instead",
    "auto.offset.reset": "set source.starting_offsets instead",
    "enable.auto.commit": "Spark keeps the offsets in its checkpoint and refuses this option",
    "interceptor.classes": "Spark refuses this option",
    "key.deserializer": "Spark reads keys as bytes and refuses this option",
    "value.deserializer": "Spark reads values as bytes and refuses this option",
    "spark.master": "set spark.master instead",
    "spark.sql.session.timeZone": "evenkeel's tables are in UTC: it sets this itself",
}


def plain(options: Mapping[str, SecretStr]) -> dict[str, str]:
    """The options with secrets in clear: only for code that needs them."""
    return {name: value.get_secret_value() for name, value in options.items()}


def kafka_name(name: str) -> str:
    """The name with dots: Kafka's names have no underscores, and variables such as SASL_JAAS_CONFIG no dots."""
    return name.lower().replace("_", ".").removeprefix("kafka.")


_PRODUCER_OPTIONS: dict[str, type] = {
    "client.id": str,
    "compression.type": str,
    "request.timeout.ms": int,
    "sasl.kerberos.domain.name": str,
    "sasl.kerberos.name": str,
    "sasl.kerberos.service.name": str,
    "sasl.mechanism": str,
    "sasl.plain.password": str,
    "sasl.plain.username": str,
    "security.protocol": str,
    "socks5.proxy": str,
    "ssl.cafile": str,
    "ssl.certfile": str,
    "ssl.check.hostname": bool,
    "ssl.ciphers": str,
    "ssl.crlfile": str,
    "ssl.keyfile": str,
    "ssl.password": str,
}


def _producer_name(written: str) -> str:
    name = kafka_name(written)
    if name not in _PRODUCER_OPTIONS and name not in _OURS:
        raise ValueError(f"{name}: use one of {', '.join(_PRODUCER_OPTIONS)}")
    return name


def producer_arguments(options: Mapping[str, SecretStr]) -> dict[str, object]:
    """The options as kafka-python's ``KafkaProducer`` takes them, secrets in clear. Raises ValueError."""
    return {name.replace(".", "_"): _converted(name, value) for name, value in plain(options).items()}


def _converted(name: str, value: str) -> object:
    kind = _PRODUCER_OPTIONS[name]
    if kind is bool:
        if value not in ("true", "false"):
            raise ValueError(f"{name}: true or false")
        return value == "true"
    if kind is int and not value.isdecimal():
        raise ValueError(f"{name}: a whole number")
    return kind(value)


def _spark_name(name: str) -> str:
    if not name.startswith("spark."):
        raise ValueError(f"{name}: Spark's settings begin with spark.")
    return name


def _flat(rename: Callable[[str], str]) -> Callable[[object], object]:
    """Return a function that flattens tables: TOML reads ``security.protocol = "SSL"`` as a table within a table."""

    def flatten(table: object) -> object:
        if not isinstance(table, dict):
            return table
        flat: dict[str, SecretStr] = {}
        for written, value in _leaves("", table):
            name = rename(written)
            if name in _OURS:
                raise ValueError(f"{name}: {_OURS[name]}")
            flat[name] = SecretStr(_text(name, value))
        return flat

    return flatten


def _leaves(prefix: str, table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", value


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"{name}: text, a number, true or false")


KafkaOptions = Annotated[
    dict[str, SecretStr],
    Field(description="a table of Kafka client options: text, numbers, true or false"),
    SecretKind.OPTION,
    BeforeValidator(_flat(kafka_name)),
]
ProducerOptions = Annotated[
    dict[str, SecretStr],
    Field(description="a table of kafka-python's options for connections: text, numbers, true or false"),
    SecretKind.OPTION,
    BeforeValidator(_flat(_producer_name)),
]
SparkSettings = Annotated[
    dict[str, SecretStr],
    Field(description="a table of Spark settings: text, numbers, true or false"),
    SecretKind.OPTION,
    BeforeValidator(_flat(_spark_name)),
]
