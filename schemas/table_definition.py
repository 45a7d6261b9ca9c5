"""The parts of a table's definition, and how its columns are derived from the fields of a fact.

A field is described once: ``Annotated[type, "what it is, its unit, and what null means"]``. The column of a field
``read_ts`` (epoch ms) is ``read_time``, a TIMESTAMP. The field's ``AsColumn`` has the column's other properties.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from msgspec import Struct

from schemas.ddl import item_type, sql_type


class Form(Enum):
    """The way to make a column's value from the value of the fact's field."""

    SAME = auto()
    TIME = auto()  # a TIMESTAMP of epoch milliseconds, or a list of both
    PARTS = auto()  # a list of structs, whose fields have the names and types of columns
    FILLED = auto()  # null for an empty string
    TEXT = auto()  # bytes as text
    BEGINNING = auto()  # the first bytes as text
    DIFFERENCE = auto()  # the difference of two fields: ``path`` is "more - less"


class AsColumn(NamedTuple):
    """Properties of a column that differ from its field's. ``exists`` false: the field has no column."""

    name: str | None = None
    type: str | None = None
    form: Form | None = None
    exists: bool = True


NO_COLUMN = AsColumn(exists=False)


class Part(Struct, frozen=True):
    """A struct in a fact whose fields have the names and types of columns in a table."""


class Column(NamedTuple):
    """A column. ``type`` is a type of Spark SQL; ``comment``: its meaning, its unit, and what null means.

    ``path``: where the facts table has the value, as ``queue.ended.finding``; empty: in no fact. ``parts``: of PARTS.
    """

    name: str
    type: str
    comment: str
    path: str = ""
    form: Form = Form.SAME
    parts: tuple["Column", ...] = ()

    @property
    def field(self) -> str:
        """The name of the fact's field."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Table:
    """A Delta table. ``keep_days``: for how long rows are kept unless the configuration differs; 0: for ever.

    ``kinds``: the facts that make a row; ``needs``: a field that must not be null. ``keep_newest_of``: columns; the
    newest row of each combination of their values is kept for ever, because it is still valid, ``unless`` a column has
    this value. ``merge_keys``: columns that identify a row of a table of current state; empty: rows are only appended.
    """

    name: str
    comment: str
    columns: tuple[Column, ...]
    kinds: tuple[type[Struct], ...] = ()
    needs: str | None = None
    keep_days: int = 0
    partitioned_by: tuple[str, ...] = ("date",)
    merge_keys: tuple[str, ...] = ()
    keep_newest_of: tuple[str, ...] = ()
    unless: tuple[str, str] = ("", "")


def columns_of(struct: type[Struct], at: str, *only: str) -> tuple[Column, ...]:
    """The columns of the struct's fields, or ``only`` of these. ``at``: where the facts table has the struct."""
    hints = get_type_hints(struct, include_extras=True)
    columns = [_column(name, hints[name], at) for name in only or struct.__struct_fields__]
    return tuple(column for column in columns if column is not None)


def fields_said(struct: type[Struct]) -> str:
    """The descriptions of the struct's fields, one after the other."""
    hints = get_type_hints(struct, include_extras=True)
    return listed((name, _extras(hints[name])[0]) for name in struct.__struct_fields__)


def listed(said: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} ({text})" for name, text in said)


def _column(field: str, hint: Any, at: str) -> Column | None:
    (comment, differs), annotation = _extras(hint), _plain(hint)
    if not differs.exists:
        return None
    parts = _parts(annotation)
    return Column(
        name=differs.name or _name(field),
        type=differs.type or _type(field, annotation, parts),
        comment=f"{comment}: {listed((one.name, one.comment) for one in parts)}" if parts else comment,
        path=f"{at}.{field}" if at else field,
        form=differs.form or _form(field, parts),
        parts=parts,
    )


def _parts(annotation: Any) -> tuple[Column, ...]:
    item = item_type(annotation)
    return columns_of(item, "") if isinstance(item, type) and issubclass(item, Part) else ()


def _form(field: str, parts: tuple[Column, ...]) -> Form:
    if _is_time(field):
        return Form.TIME
    return Form.PARTS if any(one.name != one.field or one.form is not Form.SAME for one in parts) else Form.SAME


def _type(field: str, annotation: Any, parts: tuple[Column, ...]) -> str:
    if parts:
        return f"ARRAY<STRUCT<{','.join(f'{one.name}:{one.type}' for one in parts)}>>"
    known = sql_type(annotation)
    return known.replace("BIGINT", "TIMESTAMP") if _is_time(field) else known


def _extras(hint: Any) -> tuple[str, AsColumn]:
    extras = hint.__metadata__ if get_origin(hint) is not None and hasattr(hint, "__metadata__") else ()
    text = next((one for one in extras if isinstance(one, str)), "")
    return text, next((one for one in extras if isinstance(one, AsColumn)), AsColumn())


def _plain(hint: Any) -> Any:
    return get_args(hint)[0] if hasattr(hint, "__metadata__") else hint


def _is_time(field: str) -> bool:
    return field == "ts" or field.endswith("_ts")


def _name(field: str) -> str:
    return f"{field.removesuffix('_ts')}_time" if field.endswith("_ts") else field
