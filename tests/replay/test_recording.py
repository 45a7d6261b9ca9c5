"""Recordings to events: where rounds begin and end, whose line is whose, and files that are not what they should be."""

import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.events import AnyEvent, AssignmentReport, ConsumerChange, Round, TopicRoute, encode_event
from streaming.demo import RECORDINGS
from streaming.errors import SourceError
from streaming.replay.recording import Recording

GOLDEN = Path(__file__).parent / "golden"
T0 = 1_700_000_000_000
META = {"kind": "meta", "group": "g", "brokers": {"a": "", "b": ""}, "topics": {"T": 1}, "ts": T0}


def listed(broker: str, ts: int, *ids: str, group: str = "g", dur_ms: int = 1, **fields: Any) -> dict[str, Any]:
    line = {"kind": "consumer_list", "broker": broker, "group": group, "ts": T0 + ts, "dur_ms": dur_ms, "code": 0}
    return {**line, "ids": ids, **fields}


def asked(client: str, ts: int, dur_ms: int = 1, code: int = 0) -> dict[str, Any]:
    line = {"kind": "running_info", "broker": "a", "group": "g", "clientId": client}
    return {**line, "ts": T0 + ts, "dur_ms": dur_ms, "code": code}


def read(folder: Path, *lines: Any, warnings: list[str] | None = None, end: str = "\n") -> list[AnyEvent]:
    path = folder / "made.jsonl"
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + end
    path.write_text(text, encoding="utf-8")
    said: list[str] = [] if warnings is None else warnings
    events = list(Recording(path, said.append).events())
    assert warnings is not None or said == []
    return events


def rounds(events: list[AnyEvent]) -> list[tuple[int, int, list[str]]]:
    """(number, time of the marker, brokers that answered) of each round."""
    return [
        (e.round - T0, e.ts - T0, [b.broker_name for b in e.brokers if b.answered])
        for e in events
        if isinstance(e, Round)
    ]


