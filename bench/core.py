"""The core's time by step, without Spark: decoding, taking each kind of event, evaluating, packing and unpacking."""

import gc
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from time import process_time  # other processes may run at the same time
from typing import Any

from bench.feeder import whole_rounds
from bench.results import Results
from schemas.events import AnyEvent
from schemas.records import Rejected, decode_record
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.evaluation import evaluate
from streaming.core.state.group import Group
from streaming.core.state.group_state import GroupState, new_state
from streaming.core.state.packing import pack, unpack
from streaming.core.step import take
from streaming.simulation.load.fleet_spec import FleetSpec, templates_for
from streaming.simulation.load.generated_fleet import generated_fleet
from streaming.simulation.load.generated_group import GroupRound

GROUPS, EVENTS = 300, 60_000
START_TS = 1_790_000_000_000


def measure(results: Results, quick: bool) -> None:
    with results.part("core"):
        spec = FleetSpec(GROUPS)
        fleet = generated_fleet(spec, templates_for(spec), START_TS)
        groups: dict[bytes, Group] = {}
        introduction_s = sum(_take_all(groups, _events(fleet.introduce(GROUPS))).values())
        gc.freeze()
        records = list(_events(whole_rounds(fleet, EVENTS)))
        decode_us = _us_each(_decode, records)
        taken = _take_all(groups, records)
        results.put(
            "core",
            {
                "decode_us_per_event": decode_us,
                "take_us_per_event": round(sum(taken.values()) / len(records) * 1e6, 2),
                "share_of_take": {kind: round(s / sum(taken.values()), 2) for kind, s in sorted(taken.items())},
                "new_group_ms": round(introduction_s / GROUPS * 1000, 2),
                **_of_groups(list(groups.values())),
            },
        )


def _events(rounds: Iterable[GroupRound]) -> Iterator[tuple[bytes, bytes]]:
    return ((group_round.group.key, event) for group_round in rounds for event in group_round.events)


def _take_all(groups: dict[bytes, Group], records: Iterable[tuple[bytes, bytes]]) -> dict[str, float]:
    """The seconds in ``take`` by kind of event."""
    seconds: dict[str, float] = defaultdict(float)
    for key, value in records:
        event = _decode((key, value))
        assert not isinstance(event, Rejected)
        group = groups.get(key)
        if group is None:
            group = groups[key] = Group(new_state(event.cluster, event.group), DEFAULT_SETTINGS)
        began = process_time()
        take(group, event)
        seconds[type(event).__name__] += process_time() - began
    return dict(seconds)


def _decode(record: tuple[bytes, bytes]) -> AnyEvent | Rejected:
    key, value = record
    (event,) = decode_record(key, value, len(value), START_TS * 2)
    return event


def _of_groups(groups: list[Group]) -> dict[str, float]:
    states = [group.state for group in groups]
    packed = [pack(state) for state in states]
    figures = {
        "evaluate_at_rest_us": _us_each(_evaluate, groups),
        "evaluate_us": _us_each(_evaluate_all, groups),
        "pack_us_per_group": _us_each(pack, states),
        "state_bytes_per_group": round(sum(map(len, packed)) / len(packed)),
    }
    gc.disable()  # as the operator does; with gc, unpacking many groups takes several times as long
    figures["unpack_us_per_group"] = _us_each(_unpack_and_index, packed)
    gc.enable()
    return figures


def _evaluate(group: Group) -> None:
    evaluate(group, group.state.now - 5_000)


def _evaluate_all(group: Group) -> None:
    group.request_evaluation()
    _evaluate(group)


def _unpack_and_index(packed: bytes) -> Group:
    state: GroupState = unpack(packed)
    return Group(state, DEFAULT_SETTINGS)


def _us_each(function: Callable[[Any], object], items: list[Any]) -> float:
    began = process_time()
    for item in items:
        function(item)
    return round((process_time() - began) / len(items) * 1e6, 2)
