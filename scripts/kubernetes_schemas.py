"""Makes the JSON schemas beside this file, by which the tests validate what the chart renders.

    python -m scripts.kubernetes_schemas

They come from Kubernetes' own OpenAPI document and from the Prometheus Operator's CRDs, both by Go's module proxy. Only
the kinds of the chart are kept, without descriptions, and strict: a field that Kubernetes does not know is an error.
The Kubernetes is older than the newest one, so that no field is too new.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

KUBERNETES, OPERATOR = "k8s.io/kubernetes@v1.33.3", "github.com/prometheus-operator/prometheus-operator@v0.85.0"
SCHEMAS = Path(__file__).parents[1] / "tests" / "kubernetes" / "schemas"
DEFINITIONS = "definitions.json"
KINDS = {  # the file of each
    "serviceaccount-v1": "io.k8s.api.core.v1.ServiceAccount",
    "configmap-v1": "io.k8s.api.core.v1.ConfigMap",
    "persistentvolumeclaim-v1": "io.k8s.api.core.v1.PersistentVolumeClaim",
    "service-v1": "io.k8s.api.core.v1.Service",
    "deployment-apps-v1": "io.k8s.api.apps.v1.Deployment",
    "poddisruptionbudget-policy-v1": "io.k8s.api.policy.v1.PodDisruptionBudget",
    "networkpolicy-networking-v1": "io.k8s.api.networking.v1.NetworkPolicy",
}
CUSTOM_KINDS = {"servicemonitor-monitoring-v1": "servicemonitors", "prometheusrule-monitoring-v1": "prometheusrules"}
TEXT_OR_NUMBER = {"type": ["string", "number"]}
PREFIX = "#/definitions/"


def module(name: str) -> Path:
    """The folder of a Go module, which Go fetches and compares with its public checksum."""
    answer = subprocess.run(["go", "mod", "download", "-json", name], check=True, capture_output=True, cwd="/")
    return Path(json.loads(answer.stdout)["Dir"])


def strict(schema: Any) -> Any:
    """The schema without descriptions and defaults, in which other fields are errors."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "int-or-string" or schema.get("x-kubernetes-int-or-string"):
        return TEXT_OR_NUMBER
    if "$ref" in schema:
        return {"$ref": f"{DEFINITIONS}{schema['$ref']}"}
    kept = {key: value for key, value in schema.items() if key in ("type", "enum", "pattern", "required", "minItems")}
    if "properties" in schema:
        kept["properties"] = {name: strict(one) for name, one in schema["properties"].items()}
        kept["additionalProperties"] = False
    if isinstance(schema.get("additionalProperties"), dict):
        kept["additionalProperties"] = strict(schema["additionalProperties"])
    if "items" in schema:
        kept["items"] = strict(schema["items"])
    return kept


def references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].removeprefix(PREFIX)
        for one in schema.values():
            yield from references(one)
    elif isinstance(schema, list):
        for one in schema:
            yield from references(one)


def reached(definitions: dict[str, Any], names: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while names:
        name = names.pop()
        if name not in found:
            found[name] = definitions[name]
            names += references(definitions[name])
    return found


def of_kubernetes() -> Iterator[tuple[str, Any]]:
    document = json.loads((module(KUBERNETES) / "api" / "openapi-spec" / "swagger.json").read_text())
    kept = reached(document["definitions"], list(KINDS.values()))
    definitions = {name: strict(schema) for name, schema in sorted(kept.items())}
    # The document calls it a string, and the server takes a number, too.
    definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] = TEXT_OR_NUMBER
    inner = json.loads(json.dumps({"definitions": definitions}).replace(f'"{DEFINITIONS}#', '"#'))
    yield DEFINITIONS.removesuffix(".json"), inner
    for file, name in KINDS.items():
        yield file, {"$ref": f"{DEFINITIONS}{PREFIX}{name}"}


def of_the_operator() -> Iterator[tuple[str, Any]]:
    folder = module(OPERATOR) / "example" / "prometheus-operator-crd"
    for file, plural in CUSTOM_KINDS.items():
        definition = yaml.safe_load((folder / f"monitoring.coreos.com_{plural}.yaml").read_text())
        (version,) = [one for one in definition["spec"]["versions"] if one["name"] == "v1"]
        schema = strict(version["schema"]["openAPIV3Schema"])
        schema["properties"]["metadata"] = {
            "$ref": f"{DEFINITIONS}{PREFIX}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
        }
        yield file, schema


if __name__ == "__main__":
    for file, schema in (*of_kubernetes(), *of_the_operator()):
        text = json.dumps(schema, separators=(",", ":"), sort_keys=True)
        (SCHEMAS / f"{file}.json").write_text(f"{text}\n", encoding="utf-8")
