"""Rounds that are too long for one event come in parts. They are one marker, which counts when all parts have come."""

from msgspec.structs import replace

from schemas.events import SPREAD_OVER_PARTS, BrokerAnswer, Round, decode_event, encode_event
from streaming.core.state.group import Group
from streaming.core.state.group_state import RoundParts


def whole_rounds(group: Group, event: Round, is_new: bool) -> list[Round]:
    """The rounds that the event completes, in their order: none, its own, or an earlier incomplete one and its own.

    A round of which a part is lost ends with the next one. Brokers whose lists are not complete then count as not
    answering.
    """
    state = group.state
    if event.parts == 1 and state.round_parts is None:
        return [event]
    if not is_new and event.parts > 1:
        return []
    waiting, ended = state.round_parts, []
    if waiting is not None and (waiting.source, waiting.ts) != (event.source, event.ts):
        if event.source == waiting.source and event.seq < waiting.first_seq:
            return [event] if event.parts == 1 else []  # late, of a round that has ended
        ended = [_joined(waiting)]
        waiting = state.round_parts = None
    if event.parts == 1:
        return [*ended, event]
    if waiting is None:
        waiting = state.round_parts = RoundParts(event.source, event.ts, event.seq)
    waiting.first_seq = min(waiting.first_seq, event.seq)
    waiting.come[event.part] = encode_event(event)
    if len(waiting.come) < event.parts:
        return ended
    state.round_parts = None
    return [*ended, _joined(waiting)]


def _joined(parts: RoundParts) -> Round:
    events = [decode_event(encoded) for _, encoded in sorted(parts.come.items())]
    rounds = [event for event in events if isinstance(event, Round)]
    pieces: dict[str, list[BrokerAnswer]] = {}
    for one in rounds:
        for answer in one.brokers:
            pieces.setdefault(answer.broker_name, []).append(answer)
    spread = {name: tuple(item for one in rounds for item in getattr(one, name)) for name in SPREAD_OVER_PARTS}
    spread["brokers"] = tuple(map(_whole_list, pieces.values()))
    return replace(rounds[-1], part=0, parts=1, **spread)


def _whole_list(pieces: list[BrokerAnswer]) -> BrokerAnswer:
    """One broker's list, where it came whole."""
    ids = tuple(client_id for piece in pieces for client_id in piece.client_ids)
    entries = pieces[0].entries
    if not pieces[0].answered or (entries and entries != len(ids)):
        return BrokerAnswer(
            pieces[0].broker_name, answered=False, error=pieces[0].error or "a part of its list is lost"
        )
    return replace(pieces[0], client_ids=ids, entries=0)
