"""The faults of objects by the schemas of Kubernetes and the Prometheus Operator: ``scripts/kubernetes_schemas.py``."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator
from referencing import Registry, Resource

SCHEMAS = Path(__file__).parent / "schemas"


@cache
def _schemas() -> dict[str, Any]:
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in SCHEMAS.iterdir()}


@cache
def _registry() -> "Registry[Any]":
    meta = Draft7Validator.META_SCHEMA["$schema"]
    return Registry().with_resources(
        (file, Resource.from_contents({"$schema": meta, **schema})) for file, schema in _schemas().items()
    )


def faults(objects: Iterable[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The name of the object, the place and the text of each fault."""
    return [
        (one["metadata"]["name"], fault.json_path, fault.message)
        for one in objects
        for fault in Draft7Validator(_schemas()[_file(one)], registry=_registry()).iter_errors(one)
    ]


def _file(one: dict[str, Any]) -> str:
    group, _, version = one["apiVersion"].rpartition("/")
    return "-".join(part for part in (one["kind"].lower(), group.partition(".")[0], version) if part) + ".json"
