"""What ``inspect`` shows: plain values. They are the keys of its ``--json``; docs/inspect.md explains them."""

from msgspec import Struct

from streaming.snapshots.values import GroupSnapshot, QueueName, QueueSnapshot


class Finding(Struct, frozen=True, kw_only=True):
    """What is wrong, by evidence that counts. ``topic`` None: it concerns the whole group."""

    kind: str
    severity: str
    topic: str | None
    queues: tuple[QueueName, ...]
    cause: str | None
    evidence: str


class Undecided(Struct, frozen=True, kw_only=True):
    """What cannot be judged yet. ``kind``: what it may be, UNKNOWN where nothing can be said.

    ``judged_in_s``: how long it takes at least from now on, None where that is not known.
    """

    kind: str
    topic: str | None = None
    queues: tuple[QueueName, ...] = ()
    cause: str | None = None
    evidence: str
    judged_in_s: int | None = None


class InspectedMember(Struct, frozen=True, kw_only=True):
    """A client of the group. What is not known is None; a sum is None if a part of it is not known."""

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
    """A message queue. ``finding`` is the core's; ``may_be``: what the newest reports show, too young to count.

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
    """``status``: healthy, findings, settling, unknown, excluded, empty or absent.

    ``members`` None: no broker has said who they are. ``queues`` None: no route is known. ``orderly`` and
    ``strategies`` None: nobody has said.
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

    ``not_known``: some broker did not say who their members are, or what waits for them; ``not_asked``: without
    members, but nobody was asked what waits. In the others no message waits.
    """

    number: int = 0
    not_known: int = 0
    not_asked: int = 0


class InspectedCluster(Struct, frozen=True, kw_only=True):
    """All groups of a cluster that were looked at, at ``ts``. ``silent``: who did not answer, and why.

    ``brokers`` are those that the name servers know, ``untold`` those of them that did not say which groups they know.
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
        """Whether everybody answered who was to be asked, and nothing was left out."""
        return not (self.silent or self.untold or self.empty.not_known or self.empty.not_asked)
