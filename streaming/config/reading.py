"""The reading of one file by its model: its values, and a fault for each value that its key does not allow."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from streaming.config.config_errors import HIDDEN, NO_VALUE, ConfigFaults, Fault, KeyPath, key_text
from streaming.config.cross_key_checks import Broken
from streaming.config.keys import field_at, suggestion
from streaming.config.line_numbers import key_lines
from streaming.config.values import allowed

_TABLE_TYPES = ("model_type", "model_attributes_type", "dict_type")
_ARRAY_TYPES = ("list_type", "tuple_type")
_DAMAGED = "cannot be read as TOML"

Where = Callable[[KeyPath], str]


def parse(path: Path) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """The file's values, and the line of each. Raises ConfigFaults."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        values: dict[str, Any] = tomllib.loads(text)
    except OSError as error:
        allowed_here = f"cannot be read: {error.strerror or error}"
    except UnicodeDecodeError as error:
        allowed_here = f"{_DAMAGED}: {error.reason} at byte {error.start}; TOML is written in UTF-8"
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or thousands of nested arrays
        allowed_here = f"{_DAMAGED}: {error}"
    else:
        return values, key_lines(text)
    raise ConfigFaults([Fault(str(path), (), NO_VALUE, allowed_here)])


def field_faults(root: type[BaseModel], values: Mapping[str, Any], where: Where) -> list[Fault]:
    """The faults of values that ``root`` refuses; ``where`` returns the place that gave a key."""
    unknown = [(name,) for name in values if name not in root.model_fields]
    faults = [Fault(where(key), key, _hidden(values[key[0]]), suggestion(key, root)) for key in unknown]
    try:
        root(**{name: value for name, value in values.items() if (name,) not in unknown})
    except ValidationError as error:
        faults += _faults_in(root, error, where)
    return faults


def rule_faults(broken_rules: Iterable[Broken], refused: Iterable[Fault], where: Where) -> Iterator[Fault]:
    """The faults of broken rules that concern no refused key, at most one for each key."""
    reported: set[KeyPath] = set()
    faulty = {fault.key for fault in refused}
    for broken in broken_rules:
        first = broken.keys[0]
        if first not in reported and not any(_touches(key, faulty) for key in broken.keys):
            reported.add(first)
            yield Fault(where(first), first, broken.value, broken.allowed)


def without(values: Mapping[str, Any], key: KeyPath, is_top: bool = True) -> dict[str, Any]:
    """The values without the refused one, so that the others can be checked together.

    The tables of an array at the top keep their indexes.
    """
    head, *rest = key
    inner = values.get(str(head))
    if rest and isinstance(inner, dict):
        kept: Any = without(inner, tuple(rest), False)
    elif is_top and rest and isinstance(inner, list):
        kept = list(inner)
        number, *within = rest
        assert isinstance(number, int)
        table = inner[number]
        kept[number] = without(table, tuple(within), False) if within and isinstance(table, dict) else {}
    else:
        return {name: value for name, value in values.items() if name != head}
    return {**values, str(head): kept}


def _faults_in(root: type[BaseModel], error: ValidationError, where: Where) -> Iterator[Fault]:
    for detail in error.errors(include_url=False):
        key = tuple(detail["loc"])
        value = NO_VALUE if detail["type"] == "missing" else detail["input"]
        value = _hidden(value) if detail["type"] == "extra_forbidden" else value
        yield Fault(where(key), key, value, _allowed(root, key, detail))


def _hidden(value: object) -> object:
    """The value without texts, for an unknown key: it may be the misspelt key of a secret."""
    if isinstance(value, dict):
        return {name: _hidden(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_hidden(inner) for inner in value]
    return HIDDEN if isinstance(value, str) else value


def _allowed(root: type[BaseModel], key: KeyPath, detail: Any) -> str:
    if detail["type"] == "extra_forbidden":
        return suggestion(key, root)
    if detail["type"] == "value_error":
        return str(detail["ctx"]["error"])
    field = field_at(key, root)
    if field is None or (detail["type"] in _TABLE_TYPES and isinstance(key[-1], int)):
        return "a table"
    if len(key) == 1 and detail["type"] in _ARRAY_TYPES:
        return f"an array of tables, each written [[{key[0]}]]"
    if detail["type"] in _TABLE_TYPES and not any(isinstance(part, int) for part in key):
        return f"{allowed(field)}, written [{key_text(key)}]"
    return ("missing; " if detail["type"] == "missing" else "") + allowed(field)


def _touches(key: KeyPath, faulty: set[KeyPath]) -> bool:
    return any(key[: len(other)] == other or other[: len(key)] == key for other in faulty if other)
