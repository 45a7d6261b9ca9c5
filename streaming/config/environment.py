"""The variables ``EVENKEEL__SECTION__KEY``, which replace values of the file. Tables and arrays are written as JSON."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from streaming.config.config_errors import NO_VALUE, Fault, KeyPath, key_text
from streaming.config.keys import closest_key, field_at
from streaming.config.options import kafka_name
from streaming.config.sections import Config

PREFIX = "EVENKEEL__"
DELIMITER = "__"


class Overrides(NamedTuple):
    """Values from variables. ``values``: nested like the file; ``names``: the variable that gave each key."""

    values: dict[str, Any]
    names: dict[KeyPath, str]
    faults: list[Fault]

    def name_of(self, key: KeyPath) -> str | None:
        """The variable that gave the key, or a table around it."""
        names = (self.names.get(key[:length]) for length in range(len(key), 0, -1))
        return next((name for name in names if name), None)


def read_environment(environ: Mapping[str, str]) -> Overrides:
    """Read the variables. One with the prefix that matches no key is a fault; its value is not shown."""
    names: dict[KeyPath, str] = {}
    faults = []
    for name in sorted(environ):
        if name.upper().startswith(PREFIX):
            key = tuple(name[len(PREFIX) :].lower().split(DELIMITER))
            if all(key) and field_at(key) is not None and (key[0] != "groups" or len(key) == 1):
                names[_as_in_file(key)] = name
            else:
                near = closest_key(key_text(key))
                meant = f"did you mean {variable(near)}?" if near else f"it is {PREFIX}SECTION{DELIMITER}KEY"
                faults.append(Fault(name, (), NO_VALUE, f"matches no key; {meant}"))
    source = _Source({name: environ[name] for name in names.values()})
    return Overrides({section: _typed((section,), value) for section, value in source().items()}, names, faults)


class _Settings(Config, BaseSettings):
    model_config = SettingsConfigDict()


class _Source(EnvSettingsSource):
    """A source of the given variables, not the process's. What is not JSON stays text, which the sections refuse."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        super().__init__(_Settings, case_sensitive=False, env_prefix=PREFIX, env_nested_delimiter=DELIMITER)
        self.env_vars = {name.lower(): value for name, value in variables.items()}

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value


def _as_in_file(key: tuple[str, ...]) -> KeyPath:
    return (*key[:2], kafka_name(".".join(key[2:]))) if key[1:2] == ("kafka",) and key[2:] else key


def variable(key: KeyPath) -> str:
    """The name of the environment variable for a key."""
    return PREFIX + DELIMITER.join(str(part).upper() for part in key)


def _typed(key: KeyPath, value: object) -> object:
    """The text as the number or boolean that its key requires. Other text stays text, and is refused."""
    if isinstance(value, dict):
        return {name: _typed((*key, name), inner) for name, inner in value.items()}
    field = field_at(key)
    if field is None or not isinstance(value, str):
        return value
    if field.annotation is bool:
        return {"true": True, "false": False}.get(value.lower(), value)
    if field.annotation in (int, float):
        try:
            return field.annotation(value)
        except ValueError:
            return value
    return value
