"""Spark SQL types of Python's annotations, so that tables always match the code."""

from datetime import date, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

_PLAIN = {
    str: "STRING", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", bytes: "BINARY",
    datetime: "TIMESTAMP", date: "DATE",
}  # fmt: skip


def sql_type(annotation: Any) -> str:
    """The Spark SQL type of one annotation; TypeError for one that has none."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "STRING"
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return struct_type(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        present = [argument for argument in arguments if argument is not NoneType]
        if len(present) == 1:
            return sql_type(present[0])
    item = item_type(annotation)
    if item is not None:
        return f"ARRAY<{sql_type(item)}>"
    if origin is dict:
        return f"MAP<{sql_type(arguments[0])},{sql_type(arguments[1])}>"
    raise TypeError(f"{annotation} has no Spark SQL type")


def struct_type(struct: type[Struct]) -> str:
    """``STRUCT<name:TYPE,...>`` with the struct's fields in their order."""
    return f"STRUCT<{','.join(f'`{name}`:{sql_type(hint)}' for name, hint in _fields(struct).items())}>"


def item_type(annotation: Any) -> Any:
    """The type of a list's items; None if the annotation is no list."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    return arguments[0] if origin is list or (origin is tuple and arguments[1:] == (...,)) else None


def _fields(struct: type[Struct]) -> dict[str, Any]:
    hints = get_type_hints(struct)
    return {name: hints[name] for name in struct.__struct_fields__}
