"""The operations of the JSON API: one row each, from which the addresses and the OpenAPI document are made."""

from collections.abc import Callable
from datetime import UTC
from typing import NamedTuple

from msgspec import Struct
from starlette.datastructures import QueryParams

from schemas.facts import AlertState
from streaming.explain.snapshot import ExplainedGroup
from streaming.explain.snapshot_from_facts import snapshot_of
from streaming.web.api.answers import Alerts, Clusters, Group, Groups, KnownSilence, Queues, Silences
from streaming.web.context import BadRequest
from streaming.web.pages.group_page import LONGEST_TIME, GroupFacts, moment_asked
from streaming.web.pages.overview_page import groups_wanted
from streaming.web.request_values import one_of, required, text
from streaming.web.views.alerts import in_order, silence_rows
from streaming.web.views.overview import SORTS, STATES, OverviewRow, clusters_in
from streaming.web.views.timeline import MINUTES, hours_read


class Parameter(NamedTuple):
    """A parameter of the query. ``words``: all allowed values; empty: any text."""

    name: str
    description: str
    is_required: bool = False
    words: tuple[str, ...] = ()


class Operation(NamedTuple):
    """A GET request, by its address under ``/api/v1``."""

    path: str
    summary: str
    parameters: tuple[Parameter, ...]
    answer: type[Struct]
    ask: Callable[[QueryParams], Struct]


CLUSTER = Parameter("cluster", "only of this cluster")
GROUP = Parameter("group", "only of this consumer group")
OF_CLUSTER = Parameter("cluster", "the cluster", is_required=True)
OF_GROUP = Parameter("group", "the consumer group", is_required=True)
AT = Parameter("at", "a moment of the past, as 2026-11-21T16:58:03Z, or 30m ago, as 30m; without it: now")
FINDING = Parameter("finding", "only with this finding, as ORPHANED")


class Api:
    """Answers from what the pages know. Raises BadRequest, NotFound, Busy, and SourceError for damaged tables."""

    def __init__(self, facts: GroupFacts) -> None:
        self._facts, self._context = facts, facts.context
        self.operations = (
            Operation("/clusters", "Clusters, and until when each was seen", (), Clusters, self._clusters),
            Operation("/groups", "Consumer groups, the worst first", _OF_GROUPS, Groups, self._groups),
            Operation(
                "/group", "A group: members, queues, alerts", (OF_CLUSTER, OF_GROUP, AT), ExplainedGroup, self._group
            ),
            Operation("/queues", "The queues of a group", (OF_CLUSTER, OF_GROUP, AT, FINDING), Queues, self._queues),
            Operation("/alerts", "Open alerts, the worst first", (CLUSTER, GROUP, _STATE), Alerts, self._alerts),
            Operation("/silences", "Silences, and what they silence now", (), Silences, self._silences),
        )

    def _clusters(self, query: QueryParams) -> Clusters:
        known, now = self._context.watch.known, self._context.watch.now_ms()
        return Clusters(as_of_ts=now, clusters=clusters_in(known, now))

    def _groups(self, query: QueryParams) -> Groups:
        watch = self._context.watch
        now = watch.now_ms()
        view = self._context.watch.ranked(now).overview(groups_wanted(query, _known_word), now)
        groups = tuple(map(_group_of, view.rows))
        return Groups(as_of_ts=now, found=view.found, page=view.wanted.page, pages=view.pages, groups=groups)

    def _group(self, query: QueryParams) -> ExplainedGroup:
        """Return the group at a time. Raises NotFound if nothing is known of it at that time."""
        watch = self._context.watch
        name, now = (required(query, "cluster", 255), required(query, "group", 255)), watch.now_ms()
        at = moment_asked(text(query, "at", LONGEST_TIME), now, UTC, lambda error: f"at: {error}")
        facts, monitor = self._facts.at(name, at, watch.known, hours_read(MINUTES[0]))
        return snapshot_of(facts, at, monitor)

    def _queues(self, query: QueryParams) -> Queues:
        group, finding = self._group(query), text(query, "finding", 40)
        queues = tuple(one for one in group.queues if finding in ("", one.finding))
        return Queues(as_of_ts=group.ts, cluster=group.cluster, group=group.group, queues=queues)

    def _alerts(self, query: QueryParams) -> Alerts:
        cluster, group = text(query, "cluster"), text(query, "group")
        state = _known_word(query, "state", _OPEN_STATES)
        wanted = [
            one
            for one in self._context.watch.known.all_open_alerts()
            if cluster in ("", one.cluster) and group in ("", one.group) and state in ("", one.fact.state)
        ]
        return Alerts(as_of_ts=self._context.watch.now_ms(), alerts=tuple(in_order(wanted)))

    def _silences(self, query: QueryParams) -> Silences:
        now, silences = self._context.silences_now_ms(), self._context.silences
        known = tuple(
            KnownSilence(silence=row.silence, is_on=row.is_on, alerts=tuple(one.fact.fingerprint for one in row.alerts))
            for row in silence_rows(silences.all(), self._context.watch.known.all_open_alerts(), now)
        )
        return Silences(as_of_ts=now, silences=known, failure=silences.failure)


_OPEN_STATES = (AlertState.PENDING.value, AlertState.FIRING.value)
_STATE = Parameter("state", "only in this state", words=_OPEN_STATES)
_OF_GROUPS = (
    CLUSTER,
    Parameter("q", "only names that hold this text; a name is cluster/group"),
    Parameter("state", "only in this state", words=STATES),
    FINDING,
    Parameter("sort", "the order; without it, the worst first", words=SORTS),
    Parameter("page", "which page, from 1"),
)


def _known_word(query: QueryParams, name: str, known: tuple[str, ...]) -> str:
    """Return the value, or raise BadRequest if it is not in ``known``: ignoring it would answer another question."""
    given = query.get(name, "")
    if given and not one_of(query, name, known):
        raise BadRequest(f"{name}: one of {', '.join(known)}")
    return given


def _group_of(row: OverviewRow) -> Group:
    group = row.known
    return Group(
        cluster=group.cluster,
        group=group.group,
        state=row.state,
        severity=row.severity,
        since_ts=row.since_ts,
        since_is_lower_bound=row.since_is_lower_bound,
        alerts=tuple(alert.fact.fingerprint for alert in row.alerts),
        waiting=row.lag,
        status_ts=group.ts,
        status=group.status,
    )
