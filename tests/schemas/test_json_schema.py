"""The JSON Schema files say what the code checks: both accept and refuse the same events."""

import copy
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from schemas.events import EVENT_TYPES
from schemas.records import Rejected, decode_record
from scripts import json_schema
from scripts.json_schema import FOLDER, schema_files, write_schema_files

SAMPLES = {
    path.stem: json.loads(path.read_text("utf-8")) for path in Path(__file__).with_name("samples").glob("*.json")
}
SCHEMAS = {name.removesuffix(".schema.json"): json.loads(text) for name, text in schema_files().items()}
ABSENT = object()

# (event, path of the field, its value): each is refused by the code and by the schema files.
FAULTS: list[tuple[str, tuple[str | int, ...], object]] = [
    *((name, ("event",), ABSENT) for name in SAMPLES),
    *((name, ("event",), "hearbeat") for name in SAMPLES),
    *((name, (field,), ABSENT) for name in SAMPLES for field in ("schema", "cluster", "group", "ts", "round", "seq")),
    *((name, (field,), None) for name in SAMPLES for field in ("schema", "cluster", "group", "ts", "round", "seq")),
    ("round", ("schema",), 0),
    ("round", ("schema",), 2),
    ("round", ("schema",), "1"),
    ("round", ("cluster",), ""),
    ("round", ("cluster",), "a/b"),
    ("round", ("cluster",), "c" * 256),
    ("round", ("group",), ""),
    ("round", ("group",), "g" * 1025),
    ("round", ("group",), 7),
    ("round", ("ts",), 999_999_999_999),
    ("round", ("ts",), 253_402_300_800_000),
    ("round", ("ts",), 1_700_000_000_000.5),
    ("round", ("ts",), "2023-11-14T22:13:20Z"),
    ("round", ("round",), -1),
    ("round", ("seq",), 2**63),
    ("round", ("seq",), True),
    ("round", ("source",), None),
    ("round", ("source",), "s" * 256),
    ("round", ("brokers",), ABSENT),
    ("round", ("brokers",), {}),
    ("round", ("brokers", 0, "answered"), "yes"),
    ("round", ("brokers", 0, "client_ids", 1), ""),
    ("round", ("not_asked", 0, "reason"), ABSENT),
    ("round", ("consume_enable",), 1),
    ("round", ("unchanged_lists", 0, 0), ""),
    ("round", ("unchanged_lists", 0, 1), -1),
    ("round", ("heartbeats", 0, 1), ""),
    ("round", ("polls", 0, 2), -2),
    ("round", ("polls", 0, 4), -1),
    ("round", ("polls", 0), ["broker-a", "Orders"]),
    ("round", ("in_flight", 0, 3), -1),
    ("round", ("in_flight", 0), ["broker-a", "Orders", 1699999999700]),
    ("round", ("heartbeats", 0, 2), None),
    ("round", ("heartbeats", 0, 5), "clustering"),
    ("round", ("heartbeats", 0), ["broker-a", "10.0.0.1@7#1"]),
    ("forget", ("who",), "w" * 256),
    ("heartbeat", ("broker_name",), ABSENT),
    ("heartbeat", ("client_id",), ""),
    ("heartbeat", ("observed",), "seen"),
    ("heartbeat", ("addresses",), "10.0.0.1:50102"),
    ("heartbeat", ("message_model",), "clustering"),
    ("heartbeat", ("subscriptions", 0, "topic"), ABSENT),
    ("consumer_change", ("change",), "joined"),
    ("consumer_change", ("reason",), "bored"),
    ("topic_route", ("brokers",), None),
    ("topic_route", ("brokers", 0, "perm"), ABSENT),
    ("topic_route", ("brokers", 0, "read_queue_nums"), -1),
    ("topic_route", ("brokers", 0, "write_queue_nums"), 2**31),
    ("assignment_report", ("answered",), ABSENT),
    ("assignment_report", ("answered_ts",), -1),
    ("assignment_report", ("owned", 0, "queues", 0, "queue_id"), -2),
    ("assignment_report", ("owned", 0, "queues", 0, "cached_msg_count"), -1),
    ("assignment_report", ("owned", 0, "queues", 0, "dropped"), 0),
    ("assignment_report", ("owned",), None),
    ("consume_progress", ("queues", 0, "queue_id"), -1),
    ("consume_progress", ("queues", 0, "broker_offset"), 2**63),
    ("consume_progress", ("queues", 0, "pull_offset"), ABSENT),
]


def _validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(SCHEMAS[name])


