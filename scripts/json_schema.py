"""JSON Schema files of the events, for other producers; scripts/json_schema.py writes them.

One self-contained file an event, ``events.schema.json`` for any of them, and ``record.schema.json`` for the value of a
record; draft 2020-12.
"""

import inspect
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

import schemas
from schemas.events import EVENT_TYPES, SCHEMA_VERSION, AnyEvent, Event
from schemas.records import EARLIEST_TS, MAX_RECORD_BYTES

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FOLDER = Path(schemas.__file__).with_name("json")

_COMMENT = (
    f"UTF-8. A record has at most {MAX_RECORD_BYTES} bytes: one event, or an array of events of one group. "
    "Unknown fields are ignored. Integers are written without fraction or exponent. The Kafka key is "
    "cluster/group. Made from schemas/events.py: change that, not this file."
)


def schema_files() -> dict[str, str]:
    """Every file's text by its name."""
    files = {f"{_name(event)}.schema.json": _text(_name(event), event) for event in EVENT_TYPES}
    return files | {
        "events.schema.json": _text("events", AnyEvent),
        "record.schema.json": _text("record", AnyEvent | Annotated[list[AnyEvent], Meta(min_length=1)]),
    }


def write_schema_files(folder: Path) -> None:
    """Write every file into ``folder``, which is created if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in schema_files().items():
        (folder / name).write_text(text, encoding="utf-8")


def _name(event: type[Event]) -> str:
    tag = event.__struct_config__.tag
    assert isinstance(tag, str)
    return tag


def _text(name: str, described: Any) -> str:
    (schema,), definitions = msgspec.json.schema_components([described], ref_template="#/$defs/{name}")
    for event in EVENT_TYPES:
        if event.__name__ in definitions:
            definitions[event.__name__]["properties"]["ts"]["minimum"] = EARLIEST_TS
    for definition in definitions.values():
        definition["description"] = _plain(definition["description"])
    head = {
        "$schema": DIALECT,
        "$id": f"urn:evenkeel:{name}:{SCHEMA_VERSION}",
        "title": name,
        "description": _plain(Event.__doc__ or ""),
        "$comment": _COMMENT,
    }
    described_by = _without_discriminators(schema | {"$defs": definitions})
    return json.dumps(head | described_by, indent=2, ensure_ascii=False) + "\n"


def _without_discriminators(schema: Any) -> Any:
    """The schema without OpenAPI's keyword ``discriminator``, which JSON Schema does not have."""
    if isinstance(schema, dict):
        return {key: _without_discriminators(value) for key, value in schema.items() if key != "discriminator"}
    return [_without_discriminators(value) for value in schema] if isinstance(schema, list) else schema


def _plain(docstring: str) -> str:
    """The text of a docstring without its indentation, line ends and markup."""
    paragraphs = inspect.cleandoc(docstring).replace("``", "`").split("\n\n")
    return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


if __name__ == "__main__":
    write_schema_files(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