def test_events_of_a_recording_made_by_hand() -> None:
    events = list(Recording(GOLDEN / "two_rounds.jsonl", pytest.fail).events())
    expected = (GOLDEN / "two_rounds.events.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(encode_event(event)) for event in events] == [json.loads(line) for line in expected]


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.jsonl.gz")), ids=lambda p: p.name)
def test_every_recording_gives_the_same_events_each_time_and_a_full_round_a_second(path: Path) -> None:
    first = list(Recording(path, pytest.fail).events())
    again = list(Recording(path, pytest.fail).events())
    assert list(map(encode_event, first)) == list(map(encode_event, again))
    assert [e.seq for e in first] == list(range(len(first)))
    markers = [e for e in first if isinstance(e, Round)]
    seconds = (markers[-1].ts - markers[0].ts) / 1000
    assert len(markers) == pytest.approx(seconds, abs=2)
    assert all(broker.answered for marker in markers for broker in marker.brokers)
    assert all(a.ts <= b.ts and a.round < b.round for a, b in pairwise(markers))


# --- rounds


def test_a_round_ends_when_a_broker_is_heard_again(tmp_path: Path) -> None:
    events = read(
        tmp_path, META,
        listed("a", 1000, "x"), listed("b", 1000, "x"), asked("x", 1010, dur_ms=70),
        listed("b", 2000, "x"), listed("a", 2001, "x"),
        listed("a", 3000, "x"), listed("b", 3000, "x"),
    )  # fmt: skip
    assert rounds(events) == [(1000, 1080, ["a", "b"]), (2000, 2002, ["a", "b"]), (3000, 3001, ["a", "b"])]


def test_a_broker_that_gave_no_line_did_not_answer(tmp_path: Path) -> None:
    events = read(tmp_path, META, listed("a", 1000, "x"), listed("a", 2000, "x"), listed("b", 2001, "x"))
    assert rounds(events) == [(1000, 1001, ["a"]), (2000, 2002, ["a", "b"])]


def test_a_last_round_without_all_brokers_has_no_marker(tmp_path: Path) -> None:
    events = read(tmp_path, META, listed("a", 1000, "x"), listed("b", 1001, "x"), listed("a", 2000, "x"))
    assert rounds(events) == [(1000, 1002, ["a", "b"])]


def test_a_list_that_arrives_a_round_late_does_not_cut_the_round_in_two(tmp_path: Path) -> None:
    events = read(
        tmp_path, META,
        listed("a", 1000, "x"), listed("b", 1000, "x"),
        listed("a", 2000, "x"),
        listed("a", 3000, "x"), listed("b", 2000, "x", dur_ms=1200), listed("b", 3201, "x"),
        listed("a", 4000, "x"), listed("b", 4000, "x"),
    )  # fmt: skip
    assert rounds(events) == [
        (1000, 1001, ["a", "b"]),
        (2000, 2001, ["a"]),
        (3000, 3202, ["a", "b"]),
        (4000, 4001, ["a", "b"]),
    ]


def test_a_late_answer_is_told_where_it_arrives_and_names_its_round(tmp_path: Path) -> None:
    lines = [line for s in range(1, 14) for line in (listed("a", 1000 * s, "x"), listed("b", 1000 * s, "x"))]
    lines.insert(24, asked("x", 2010, dur_ms=10_000, code=207))
    events = read(tmp_path, META, *lines)
    (place,) = [n for n, e in enumerate(events) if isinstance(e, AssignmentReport)]
    report = events[place]
    assert isinstance(report, AssignmentReport)
    assert (report.round - T0, report.ts - T0, report.reason) == (2000, 12_010, "timeout")
    before = [e.round - T0 for e in events[:place] if isinstance(e, Round)]
    assert before[-1] == 11_000


def test_round_lines_decide_where_they_are(tmp_path: Path) -> None:
    end = {"kind": "round", "ts": T0 + 1500, "asked": ["x"], "not_asked": {"y": "answered slowly"}}
    events = read(
        tmp_path, META,
        listed("a", 1000, "x", "y"), asked("x", 1010), end,
        asked("x", 1400, dur_ms=300, code=207),  # the last round's, after its end
        listed("a", 2000, "x", "y"), {**end, "ts": T0 + 2500}, listed("a", 3000, "x", "y"), listed("b", 3000, "x"),
    )  # fmt: skip
    assert rounds(events) == [(1000, 1500, ["a"]), (2000, 2500, ["a"])]
    assert [(e.round - T0, e.answered) for e in events if isinstance(e, AssignmentReport)] == [
        (1000, True),
        (1000, False),
    ]
    first = next(e for e in events if isinstance(e, Round))
    assert (first.asked, [(n.client_id, n.reason) for n in first.not_asked]) == (("x",), [("y", "answered slowly")])


# --- whose line it is


def test_groups_and_clusters_are_kept_apart(tmp_path: Path) -> None:
    east = {**META, "cluster": "east", "brokers": {"a": ""}}
    events = read(
        tmp_path, east, {**east, "group": "h"},
        {"kind": "route", "topic": "T", "code": 0, "body": {"queueDatas": []}, "ts": T0},
        listed("a", 1000, "x"), listed("a", 1001, "y", group="h"), listed("a", 1000, "z", cluster="west"),
        listed("a", 2000, "x"), listed("a", 2001, "y", group="h"), listed("a", 2000, "z", "w", cluster="west"),
    )  # fmt: skip
    assert {(e.cluster, e.group): e.round - T0 for e in events if isinstance(e, Round)} == {
        ("east", "g"): 2000,
        ("east", "h"): 2001,
        ("west", "g"): 2000,
    }
    assert [(e.cluster, e.client_id) for e in events if isinstance(e, ConsumerChange)] == [("west", "w")]
    assert {(e.cluster, e.group) for e in events if isinstance(e, TopicRoute)} == {("east", "g"), ("east", "h")}


def test_a_group_that_is_not_asked_any_more_has_no_rounds(tmp_path: Path) -> None:
    other = {**META, "group": "h", "ts": T0 + 2000}
    events = read(
        tmp_path, META, listed("a", 1000, "x"), listed("b", 1000, "x"),
        other, *(listed(b, 1000 * s, "y", group="h") for s in range(3, 6) for b in "ab"),
    )  # fmt: skip
    assert [e.round - T0 for e in events if isinstance(e, Round) and e.group == "g"] == [1000]


def test_without_a_name_the_cluster_is_called_recording(tmp_path: Path) -> None:
    events = read(tmp_path, META, listed("a", 1000, "x"), listed("b", 1000, "x"))
    assert {e.cluster for e in events} == {"recording"}


# --- files that are not what they should be


def test_an_unknown_kind_is_left_out_and_said_once(tmp_path: Path) -> None:
    said: list[str] = []
    read(tmp_path, META, *[{"kind": "telepathy", "ts": T0}] * 3, warnings=said)
    assert len(said) == 1
    assert "telepathy" in said[0]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "not a line of a recording"),
        ("[]", "Expected `object`"),
        ('{"ts": 1}', "missing required field `kind`"),
        ('{"kind": "consumer_list", "ts": 1}', "missing required field `broker`"),
        ('{"kind": "consumer_list", "ts": 1, "broker": "a", "group": "g", "code": "0"}', "$.code"),
        ('{"kind": "consumer_list", "ts": 1, "broker": "a"}', "names no group"),
    ],
)
def test_a_bad_line_is_named_with_its_number(tmp_path: Path, line: str, why: str) -> None:
    with pytest.raises(SourceError, match=r"made\.jsonl:1: ") as caught:
        read(tmp_path, line, META)
    assert why in str(caught.value)


