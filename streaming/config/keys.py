"""The keys that exist, and suggestions for unknown keys. ``root``: the model of the whole file."""

from collections.abc import Iterator
from difflib import get_close_matches
from functools import reduce
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from streaming.config.config_errors import KeyPath, key_text
from streaming.config.sections import Config

_SHARE = (
    "removed in evenkeel 0.3.0: delete the key. Where it was true, divide the groups between two configurations by "
    "include and exclude (docs/collector.md, A cluster for two configurations)"
)
REMOVED: dict[KeyPath, str] = {("collector", "share"): _SHARE}  # keys of an older evenkeel, and what to do instead


def field_at(key: KeyPath, root: type[BaseModel] = Config) -> FieldInfo | None:
    """The definition of a key; for one inside a free table, that of the table. None: the key does not exist."""
    model: Any = root
    field: FieldInfo | None = None
    for part in key:
        if isinstance(part, int):
            continue
        if not _is_model(model):
            return field if get_origin(model) is dict else None
        field = model.model_fields.get(part)
        if field is None:
            return None
        model = _inner(field.annotation)
    return field


def all_keys(root: type[BaseModel] = Config, prefix: KeyPath = ()) -> Iterator[KeyPath]:
    """Every key outside arrays of tables, without the sections themselves, each behind ``prefix``."""
    for name, field in root.model_fields.items():
        inner = _inner(field.annotation)
        if get_origin(field.annotation) in (list, tuple) or not _is_model(inner):
            yield (*prefix, name)
        else:
            yield from all_keys(inner, (*prefix, name))


def changed_keys(before: BaseModel, after: BaseModel) -> list[KeyPath]:
    """The keys whose values differ in two configurations, or in two sets of alert rules."""

    def value(of: BaseModel, key: KeyPath) -> object:
        return reduce(lambda found, name: getattr(found, str(name)), key, of)

    return [key for key in all_keys(type(before)) if value(before, key) != value(after, key)]


def suggestion(key: KeyPath, root: type[BaseModel] = Config) -> str:
    """A text with the key that was probably meant by an unknown key, or with what became of a removed one."""
    if root is Config and key in REMOVED:
        return REMOVED[key]
    *table, last = key
    field = field_at(tuple(table), root)
    beside = list((_inner(field.annotation) if field else root).model_fields)
    if near := get_close_matches(str(last), beside, n=1):
        return f"unknown key; did you mean {key_text((*table, near[0]))}?"
    if elsewhere := [key_text(known) for known in all_keys(root) if known[-1] == last]:
        return f"unknown key here; did you mean {elsewhere[0]}?"
    return f"unknown key; use one of {', '.join(beside)}"


def closest_key(name: str) -> KeyPath | None:
    """The key whose whole path is most similar to ``name``, or None."""
    known = {key_text(key): key for key in all_keys()}
    near = get_close_matches(name, known, n=1)
    return known[near[0]] if near else None


def _inner(annotation: Any) -> Any:
    """The model in ``X | None``, ``tuple[X, ...]`` or ``list[X]``; else the annotation itself."""
    if get_origin(annotation) is dict:
        return annotation
    models = [part for part in (annotation, *get_args(annotation)) if _is_model(part)]
    nested = [_inner(part) for part in get_args(annotation) if get_args(part)]
    return next(iter(models + nested), annotation)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
