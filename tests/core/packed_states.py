"""Packed states as a release leaves them behind, in a file whose lines hold one state each.

``python -m tests.core.packed_states FILE`` writes them, for scripts/keep_release.py: what an older evenkeel packed must
stay as it was. The states are those of the scenarios of tests/scenarios, at the round at which most is kept of them.
"""

import json
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec

from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.state.group import Group
from streaming.core.state.group_state import GroupState, new_state
from streaming.core.state.packing import pack
from streaming.core.step import take
from tests.scenarios.scenario import FILES, play, read

STATES_AT_MOST = 14
BYTES_AT_MOST = 4_000


class Kept(NamedTuple):
    """``holds``: the state as plain values; ``form``: of each packed class its fields in order."""

    name: str
    packed: bytes
    holds: Any


def read_kept(path: Path) -> tuple[dict[str, list[str]], list[Kept]]:
    form, *lines = map(json.loads, path.read_text("utf-8").splitlines())
    return form, [Kept(line["name"], b64decode(line["packed"]), line["holds"]) for line in lines]


def plain(state: Any) -> Any:
    """Objects with their fields' names, so that a state can be compared whatever the order of its fields."""
    if isinstance(state, msgspec.Struct):
        return {name: plain(getattr(state, name)) for name in state.__struct_fields__}
    if isinstance(state, dict):
        return {str(key): plain(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return [plain(value) for value in state]
    return b64encode(state).decode() if isinstance(state, bytes) else state


def form_of(kind: type[msgspec.Struct] = GroupState) -> dict[str, list[str]]:
    """The fields of every class that is packed, in their order."""
    form = {kind.__name__: list(kind.__struct_fields__)}
    for hint in get_type_hints(kind).values():
        for part in _classes(hint):
            if part.__name__ not in form:
                form |= form_of(part)
    return form


def _classes(hint: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for argument in get_args(hint):
        yield from _classes(argument)


def _busiest(path: Path) -> bytes:
    """The state of a scenario at the marker at which most is kept of it."""
    scenario = read(path)
    group = Group(new_state("c", "g"), scenario.settings or DEFAULT_SETTINGS)
    packed = [b""]
    for event in play(scenario).events:
        take(group, event)
        if group.state.alerts:
            packed.append(pack(group.state))
    return max(packed, key=len)


def write(file: Path) -> None:
    """The states that fit, those with the most different things in them first."""
    states = {path.stem: packed for path in FILES if 0 < len(packed := _busiest(path)) <= BYTES_AT_MOST}
    chosen = sorted(states, key=lambda name: -len(states[name]))[:STATES_AT_MOST]
    lines = [json.dumps(form_of())]
    for name in sorted(chosen):
        state = msgspec.msgpack.decode(states[name][1:], type=GroupState)
        lines.append(
            json.dumps(
                {"name": name, "packed": b64encode(states[name]).decode(), "holds": plain(state)}, sort_keys=True
            )
        )
    file.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
