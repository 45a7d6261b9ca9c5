"""The values that ``inspect`` shows. They are the keys of its ``--json``; docs/inspect.md explains them."""

from msgspec import Struct

from streaming.snapshots.values import GroupSnapshot, QueueName, QueueSnapshot


class Finding(Struct, frozen=True, kw_only=True):
    """A finding with sufficient evidence. ``topic`` None: it concerns the whole group."""

    kind: str
    severity: str
    topic: str | None
    queues: tuple[QueueName, ...]
    cause: str | None
    evidence: str


class Undecided(Struct, frozen=True, kw_only=True):
    """A question that is not decided yet. ``kind``: the possible finding, UNKNOWN if there is no indication.

    ``judged_in_s``: how long it takes at least from now on, None if that is not known.
    """

    kind: str
    topic: str | None = None
    queues: tuple[QueueName, ...] = ()
    cause: str | None = None
    evidence: str
    judged_in_s: int | None = None


class InspectedMember(Struct, frozen=True, kw_only=True):
    """A client of the group. Unknown values are None; a sum is None if a part of it is not known."""

    client_id: str
    instances: int
    addresses: tuple[str, ...] | None
    brokers: tuple[str, ...]
    answered: bool
    why_not: str | None
    answer_age_s: float | None
    started_ts: int | None
    language: str | None
    version: str | None
    strategy: str | None
    subscriptions: tuple[tuple[str, str | None], ...] | None
    queues: int | None
    in_per_s: float | None
    out_per_s: float | None
    lag: int | None
    hot: bool = False


class InspectedQueue(QueueSnapshot, frozen=True, kw_only=True):
    """A message queue. ``finding`` is the core's; ``may_be``: the finding in the newest reports, too young to count.

    ``still_s``: for how long messages have waited without one of them being pulled; ``stands_s``: without one being
    consumed.
    """

    may_be: str | None = None
    readable: bool
    writable: bool
    in_per_s: float | None
    out_per_s: float | None
    lag: int | None
    still_s: int | None
    stands_s: int | None
    hot: bool = False


class AskedBroker(Struct, frozen=True, kw_only=True):
    """A broker that was asked for the group's members. ``listed``: entries in its list."""

    broker_name: str
    answered: bool
    error: str | None
    listed: int | None


class InspectedGroup(GroupSnapshot, frozen=True, kw_only=True):
    """A group. ``status``: healthy, findings, settling, unknown, excluded, empty or absent.

    ``members`` None: no broker has reported them. ``queues`` None: no route is known. ``orderly`` and ``strategies``
    None: not reported.
    """

    looked_s: float
    status: str
    message_model: str | None = None
    orderly: bool | None = None
    consume_enable: bool | None = None
    strategies: tuple[str, ...] | None = None
    findings: tuple[Finding, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    notes: tuple[str, ...] = ()
    members: tuple[InspectedMember, ...] | None = None
    queues: tuple[InspectedQueue, ...] | None = None
    brokers: tuple[AskedBroker, ...] = ()


class EmptyGroups(Struct, frozen=True, kw_only=True):
    """Groups that brokers know, and that are not shown. ``number``: all of them.

    ``not_known``: a broker did not report their members, or what waits for them; ``not_asked``: without members, but no
    broker was asked what waits. In the others no message waits.
    """

    number: int = 0
    not_known: int = 0
    not_asked: int = 0


class InspectedCluster(Struct, frozen=True, kw_only=True):
    """All groups of a cluster that were looked at, at ``ts``. ``silent``: who did not answer, and why.

    ``brokers`` are those that the name servers know, ``untold`` those of them that did not report their groups.
    """

    cluster: str
    ts: int
    looked_s: float
    brokers: tuple[str, ...]
    untold: tuple[str, ...]
    empty: EmptyGroups
    silent: dict[str, str]
    groups: tuple[InspectedGroup, ...]

    @property
    def is_complete(self) -> bool:
        """True if all answers came, and nothing was left out."""
        return not (self.silent or self.untold or self.empty.not_known or self.empty.not_asked)
