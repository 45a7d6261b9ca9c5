"""A notice to a person: one incident of one cluster, as values. Times are epoch milliseconds, UTC."""

from collections.abc import Mapping
from datetime import UTC, tzinfo
from typing import Literal, NamedTuple

from msgspec import Struct

from schemas.facts import AlertFact, AlertState, Contradiction, Severity
from schemas.reasons import ReasonDetails


class OpenAlert(Struct, frozen=True):
    """One alert: the newest fact of its fingerprint, with the row's ``ts`` and ``seq``."""

    cluster: str
    group: str
    topic: str | None
    ts: int
    seq: int
    fact: AlertFact

    @property
    def is_open(self) -> bool:
        return self.fact.state != AlertState.RESOLVED

    @property
    def is_firing(self) -> bool:
        return self.fact.state == AlertState.FIRING

    @property
    def since_ts(self) -> int:
        """The time since when the first of its queues has been wrong."""
        return self.fact.since_ts or self.fact.active_ts


class TroubleEvidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Evidence about an evenkeel that does not see, as of ``heard_ts``, when the job last wrote a health fact.

    All but the first three fields are from that fact. ``error``: the job's error at its end at ``error_ts``, or why the
    facts have not been readable since then. Times are epoch ms; None: not known.
    """

    heard_ts: int | None = None
    error_ts: int | None = None
    error: str = ""
    newest_round_ts: int | None = None
    batch_ms: int | None = None
    batch_ended_ts: int | None = None
    working_ms: int | None = None
    kafka_ts: int | None = None
    kafka_error: str | None = None
    unread: int | None = None
    quiet_since_ts: int | None = None
    contradiction: Contradiction | None = None


class MonitorTrouble(Struct, frozen=True):
    """A trouble of evenkeel itself: no facts arrive (``monitor_blind``), or only late ones (``monitor_late``).

    Other kinds: the events of one ``group`` are refused (``group_blind``); rounds of two producers cannot both be true
    (``monitor_contradicted``); nothing is wrong (``test``).
    ``why`` is a key of ``Language.unseen``, whose sentence may name ``detail``; without it ``detail`` is shown
    unchanged. ``evidence`` is the evidence for ``why``.
    If events of a group are refused, ``detail`` is a kind of reason, with ``reason_details``.
    A late job that then stops reporting, or the other way round, is one trouble: ``began_as`` and ``began_ts`` are its
    first kind and ``since_ts``, if its kind has changed.
    """

    kind: Literal["monitor_blind", "monitor_late", "monitor_contradicted", "group_blind", "test"]
    cluster: str
    since_ts: int
    detail: str = ""
    group: str = ""
    began_as: str = ""
    began_ts: int = 0
    why: str = ""
    reason_details: ReasonDetails | None = None
    evidence: TroubleEvidence | None = None

    @property
    def began(self) -> tuple[str, int]:
        """The kind and ``since_ts`` of its beginning, which stay the same for as long as the trouble lasts."""
        return (self.began_as, self.began_ts) if self.began_as else (self.kind, self.since_ts)


class Notice(Struct, frozen=True, kw_only=True):
    """One incident. ``key`` is the same from its first notice to its last; two incidents never share one.

    ``groups`` is one name, or many in a storm; ``cause`` is None if there are several causes or none. ``severity`` is
    the worst of the alerts; ``since_ts`` is the earliest time since which one of them is so.
    """

    key: str
    status: Literal["firing", "resolved"]
    severity: Severity
    cluster: str
    groups: tuple[str, ...] = ()
    cause: str | None = None
    alerts: tuple[OpenAlert, ...] = ()
    trouble: MonitorTrouble | None = None
    since_ts: int


class Site(NamedTuple):
    """The readers' environment. ``config``: the configuration's file, as evenkeel's commands take it.

    ``tables``: their folder, if no file names it; ``state``: the notifier's, likewise. ``program``: the command that
    starts evenkeel. ``is_played``: the data was recorded or simulated, and there is no cluster to ask.
    ``name_servers``: of each cluster, ``host:port`` with semicolons between. ``zone``: the readers' own; None is this
    machine's. ``docs``: the address of the folder docs/.
    """

    config: str = ""
    name_servers: Mapping[str, str] = {}
    zone: tzinfo | None = UTC
    docs: str = "docs"
    tables: str = ""
    state: str = ""
    program: str = "evenkeel"
    is_played: bool = False


class Text(NamedTuple):
    """Plain text, not yet escaped for any channel: a title of one line, and a body of at most 22 lines."""

    title: str
    body: str
