"""Recordings under harder conditions: each a pure function from a recording's lines to lines, in the order of arrival.

    lines = looped(read("a_scaleout"), until_s=300)
    facts_of(thinned(lines, every_s=20, phase_s=7))

A line is a decoded JSON object with at least ``kind`` and ``ts``. What is only there for people (``consumed``) is left
out by ``read``. Times of whole lines are changed, never what was answered.
"""

import gzip
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from schemas.events import encode_event
from schemas.facts import Fact
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.replay.core_engine import core_facts
from streaming.replay.recording import RecordingTranslation, decode_line

Line = dict[str, Any]
Lines = list[Line]
Transformation = Callable[[Lines], Lines]
BY_BROKER = ("consumer_list", "connections", "consume_stats", "running_info")


def read(path: Path) -> Lines:
    with gzip.open(path, "rb") as stream:
        lines = [msgspec.json.decode(text) for text in stream]
    return [line for line in lines if line["kind"] != "consumed"]


def event_lines(lines: Lines) -> list[bytes]:
    """The events of a recording that holds these lines, as JSON, one a line."""
    translation = RecordingTranslation()
    events = []
    for line in lines:
        answer, _, _ = decode_line(msgspec.json.encode(line))
        if answer is not None:
            events += translation.feed(answer)
    return [encode_event(event) for event in events + translation.finish()]


def facts_of(lines: Lines) -> list[Fact]:
    return core_facts(event_lines(lines), DEFAULT_SETTINGS)


def begin(lines: Lines) -> int:
    return int(lines[0]["ts"])


# --- transformations


def slowed(lines: Lines, factor: float) -> Lines:
    """Everything takes ``factor`` times as long: fewer rounds and reports a minute."""
    first = begin(lines)
    return [{**line, "ts": round(first + (line["ts"] - first) * factor)} for line in lines]


def doubled(lines: Lines, later_s: float = 0.3) -> Lines:
    """Two clusters at once, the second a little later: what is known of one must not touch the other."""
    east = [{**line, "cluster": "east"} for line in lines]
    west = [{**line, "cluster": "west", "ts": line["ts"] + round(later_s * 1000)} for line in lines]
    return _by_arrival(east + west)


def without_broker(lines: Lines, broker: str, from_s: float, for_s: float = 60) -> Lines:
    """One broker does not answer for a while, nor lets anybody ask a client through it."""
    since = begin(lines) + from_s * 1000
    return [
        line
        for line in lines
        if not (line["kind"] in BY_BROKER and line["broker"] == broker and since <= line["ts"] < since + for_s * 1000)
    ]


def late_reports(lines: Lines, by_s: float = 15) -> Lines:
    """Every report arrives so much later than it was answered."""
    return _by_arrival(lines, lambda line: by_s * 1000 if line["kind"] == "running_info" else 0)


def dropped_reports(lines: Lines, share: float = 0.2, seed: int = 1) -> Lines:
    """Some reports never arrive."""
    random = Random(seed)
    return [line for line in lines if line["kind"] != "running_info" or random.random() >= share]


def thinned(lines: Lines, every_s: float = 20, phase_s: float = 0) -> Lines:
    """Each client is asked but once in ``every_s``; ``phase_s`` shifts when."""
    asked: dict[tuple[Any, ...], int] = {}
    kept = []
    for line in lines:
        if line["kind"] == "running_info":
            turn = int((line["ts"] - begin(lines) + phase_s * 1000) // (every_s * 1000))
            client = (line.get("cluster"), line.get("group"), line["clientId"])
            if asked.get(client) == turn:
                continue
            asked[client] = turn
        kept.append(line)
    return kept


def looped(lines: Lines, until_s: float = 300, steady_s: float = 20) -> Lines:
    """What was said last, before the recording's clients were stopped, goes on being said."""
    stopped = [line["ts"] for line in lines if line["kind"] == "truth" and line.get("what") == "end"]
    end = stopped[-1] if stopped else lines[-1]["ts"]
    steady = [line for line in lines if end - steady_s * 1000 <= line["ts"] < end and line["kind"] != "truth"]
    whole = [line for line in lines if line["ts"] < end]
    shift = 0
    while end + shift - begin(lines) < until_s * 1000:
        shift += round(steady_s * 1000)
        whole += [{**line, "ts": line["ts"] + shift} for line in steady]
    return whole


def _by_arrival(lines: Lines, later_ms: Callable[[Line], float] = lambda _: 0) -> Lines:
    return sorted(lines, key=lambda line: line["ts"] + line.get("dur_ms", 0) + later_ms(line))
