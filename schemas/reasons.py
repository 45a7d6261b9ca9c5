"""Reasons as data: why a queue or a group is not judged, or why a queue's expected owners are not known.

The detector gives a :class:`Reason` and writes no sentences; ``streaming.notices`` makes sentences of it, in English
and Chinese. A fact has the kind in ``reason`` and the details in ``reason_details``.
"""

from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from schemas.observed import Clients


class ReasonKind(StrEnum):
    """Kinds of reasons, grouped: for EXCLUDED, UNKNOWN, SETTLING, other findings, and unknown expected owners."""

    CONFIGURED = "CONFIGURED"
    STATIC_TOPIC = "STATIC_TOPIC"
    NOT_SUBSCRIBED = "NOT_SUBSCRIBED"
    POP = "POP"
    BROKER_ALLOCATED = "BROKER_ALLOCATED"
    LITE_ASSIGN = "LITE_ASSIGN"
    PROXY_CLIENT = "PROXY_CLIENT"
    UNREADABLE = "UNREADABLE"
    LITE_TOPICS = "LITE_TOPICS"
    SYSTEM_GROUP = "SYSTEM_GROUP"

    NO_ANSWER = "NO_ANSWER"
    ROUTE_NOT_KNOWN = "ROUTE_NOT_KNOWN"
    NAME_SERVERS_DIFFER = "NAME_SERVERS_DIFFER"
    NO_MESSAGE_MODEL = "NO_MESSAGE_MODEL"
    NON_REPORTING_MEMBERS = "NON_REPORTING_MEMBERS"
    MEMBERS_AT_PROXIES = "MEMBERS_AT_PROXIES"
    NO_REPORT_SINCE_CHANGE = "NO_REPORT_SINCE_CHANGE"
    POLLS_NOT_READ = "POLLS_NOT_READ"
    NO_POLL_SEEN = "NO_POLL_SEEN"
    POPPED_IN_PART = "POPPED_IN_PART"
    EVENTS_REFUSED = "EVENTS_REFUSED"
    EVALUATION_FAILED = "EVALUATION_FAILED"

    ROUTE_CHANGED = "ROUTE_CHANGED"
    BROKERS_CHANGED = "BROKERS_CHANGED"
    MEMBER_LIST_CHANGED = "MEMBER_LIST_CHANGED"
    BROKER_RETURNED = "BROKER_RETURNED"
    PROXY_AWAY = "PROXY_AWAY"
    OTHER_ROUTE = "OTHER_ROUTE"
    NOT_IN_ROUTE = "NOT_IN_ROUTE"
    NO_MEMBER_YET = "NO_MEMBER_YET"

    NO_CONSUMER = "NO_CONSUMER"
    NO_MEMBERS = "NO_MEMBERS"
    CONSUME_DISABLED = "CONSUME_DISABLED"
    LEFT_ROUTE = "LEFT_ROUTE"

    BROKERS_NOT_COVERED = "BROKERS_NOT_COVERED"
    MEMBER_LISTS_DIFFER = "MEMBER_LISTS_DIFFER"
    NO_STRATEGY_REPORTED = "NO_STRATEGY_REPORTED"
    STRATEGIES_DIFFER = "STRATEGIES_DIFFER"
    STRATEGY_NOT_NAMED = "STRATEGY_NOT_NAMED"
    UNKNOWN_STRATEGY = "UNKNOWN_STRATEGY"
    UNKNOWN_PARAMETERS = "UNKNOWN_PARAMETERS"
    STRATEGY_THROWS = "STRATEGY_THROWS"


EXCLUSIONS = frozenset({
    ReasonKind.CONFIGURED, ReasonKind.STATIC_TOPIC, ReasonKind.NOT_SUBSCRIBED, ReasonKind.POP,
    ReasonKind.BROKER_ALLOCATED, ReasonKind.LITE_ASSIGN, ReasonKind.PROXY_CLIENT, ReasonKind.UNREADABLE,
    ReasonKind.LITE_TOPICS,
    ReasonKind.SYSTEM_GROUP,
})  # fmt: skip
KINDS = frozenset(kind.value for kind in ReasonKind)


class ReasonDetails(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The details of a reason beside its kind; each kind fills in its own fields, and all others are null.

    ``broker_names``: the brokers that did not answer, whose list changed, or that came back, or the addresses of
    proxies. ``clients``: the members that have not reported, or never report what they own; ``exclusions``: why these
    do not, empty: they only pull.
    ``changed_ts``: when the last change was seen; ``counts_from_ts``: reports that are answered then or later count.
    ``since_ts``: since when no broker has listed a member. ``strategy``: name or Java class of the strategy.
    ``refused_as``: the reason of the refused events in the table quarantine. ``error``: the text of the error.
    """

    broker_names: tuple[str, ...] = ()
    clients: Clients = Clients((), 0)
    exclusions: tuple[str, ...] = ()
    changed_ts: int = 0
    counts_from_ts: int = 0
    since_ts: int = 0
    strategy: str = ""
    refused_as: str = ""
    error: str = ""


class Reason(NamedTuple):
    """A reason. ``details`` None: the kind has none."""

    kind: ReasonKind
    details: ReasonDetails | None = None
