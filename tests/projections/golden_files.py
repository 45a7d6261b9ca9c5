"""The files in ``golden``: facts, and the rows that Spark made of them."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from schemas.facts import PAYLOADS, Fact

FOLDER = Path(__file__).parent / "golden"
KINDS = {kind.fact: kind for kind in PAYLOADS}


def golden_facts() -> list[Fact]:
    return list(_facts())


def golden_rows() -> dict[str, list[Any]]:
    """By table."""
    return json.loads((FOLDER / "rows.json").read_text(encoding="utf-8"))


def as_golden(rows: pa.Table) -> list[Any]:
    """Rows as they stand in the file."""
    types = {field.name: field.type for field in rows.schema}
    plain = [{name: _plain(value, types[name]) for name, value in row.items()} for row in rows.to_pylist()]
    return sorted(plain, key=lambda row: json.dumps(row, sort_keys=True, ensure_ascii=False))


def _facts() -> Iterator[Fact]:
    for line in (FOLDER / "facts.jsonl").read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        payload = msgspec.convert(told["payload"], KINDS[told["fact"]])
        yield Fact(told["seq"], told["cluster"], told["group"], told["topic"], told["ts"], payload)


def _plain(value: Any, kind: pa.DataType) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if pa.types.is_map(kind) and value is not None:
        return dict(sorted(value))
    if pa.types.is_struct(kind) and value is not None:
        return {field.name: _plain(value[field.name], field.type) for field in kind}
    if pa.types.is_list(kind) and value is not None:
        return [_plain(one, kind.value_type) for one in value]
    return value
