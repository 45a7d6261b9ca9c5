"""The annotated files of the configuration: their texts are written by hand, defaults and bounds by the declarations.

After a change of one: ``UPDATE_GOLDEN=1 python -m pytest tests/config``, then read the difference (``git diff``).
"""

import json
import re
from pathlib import Path

from pydantic import BaseModel, SecretStr

from streaming.config.config_errors import KeyPath
from streaming.config.keys import field_at
from streaming.config.values import allowed
from testing.golden import compare

_TABLE = re.compile(r"#?\[+([a-z_.]+)\]+")
_KEY = re.compile(r"(#?)([a-z_.]+) = .+")
_ALLOWED = "# Allowed: "


def compare_with_declarations(file: Path, root: type[BaseModel]) -> None:
    """Fails where a default or what a key allows is another one in the file; or writes the file again."""
    compare(_made_again(file.read_text("utf-8").splitlines(), root), file)


def _made_again(lines: list[str], root: type[BaseModel]) -> str:
    made: list[str] = []
    table: KeyPath = ()
    for line in lines:
        if match := _TABLE.fullmatch(line):
            table = tuple(match[1].split("."))
        elif (match := _KEY.fullmatch(line)) and (field := field_at((*table, match[2]), root)) is not None:
            if made[-1].startswith(_ALLOWED):
                made[-1] = f"{_ALLOWED}{allowed(field)}"
            line = line if match[1] else f"{match[2]} = {_toml(_default(root, table, match[2]))}"
        made.append(line)
    return "\n".join(made) + "\n"


def _default(root: type[BaseModel], table: KeyPath, name: str) -> object:
    """Of a table that there is more than once: that of the first one."""
    section: object = root()
    for part in table:
        section = getattr(section, str(part))
    section = section[0] if isinstance(section, list | tuple) else section
    assert isinstance(section, BaseModel)
    field = type(section).model_fields[name]
    given = getattr(section, name)
    return given if name in section.model_fields_set else field.get_default(call_default_factory=True)


def _toml(value: object) -> str:
    if isinstance(value, SecretStr):
        return json.dumps(value.get_secret_value())
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)
