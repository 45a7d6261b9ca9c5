"""From a file and the environment to a ``Config``, or to every fault at once."""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from streaming.config.environment import Overrides, read_environment
from streaming.config.faults import NO_VALUE, ConfigFaults, Fault, KeyPath, key_text
from streaming.config.keys import field_at, suggestion
from streaming.config.rules import broken_rules
from streaming.config.sections import Config
from streaming.config.values import allowed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEFAULTS = "defaults"
_TABLE_TYPES = ("model_type", "model_attributes_type", "dict_type")
_DAMAGED = "cannot be read as TOML"


class Loaded(NamedTuple):
    """A configuration, and which environment variable gave a key."""

    config: Config
    overrides: Overrides


class _Given(NamedTuple):
    """What was written, and where."""

    place: str
    values: dict[str, Any]
    overrides: Overrides

    def where(self, key: KeyPath) -> str:
        """The variable that gave the key or a table around it, else the file."""
        return self.overrides.name_of(key) or self.place


def load_config(path: Path | None, environ: Mapping[str, str] | None = None) -> Config:
    """The configuration in force: defaults, then the file, then the environment (the process's own if not given).

    Raises ConfigError (a ``ConfigFaults``) with every fault at once.
    """
    return read_config(path, environ).config


def read_config(path: Path | None, environ: Mapping[str, str] | None = None) -> Loaded:
    """The same, and where single values came from."""
    overrides = read_environment(os.environ if environ is None else environ)
    faults = list(overrides.faults)
    file_values: dict[str, Any] = {}
    if path is not None:
        try:
            file_values = _parse(path)
        except ConfigFaults as unreadable:
            # What the file would have said is not known: only what the environment says can be judged.
            given = _Given(str(path), overrides.values, overrides)
            others = [fault for fault in _field_faults(given) if fault.where != given.place]
            raise ConfigFaults([*unreadable.faults, *faults, *others]) from unreadable
    given = _Given(str(path or DEFAULTS), _merged(file_values, overrides.values), overrides)
    field_faults = _field_faults(given)
    values = given.values
    for fault in field_faults:
        values = _without(values, fault.key)
    config = Config(**values)
    faults += [*field_faults, *_rule_faults(given, config, {fault.key for fault in field_faults})]
    if faults:
        raise ConfigFaults(faults)
    return Loaded(config, overrides)


def _parse(path: Path) -> dict[str, Any]:
    try:
        values: dict[str, Any] = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        allowed_here = f"cannot be read: {error.strerror or error}"
    except UnicodeDecodeError as error:
        allowed_here = f"{_DAMAGED}: {error.reason} at byte {error.start}; TOML is written in UTF-8"
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or arrays as deep
        allowed_here = f"{_DAMAGED}: {error}"
    else:
        return values
    raise ConfigFaults([Fault(str(path), (), NO_VALUE, allowed_here)])


def _merged(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """``upper`` comes last: of one option spelt in two ways the later one counts."""
    merged = {name: value for name, value in lower.items() if name not in upper}
    for name, value in upper.items():
        below = lower.get(name, {})
        if not isinstance(value, dict):
            merged[name] = value
        elif isinstance(below, dict):
            merged[name] = _merged(below, value)
        else:
            merged[name] = below  # no table where one belongs: to be refused
    return merged


def _field_faults(given: _Given) -> list[Fault]:
    unknown = [(name,) for name in given.values if name not in Config.model_fields]
    faults = [Fault(given.where(key), key, given.values[key[0]], suggestion(key)) for key in unknown]
    try:
        Config(**{name: value for name, value in given.values.items() if (name,) not in unknown})
    except ValidationError as error:
        faults += _told(given, error)
    return faults


def _rule_faults(given: _Given, config: Config, refused: set[KeyPath]) -> Iterator[Fault]:
    """Only what concerns no refused key, and one fault a key."""
    told: set[KeyPath] = set()
    for broken in broken_rules(config):
        first = broken.keys[0]
        if first not in told and not any(_touches(key, refused) for key in broken.keys):
            told.add(first)
            yield Fault(given.where(first), first, broken.value, broken.allowed)


def _told(given: _Given, error: ValidationError) -> Iterator[Fault]:
    for detail in error.errors(include_url=False):
        key = tuple(detail["loc"])
        value = NO_VALUE if detail["type"] == "missing" else detail["input"]
        yield Fault(given.where(key), key, value, _allowed(key, detail))


def _allowed(key: KeyPath, detail: Any) -> str:
    if detail["type"] == "extra_forbidden":
        return suggestion(key)
    if detail["type"] == "value_error":
        return str(detail["ctx"]["error"])
    field = field_at(key)
    if field is None or (detail["type"] in _TABLE_TYPES and isinstance(key[-1], int)):
        return "a table"
    if key == ("groups",):
        return "an array of tables, each written [[groups]]"
    if detail["type"] in _TABLE_TYPES:
        return f"{allowed(field)}, written [{key_text(key)}]"
    return ("missing; " if detail["type"] == "missing" else "") + allowed(field)


def _without(values: Mapping[str, Any], key: KeyPath) -> dict[str, Any]:
    """The values without the one refused, so that the others can be judged together. Rules keep their places."""
    head, *rest = key
    inner = values.get(str(head))
    if rest and isinstance(inner, dict):
        kept: Any = _without(inner, tuple(rest))
    elif rest and isinstance(inner, list) and head == "groups":
        kept = list(inner)
        number, *within = rest
        assert isinstance(number, int)
        rule = inner[number]
        kept[number] = _without(rule, tuple(within)) if within and isinstance(rule, dict) else {}
    else:
        return {name: value for name, value in values.items() if name != head}
    return {**values, str(head): kept}


def _touches(key: KeyPath, faulty: set[KeyPath]) -> bool:
    return any(key[: len(other)] == other or other[: len(key)] == key for other in faulty if other)