def _changed(event: dict[str, Any], path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    changed = copy.deepcopy(event)
    *way, last = path
    place: Any = changed
    for step in way:
        place = place[step]
    if value is ABSENT:
        del place[last]
    else:
        place[last] = value
    return changed


def _decoded(event: dict[str, Any]) -> object:
    value = json.dumps(event).encode()
    (decoded,) = decode_record(None, value, len(value), None)
    return decoded


def test_files_are_what_the_definitions_give() -> None:
    written = {path.name: path.read_text("utf-8") for path in FOLDER.iterdir()}
    assert written == schema_files(), "run .venv/bin/python scripts/json_schema.py"


def test_writing_creates_the_folder_and_every_file(tmp_path: Path) -> None:
    write_schema_files(tmp_path / "new")
    assert {path.name for path in (tmp_path / "new").iterdir()} == set(schema_files())


def test_the_command_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["json_schema", str(tmp_path)])
    runpy.run_path(json_schema.__file__, run_name="__main__")
    assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == schema_files()


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_is_itself_valid_and_self_contained(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    refs = {part.split('"')[0] for part in json.dumps(SCHEMAS[name]).split('"$ref": "')[1:]}
    assert refs
    assert refs == {f"#/$defs/{definition}" for definition in SCHEMAS[name]["$defs"]}


def test_every_event_has_a_file_and_a_sample() -> None:
    tags = {str(event.__struct_config__.tag) for event in EVENT_TYPES}
    assert set(SCHEMAS) == tags | {"events", "record"}
    assert set(SAMPLES) == tags


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_fills_in_every_field_and_is_accepted_by_both(name: str) -> None:
    event = SAMPLES[name]
    optional = {"assignment_report": {"reason"}}  # only of a report that was not answered
    (struct,) = (struct for struct in EVENT_TYPES if struct.__struct_config__.tag == name)
    assert set(event) == {"event", *struct.__struct_fields__} - optional.get(name, set())
    assert _validator(name).is_valid(event)
    assert _validator("events").is_valid(event)
    assert isinstance(_decoded(event), struct)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_record_is_an_event_or_an_array_of_events(name: str) -> None:
    event = SAMPLES[name]
    for value, is_valid in (
        (event, True),
        ([event, event], True),
        ([], False),
        ([[event]], False),
        ([event, 1], False),
    ):
        assert _validator("record").is_valid(value) == is_valid


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_is_refused_by_the_other_events_files(name: str) -> None:
    others = set(SCHEMAS) - {name, "events", "record"}
    assert not [other for other in others if _validator(other).is_valid(SAMPLES[name])]


@pytest.mark.parametrize(("name", "path", "value"), FAULTS)
def test_fault_is_refused_by_both(name: str, path: tuple[str | int, ...], value: object) -> None:
    event = _changed(SAMPLES[name], path, value)
    assert isinstance(_decoded(event), Rejected)
    assert not _validator(name).is_valid(event)
    assert not _validator("events").is_valid(event)


@pytest.mark.parametrize("name", SAMPLES)
def test_unknown_field_is_tolerated_by_both(name: str) -> None:
    event = SAMPLES[name] | {"invented_later": {"deep": [None, 1.5]}}
    assert _validator(name).is_valid(event)
    assert _decoded(event) == _decoded(SAMPLES[name])


def test_unknown_field_of_an_inner_object_is_tolerated_by_both() -> None:
    event = _changed(SAMPLES["topic_route"], ("brokers", 0, "broker_addr"), "10.0.0.9:10911")
    assert _validator("topic_route").is_valid(event)
    assert _decoded(event) == _decoded(SAMPLES["topic_route"])


def test_fields_that_older_producers_write_are_tolerated_by_both() -> None:
    """They were in earlier versions of the events, and recordings hold them."""
    report = _changed(SAMPLES["assignment_report"], ("asked_through",), "broker-a")
    report = _changed(report, ("version",), "V5_3_3")
    for field, value in (("commit_offset", 12), ("locked", True), ("last_pull_ts", 9), ("last_consume_ts", 9)):
        report = _changed(report, ("owned", 0, "queues", 0, field), value)
    route = _changed(SAMPLES["topic_route"], ("order_topic_conf",), "broker-a:4")
    marker = _changed(SAMPLES["round"], ("started_ts",), 1_699_999_999_000)
    for name, event in (("assignment_report", report), ("topic_route", route), ("round", marker)):
        assert _validator(name).is_valid(event)
        assert _decoded(event) == _decoded(SAMPLES[name])


def test_descriptions_are_the_docstrings_words() -> None:
    definitions = SCHEMAS["events"]["$defs"]
    assert (
        definitions["OwnedQueue"]["description"]
        == "One process queue of a client (`ProcessQueueInfo`). `cached_msg_count`: messages pulled and not consumed."
    )
    assert "full snapshot of the moment `answered_ts`.\n" in definitions["AssignmentReport"]["description"]
    assert definitions["Round"]["properties"]["ts"]["description"] == "epoch milliseconds, UTC"
