"""What if: a change tried on a simulated group like this one, as ``evenkeel plan`` does."""

import re
from threading import BoundedSemaphore
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request

from streaming.errors import SourceError
from streaming.explain.snapshot_from_facts import snapshot_of
from streaming.simulation.planning.change import Change, checked, members_after, new_ids
from streaming.simulation.planning.current_group import CurrentGroup, choose_group
from streaming.simulation.planning.forecast import forecasts, strategy_of
from streaming.simulation.planning.from_tables import current_group_of
from streaming.simulation.planning.queue_moves import STRATEGY_NAMES
from streaming.web.context import Answer, BadRequest, Busy, Context, NotFound
from streaming.web.pages.group_page import GroupFacts
from streaming.web.queries import number, one_of, text
from streaming.web.views.known import GroupName
from streaming.web.views.plan import plan_picture

WAIT_S = 20.0
MOST_JOINING = 200
MOST_CELLS = 20_000  # of queues times clients: more takes too long for a page
_QUEUES = re.compile(r"(.+)=([0-9]{1,5})")


class PlanPage:
    """One plan at a time: it takes a processor for seconds."""

    def __init__(self, context: Context, facts: GroupFacts) -> None:
        self._context = context
        self._facts = facts
        self._planning = BoundedSemaphore(1)

    def answer(self, request: Request) -> Answer:
        """Raises NotFound, BadRequest and Busy."""
        query = request.query_params
        name = (text(query, "cluster"), text(query, "group"))
        given = {key: text(query, key, 2000) for key in ("join", "leave", "rolling", "queues", "strategy", "room")}
        values: dict[str, Any] = {"name": name, "given": given, "strategies": STRATEGY_NAMES, "found": None}
        if name[1]:
            current = self._current(name)
            values["current"] = current
            change = _change(query, current)
            if not change.is_empty:
                values |= self._planned(current, change)
        return Answer("plan.html", values, "plan")

    def _current(self, name: GroupName) -> CurrentGroup:
        try:
            facts = self._facts.now(name, self._context.watch.known, 3)
            return choose_group([current_group_of(snapshot_of(facts))], name[1], name[0])
        except SourceError as error:
            raise NotFound(str(error)) from error

    def _planned(self, current: CurrentGroup, change: Change) -> dict[str, Any]:
        try:
            change = checked(change, current)
        except SourceError as error:
            raise BadRequest(str(error)) from error
        if len(members_after(change, current)) * max(len(current.queues), sum(change.queues.values())) > MOST_CELLS:
            raise BadRequest(f"{current.group}: too large to be planned here, use 'evenkeel plan'")
        if not self._planning.acquire(timeout=WAIT_S):
            raise Busy
        try:
            found = forecasts(current, change)
        finally:
            self._planning.release()
        own = strategy_of(current)
        drawn = next((one for one in found if one.balance is not None and one.strategy == own), None)
        drawn = drawn or next((one for one in found if one.balance is not None), None)
        return {
            "found": found,
            "own": own,
            "change": str(change),
            "drawn": drawn,
            "picture": plan_picture(drawn) if drawn is not None else None,
        }


def _change(query: QueryParams, current: CurrentGroup) -> Change:
    """Raises BadRequest."""
    return Change(
        join=new_ids(number(query, "join", 0, MOST_JOINING, 0), current),
        leave=tuple(text(query, "leave", 2000).replace(",", " ").split()),
        rolling=number(query, "rolling", 0, MOST_JOINING, 0),
        queues=dict(map(_queues, text(query, "queues", 2000).replace(",", " ").split())),
        lose_room=text(query, "room") or None,
        strategy=one_of(query, "strategy", STRATEGY_NAMES) or None,
    )


def _queues(written: str) -> tuple[str, int]:
    match = _QUEUES.fullmatch(written)
    if match is None or int(match[2]) < 1:
        raise BadRequest(f"{written}: a topic and its number of queues on each broker, as in orders=16")
    return match[1], int(match[2])
