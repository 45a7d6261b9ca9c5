"""The objects of the JSON API. Times are epoch milliseconds, UTC; null: not known.

Keys may be added within ``/api/v1``. None is renamed, and none changes its meaning.
"""

from msgspec import Struct

from schemas.facts import GroupFact
from streaming.explain.snapshot import ExplainedQueue
from streaming.notices.notice import OpenAlert
from streaming.notifier.silences import Silence
from streaming.web.views.overview import Cluster, Waiting


class Clusters(Struct, frozen=True, kw_only=True):
    as_of_ts: int
    clusters: tuple[Cluster, ...]


class Group(Struct, frozen=True, kw_only=True):
    """A consumer group. ``state``: firing, findings, unknown, settling, empty, excluded or healthy, since ``since_ts``.

    ``since_is_lower_bound``: it may have begun earlier. ``severity``: of the worst alert that fires; empty: none does.
    ``alerts``: fingerprints of its open alerts, the worst first. ``status``: the newest one, written at ``status_ts``.
    ``waiting``: in the queues of its open alerts.
    """

    cluster: str
    group: str
    state: str
    severity: str
    since_ts: int
    since_is_lower_bound: bool
    alerts: tuple[str, ...]
    waiting: Waiting | None
    status_ts: int
    status: GroupFact


class Groups(Struct, frozen=True, kw_only=True):
    """One page of the groups that match the query. ``found``: how many match on all ``pages``."""

    as_of_ts: int
    found: int
    page: int
    pages: int
    groups: tuple[Group, ...]


class Queues(Struct, frozen=True, kw_only=True):
    """The queues of a group as they were at ``as_of_ts``."""

    as_of_ts: int
    cluster: str
    group: str
    queues: tuple[ExplainedQueue, ...]


class Alerts(Struct, frozen=True, kw_only=True):
    """Open alerts, the worst first: each as its newest fact describes it."""

    as_of_ts: int
    alerts: tuple[OpenAlert, ...]


class KnownSilence(Struct, frozen=True, kw_only=True):
    """A silence. ``alerts``: fingerprints of the open alerts that it silences now."""

    silence: Silence
    is_on: bool
    alerts: tuple[str, ...]


class Silences(Struct, frozen=True, kw_only=True):
    """All silences: the active ones, then those that ended, the newest first.

    ``failure``: why they cannot be read, so none counts.
    """

    as_of_ts: int
    silences: tuple[KnownSilence, ...]
    failure: str | None


class Failure(Struct, frozen=True, kw_only=True):
    """The reason why there is no answer."""

    error: str
