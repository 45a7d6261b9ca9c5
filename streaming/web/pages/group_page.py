"""The page of a group: its state now, or at an earlier time."""

from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from threading import BoundedSemaphore, Lock

from starlette.requests import Request
from starlette.responses import RedirectResponse

from schemas.facts import Fact
from streaming.errors import SourceError
from streaming.explain.read_facts import read_group, read_monitor
from streaming.explain.snapshot import MonitorStatus
from streaming.explain.times import parse_moment
from streaming.newest_facts import GroupName, newest_alerts
from streaming.web.context import Answer, BadRequest, Context, NotFound, acquired
from streaming.web.live.group_reader import read_now
from streaming.web.rendering import address, machine_time
from streaming.web.request_values import number, required, text
from streaming.web.views.alerts import silenced
from streaming.web.views.group import Asked, group_view
from streaming.web.views.known import Known
from streaming.web.views.timeline import MINUTES, hours_read, span_of

READS_AT_ONCE = 3
WAIT_FOR_READING_S = 5.0
MOST_KEPT = 64
KEPT_MS = 10_000
LONGEST_TIME = 40


class GroupFacts:
    """The current facts of groups, cached for seconds or until the group's status changes. Few are read at once."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._kept: OrderedDict[tuple[GroupName, int, int, int], list[Fact]] = OrderedDict()
        self._lock = Lock()
        self._reading = BoundedSemaphore(READS_AT_ONCE)

    def now(self, name: GroupName, known: Known, hours: int) -> list[Fact]:
        """The group's facts now. Raises SourceError if there is no such group, and Busy."""
        watch = self.context.watch
        key = (name, watch.changes.number(name), watch.now_ms() // KEPT_MS, hours)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        with acquired(self._reading, WAIT_FOR_READING_S):
            facts = read_now(watch.tables, name, known, watch.now_ms(), hours)
        with self._lock:
            self._kept[key] = facts
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return facts

    def at(self, name: GroupName, at: int | None, known: Known, hours: int) -> tuple[list[Fact], MonitorStatus | None]:
        """The group's facts and evenkeel's own state at a time, None: now. Raises NotFound and Busy.

        ``hours``: how many hours of history are read at least.
        """
        tables = self.context.watch.tables
        try:
            if at is None:
                return self.now(name, known, hours), known.monitor(name[0])
            with acquired(self._reading, WAIT_FOR_READING_S):
                facts = read_group(tables, name[1], name[0], at)
            return facts, read_monitor(tables, name[0], at)
        except SourceError as error:
            raise NotFound(str(error)) from error


def group_page(facts: GroupFacts, request: Request) -> Answer | RedirectResponse:
    """Answer with the page. Raises NotFound, BadRequest and Busy."""
    context = facts.context
    query, words = request.query_params, context.words(request)
    name = (text(query, "cluster"), required(query, "group", 255))
    watch = context.watch
    known, live, now = watch.known, watch.changes.number(name), watch.now_ms()
    is_local = bool(text(query, "local"))
    given, zone = text(query, "at", LONGEST_TIME), words.zone if is_local else UTC
    at = moment_asked(given, now, zone, lambda _: words("bad_time", given=given))
    if at is not None and is_local:
        return RedirectResponse(address("/group", cluster=name[0], group=name[1], at=machine_time(at)), 303)
    minutes = number(query, "minutes", MINUTES[0], MINUTES[-1], 0)
    asked = Asked(now if at is None else at, at, minutes, text(query, "map") == "all")
    shown = minutes or span_of((one.since_ts for one in known.open_alerts(name)), now)
    of_group, monitor = facts.at(name, at, known, hours_read(shown))
    group = known.with_facts(of_group).groups.get(name) if at is None else None
    view = group_view(of_group, monitor, group, asked, words.of_pages, context.site(words))
    silences, alerts = context.silences.all(), newest_alerts(of_group)
    values = {
        "view": view,
        "asked": asked,
        "now": asked.now,
        "minutes_known": MINUTES,
        "silenced": silenced(alerts, silences, context.silences_now_ms() if at is None else at),
    }
    changes = address("/changes", cluster=name[0], group=name[1])
    return Answer("group.html", values, "", (changes, live) if at is None else None, cluster=name[0])


def moment_asked(given: str, now: int, zone: tzinfo | None, refusal: Callable[[SourceError], str]) -> int | None:
    """The time in the query; None: now. ``zone``: for a time without a zone. Raises BadRequest for other text."""
    if not given:
        return None
    try:
        return parse_moment(given, datetime.fromtimestamp(now / 1000, UTC), zone).ts
    except SourceError as error:
        raise BadRequest(refusal(error)) from None