def test_a_file_that_ends_in_the_middle_of_a_line_is_read_up_to_there(tmp_path: Path) -> None:
    said: list[str] = []
    whole = [META, listed("a", 1000, "x"), listed("b", 1000, "x")]
    cut = json.dumps(listed("a", 2000, "x"))[:40]
    assert rounds(read(tmp_path, *whole, cut, end="", warnings=said)) == [(1000, 1001, ["a", "b"])]
    assert len(said) == 1
    assert ":4: " in said[0]


def test_a_last_line_without_its_newline_counts(tmp_path: Path) -> None:
    events = read(tmp_path, META, listed("a", 1000, "x"), listed("b", 1000, "x"), end="")
    assert rounds(events) == [(1000, 1001, ["a", "b"])]


@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_a_compressed_recording_that_was_cut_off_is_read_up_to_there(tmp_path: Path, share: float) -> None:
    whole = (RECORDINGS / "a_scaleout.jsonl.gz").read_bytes()
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(whole[: int(len(whole) * share)])
    said: list[str] = []
    events = list(Recording(path, said.append).events())
    assert len(said) == 1
    assert "end early or are damaged" in said[0]
    everything = list(Recording(RECORDINGS / "a_scaleout.jsonl.gz", pytest.fail).events())
    assert 0 < len(events) < len(everything)
    assert events == everything[: len(events)]


def test_damaged_compressed_data_name_the_line_that_came_out_wrong(tmp_path: Path) -> None:
    whole = bytearray((RECORDINGS / "a_scaleout.jsonl.gz").read_bytes())
    whole[len(whole) // 2 : len(whole) // 2 + 64] = bytes(64)
    path = tmp_path / "damaged.gz"
    path.write_bytes(bytes(whole))
    with pytest.raises(SourceError, match=r"damaged\.gz:\d+: not a line of a recording"):
        list(Recording(path, lambda _: None).events())


def test_a_file_that_does_not_exist_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nowhere\.jsonl: cannot be read: No such file"):
        list(Recording(tmp_path / "nowhere.jsonl", pytest.fail).events())


def test_compression_is_recognised_by_content(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    lines = [META, listed("a", 1000, "x"), listed("b", 1000, "x")]
    path.write_bytes(gzip.compress(b"\n".join(map(msgspec.json.encode, lines))))
    assert rounds(list(Recording(path, pytest.fail).events())) == [(1000, 1001, ["a", "b"])]
