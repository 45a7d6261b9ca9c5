"""The page that tries a change on a simulated group like this one, as ``evenkeel plan`` does."""

import re
from threading import BoundedSemaphore
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request

from streaming.errors import SourceError
from streaming.explain.snapshot_from_facts import snapshot_of
from streaming.newest_facts import GroupName
from streaming.simulation.planning.change import Change, checked, new_ids, size_of, work_of
from streaming.simulation.planning.current_group import CurrentGroup, choose_group, known_group
from streaming.simulation.planning.forecast import forecasts, strategy_of
from streaming.simulation.planning.queue_moves import STRATEGY_NAMES
from streaming.web.context import Answer, BadRequest, NotFound, acquired
from streaming.web.pages.group_page import GroupFacts
from streaming.web.request_values import Form, number, one_of, text
from streaming.web.security.forms import is_meant
from streaming.web.views.plan import group_choice, group_now, plan_picture
from streaming.web.words import Words

WAIT_S = 20.0
MOST_JOINING = 200
MOST_WORK = 1e7  # in the unit of work_of: about 15 s, in which the process does little else
_QUEUES = re.compile(r"(.+)=([0-9]{1,5})")


class PlanPage:
    """Runs one plan at a time, since it uses a processor for seconds. One more waits, and further ones are refused."""

    def __init__(self, facts: GroupFacts) -> None:
        self._facts, self._context = facts, facts.context
        self._places, self._planning = BoundedSemaphore(2), BoundedSemaphore(1)

    def answer(self, request: Request, form: Form | None = None) -> Answer:
        """Answer a form, or a link, whose plan runs at once only if no other site made the request.

        Raises NotFound, BadRequest and Busy.
        """
        query = request.query_params if form is None else QueryParams(form)
        is_tried = form is not None or is_meant(request.headers.get("sec-fetch-site", ""))
        name = (text(query, "cluster"), text(query, "group"))
        given = {key: text(query, key, 2000) for key in ("join", "leave", "rolling", "queues", "strategy", "room")}
        token = self._context.forms.token(self._context.user(request).name, self._context.watch.now_ms())
        values: dict[str, Any] = {"name": name, "given": given, "strategies": STRATEGY_NAMES, "token": token}
        values |= {"found": None, "waits": False}
        if not name[1]:
            values["choice"] = group_choice(self._context.watch.known, text(query, "q").strip())
        else:
            current = self._current(name)
            values["before"] = group_now(current)
            change = _change(query, current)
            if not change.is_empty:
                values |= self._planned(current, change, self._context.words(request)) if is_tried else {"waits": True}
        return Answer("plan.html", values, "plan")

    def _current(self, name: GroupName) -> CurrentGroup:
        try:
            facts = self._facts.now(name, self._context.watch.known, 3)
            return choose_group([known_group(snapshot_of(facts))], name[1], name[0])
        except SourceError as error:
            raise NotFound(str(error)) from error

    def _planned(self, current: CurrentGroup, change: Change, words: Words) -> dict[str, Any]:
        try:
            change = checked(change, current)
        except SourceError as error:
            raise BadRequest(str(error)) from error
        if work_of(change, current) > MOST_WORK:
            raise BadRequest(words("plan_too_large", **size_of(change, current)._asdict()))
        with acquired(self._places), acquired(self._planning, WAIT_S):
            found = forecasts(current, change)
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
    """The change that the request describes. Raises BadRequest."""
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
