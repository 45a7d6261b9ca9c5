"""The lines of keys in a TOML file. tomllib does not report lines, so statements are read one by one."""

import tomllib
from collections.abc import Iterator
from typing import Any

from streaming.config.config_errors import KeyPath

LONGEST_STATEMENT = 500  # lines


def in_line(file: str, lines: dict[KeyPath, int], key: KeyPath) -> str:
    """Return ``file:line`` of the key, else of the table or array around it; ``file`` if none of them is in it."""
    number = next((lines[key[:length]] for length in range(len(key), 0, -1) if key[:length] in lines), None)
    return file if number is None else f"{file}:{number}"


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line in which each key and each table of a valid file begins; the first line is 1."""
    found: dict[KeyPath, int] = {}
    tables: dict[KeyPath, int] = {}  # number of tables in an array up to here
    here: KeyPath = ()
    for number, values, is_header in _statements(text):
        if is_header:
            here = _table_of(values, tables)
            found.setdefault(here, number)
        else:
            for key in _keys(values):
                found.setdefault((*here, *key), number)
    return found


def _statements(text: str) -> Iterator[tuple[int, dict[str, Any], bool]]:
    """Each statement: its first line, the values that it sets alone, and True for the header of a table."""
    lines = text.splitlines()
    begin = 0
    while begin < len(lines):
        for end in range(begin + 1, min(begin + LONGEST_STATEMENT, len(lines)) + 1):
            try:
                values = tomllib.loads("\n".join(lines[begin:end]))
                break
            except ValueError:  # the statement continues in the next line
                continue
        else:
            return
        if values:
            yield begin + 1, values, lines[begin].lstrip().startswith("[")
        begin = end


def _table_of(values: dict[str, Any], tables: dict[KeyPath, int]) -> KeyPath:
    """The path of a header's table, which begins here."""
    path: KeyPath = ()
    inner: Any = values
    while inner:
        ((name, inner),) = inner.items()
        path = (*path, name)
        if isinstance(inner, list):
            tables[path] = tables.get(path, 0) + 1
            inner = inner[0]
        if path in tables:
            path = (*path, tables[path] - 1)
    return path


def _keys(values: dict[str, Any]) -> Iterator[KeyPath]:
    for name, value in values.items():
        yield (name,)
        if isinstance(value, dict):
            yield from ((name, *inner) for inner in _keys(value))
