"""Free options that are passed on as they are: Kafka's and Spark's. Values may be secrets and are kept as such."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, SecretStr

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
    """The options with their secrets in clear: only for those who need them."""
    return {name: value.get_secret_value() for name, value in options.items()}


def kafka_name(name: str) -> str:
    """Kafka's names have no underscores, and those of environment variables no dots: SASL_JAAS_CONFIG."""
    return name.lower().replace("_", ".").removeprefix("kafka.")


def _spark_name(name: str) -> str:
    if not name.startswith("spark."):
        raise ValueError(f"{name}: Spark's settings begin with spark.")
    return name


def _flat(rename: Callable[[str], str]) -> Callable[[object], object]:
    """TOML reads ``security.protocol = "SSL"`` as a table within a table: both ways of writing mean the same."""

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
    BeforeValidator(_flat(kafka_name)),
]
SparkSettings = Annotated[
    dict[str, SecretStr],
    Field(description="a table of Spark settings: text, numbers, true or false"),
    BeforeValidator(_flat(_spark_name)),
]
