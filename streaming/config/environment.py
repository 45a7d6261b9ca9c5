"""The variables ``EVENKEEL__SECTION__KEY``, which replace values of the file. Tables and arrays are written as JSON.

``EVENKEEL__SECTION__KEY__FILE`` names a file with the value: a secret that is in no variable.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_origin

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from streaming.config.config_errors import NO_VALUE, Fault, KeyPath, key_text
from streaming.config.keys import REMOVED, closest_key, field_at
from streaming.config.options import kafka_name
from streaming.config.secrets import text_file_fault
from streaming.config.sections import Config

PREFIX = "EVENKEEL__"
DELIMITER = "__"
IN_FILE = "file"  # the last part of a variable that names a file


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
    values: dict[str, str] = {}
    faults = []
    for name in sorted(environ):
        if name.upper().startswith(PREFIX):
            key = tuple(name[len(PREFIX) :].lower().split(DELIMITER))
            if _names_a_file(key):
                key = key[:-1]
                if (fault := _file_fault(environ[name], names.get(_as_in_file(key)))) is not None:
                    faults.append(Fault(name, key, NO_VALUE, fault))
                    continue
                text = Path(environ[name]).read_text("utf-8").strip()
            else:
                text = environ[name]
            if all(key) and field_at(key) is not None and (key[0] != "groups" or len(key) == 1):
                names[_as_in_file(key)] = name
                values[variable(key)] = text
            else:
                faults.append(Fault(name, (), NO_VALUE, REMOVED.get(key) or _unknown(key)))
    source = _Source(values)
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


def _unknown(key: tuple[str, ...]) -> str:
    near = closest_key(key_text(key))
    meant = f"did you mean {variable(near)}?" if near else f"it is {PREFIX}SECTION{DELIMITER}KEY"
    return f"matches no key; {meant}"


def _names_a_file(key: tuple[str, ...]) -> bool:
    """True for a text or an option behind which ``file`` stands. ``collector.file`` is a key of its own."""
    field = field_at(key[:-1]) if len(key) > 2 and key[-1] == IN_FILE else None
    return field is not None and all(key) and not (get_origin(field.annotation) is dict and len(key) == 3)


def _file_fault(path: str, other: str | None) -> str | None:
    return text_file_fault(path) if other is None else f"not set while {other} is"


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
