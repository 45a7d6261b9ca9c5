"""The secrets of a configuration: read from the places in the alert rules, and hidden as the keys declare."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from streaming.config.alerts import SecretPlace
from streaming.config.config_errors import KeyPath, is_secret, sounds_secret
from streaming.config.values import SecretKind
from streaming.secret_mask import in_address, is_random, passwords_in

_NAMED = re.compile(r"([\w.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;,\"']+))")
_A_PLACE = re.compile(r"_(FILE|PATH|DIR|URI|ENDPOINT|PROFILE)$", re.I)
_PART = 16  # least length of a part, such as a line of a key; a shorter part may be a word


def text_file_fault(path: str) -> str | None:
    """The requirement that a file does not meet (it exists, can be read, is text, is not empty), or None."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError:
        return "a file that exists and can be read"
    except UnicodeDecodeError:
        return "a file of text"
    return None if text.strip() else "a file that is not empty"


def secret_at(place: SecretPlace | None, environ: Mapping[str, str] | None = None) -> str:
    """The secret itself; empty without a place. ``environ``: the process's own if not given."""
    if place is None:
        return ""
    if place.file:
        return Path(place.file).read_text(encoding="utf-8").strip()
    return (os.environ if environ is None else environ)[place.env].strip()


def secrets_of(section: BaseModel, environ: Mapping[str, str], key: KeyPath = ()) -> Iterator[str]:
    """Every text in the section and its inner sections that must never leave the process."""
    for name, field in type(section).model_fields.items():
        yield from _secrets_in(getattr(section, name), (*key, name), kind_of(field), environ)


def secrets_in_environment(environ: Mapping[str, str]) -> Iterator[str]:
    """Secrets in variables, such as those of proxies and object stores, also under misspelt keys."""
    for name, value in environ.items():
        yield from passwords_in(value)
        is_named = sounds_secret(name) or name.upper().endswith("_KEY")
        if is_named and not _A_PLACE.search(name) and is_random(value) and not value.startswith("/"):
            yield from _whole(value)


def kind_of(field: FieldInfo) -> SecretKind | None:
    """The kind of secret of a key; None if it has none."""
    declared = [one for one in field.metadata if isinstance(one, SecretKind)]
    return declared[0] if declared else SecretKind.TEXT if field.annotation is SecretStr else None


def _secrets_in(value: object, key: KeyPath, kind: SecretKind | None, environ: Mapping[str, str]) -> Iterator[str]:
    if isinstance(value, SecretPlace):
        with suppress(OSError, KeyError, UnicodeDecodeError):  # reported as a fault
            yield from _of_text(secret_at(value, environ), SecretKind.ADDRESS)
    elif isinstance(value, BaseModel):
        yield from secrets_of(value, environ, key)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _secrets_in(inner, (*key, str(name)), _kind_of_option((*key, str(name)), kind), environ)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _secrets_in(inner, key, kind, environ)
    elif isinstance(value, str | SecretStr):
        yield from _of_text(value.get_secret_value() if isinstance(value, SecretStr) else value, kind)


def _kind_of_option(key: KeyPath, kind: SecretKind | None) -> SecretKind | None:
    """The kind of secret of an option that is passed on, by its key alone: the meaning of most is not known."""
    if kind is not SecretKind.OPTION or not is_secret(key):
        return None
    return SecretKind.TEXT if sounds_secret(str(key[-1])) else SecretKind.NAME


def _of_text(value: str, kind: SecretKind | None) -> Iterator[str]:
    yield from passwords_in(value)
    for name, *values in _NAMED.findall(value):
        yield from [one for one in values if sounds_secret(name)]
    if kind is SecretKind.FILE:
        with suppress(OSError, UnicodeDecodeError):
            yield from _whole(Path(value).read_text("utf-8")) if value else ()
    elif kind is SecretKind.ADDRESS and "://" in value:
        yield from in_address(value)
    elif kind in (SecretKind.TEXT, SecretKind.ADDRESS) or (kind is SecretKind.NAME and is_random(value)):
        yield from _whole(value)


def _whole(secret: str) -> Iterator[str]:
    yield secret.strip()
    yield from (part for part in secret.split() if len(part) >= _PART)
