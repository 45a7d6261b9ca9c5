"""A scenario file: what happens to a group, which alerts must fire of it, by when and for which cause. No others may.

    about = "Two containers carry one client id"
    until = 240                                  # seconds
    topics = { T = { a = 4, b = 4 } }            # queues per broker, or [read, write, perm]
    timeline = [
        { at = 0, join = ["x", "y"] },
        { at = 60, join = ["x"] },               # the words are those of ``Doing``
    ]
    [[fires]]
    kind = "DUPLICATED"
    queues = "a0-2"
    cause = "SAME_CLIENT_ID"
    from = 60                                    # when the fault begins
    within = 80                                  # seconds later it must have fired
    until = 200                                  # it resolves at most 60 s later; left out: it fires to the end

``event_lines`` gives the events as JSON lines, ``check`` judges the alerts, whichever program has found them.
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, field

from schemas.events import OwnedQueues, encode_event
from schemas.identity import proxy_name
from streaming.core.allocation.strategies import strategy_named
from streaming.core.default_settings import DEFAULT_TIMING
from streaming.core.settings import GroupRule, Settings
from streaming.replay.alert_transitions import as_json, transitions
from tests.core.fleet import T0, Fleet, queues

FILES = sorted((Path(__file__).parent / "files").glob("*.toml"))
RESOLVES_WITHIN_S = 60

Numbers = int | tuple[int, int, int]


class Own(Struct, forbid_unknown_fields=True):
    client: str
    queues: str
    topic: str = "T"


class Doing(Struct, forbid_unknown_fields=True):
    """What is done ``at`` that second: one word, and for ``join`` how the clients run."""

    at: float
    join: tuple[str, ...] = ()
    topics: dict[str, str] | None = None  # subscriptions: topic -> expression
    strategy: str = "AVG"
    params: dict[str, Any] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)
    heartbeat: dict[str, Any] = field(default_factory=dict)  # what heartbeats say: language, version
    brokers: tuple[str, ...] | None = None  # those that list it
    asks: str | None = None  # the broker whose list it goes by
    leave: tuple[str, ...] = ()
    ghost: str | None = None  # a dead connection of the client
    bury: str | None = None  # it is gone
    pause: str | None = None  # SIGSTOP
    resume: str | None = None
    mute: str | None = None  # it runs on, but does not answer
    unmute: str | None = None
    subscribe: dict[str, dict[str, str]] = field(default_factory=dict)  # client -> its subscriptions from now on
    busy: dict[str, int] = field(default_factory=dict)  # client -> messages in hand, per queue
    own: Own | None = None
    freeze: tuple[str, ...] = ()  # these keep what they own until a balance
    balance: bool = False
    route: dict[str, dict[str, Numbers]] = field(default_factory=dict)
    down: tuple[str, ...] = ()
    up: tuple[str, ...] = ()
    stick: str | None = None  # queues of T that nobody consumes from now on
    commit: dict[str, int] = field(default_factory=dict)  # queues of T -> the group's offset there from now on
    beyond: str = ""  # queues of T that brokers are asked for though they are not in the route
    consume_enable: bool | None = None
    proxies: dict[str, tuple[str, ...]] = field(default_factory=dict)  # proxy's address -> the ids that it lists
    silent_proxies: tuple[str, ...] | None = None  # those that give no list from now on
    polls: dict[str, int] = field(default_factory=dict)  # broker -> how many wait there for messages of T
    popped: tuple[str, ...] | None = None  # brokers whose messages gRPC clients take from now on
    closed: tuple[str, ...] | None = None  # brokers that let nobody of the group consume from now on
    come_back: dict[str, int] = field(default_factory=dict)  # broker -> messages of T that come back in each round
    lose: int = 0  # events on their way
    outage: float = 0  # of the collector, in seconds


class Fires(Struct, forbid_unknown_fields=True, rename={"since": "from"}):
    """An alert that must fire. ``cause`` None: of a kind that has no cause."""

    kind: str
    since: float
    within: float
    queues: str = ""
    cause: str | None = None
    topic: str = "T"  # "": it is about the whole group
    severity: str = "critical"
    until: float | None = None


class Finds(Struct, forbid_unknown_fields=True):
    """What is found of queues at the end."""

    queues: str
    finding: str
    topic: str = "T"
    cause: str | None = None


class Scenario(Struct, forbid_unknown_fields=True):
    about: str
    until: float
    timeline: tuple[Doing, ...]
    topics: dict[str, dict[str, Numbers]] = field(default_factory=lambda: {"T": {"a": 4, "b": 4}})
    rules: tuple[GroupRule, ...] = ()
    group: str = "g"
    rate: int = 4
    report_every: float = 20
    every: float = 5  # between rounds
    fires: tuple[Fires, ...] = ()
    finds: tuple[Finds, ...] = ()
    counts: dict[str, int] | None = None  # of each finding, in the group's status at the end

    @property
    def settings(self) -> Settings:
        return Settings(timing=DEFAULT_TIMING, groups=self.rules)


class Firing(NamedTuple):
    """One time that an alert fired, by seconds."""

    kind: str
    topic: str | None
    severity: str
    fired: float
    resolved: float | None
    cause: str | None
    queues: list[list[Any]]


def read(path: Path) -> Scenario:
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Scenario, strict=True)


def play(scenario: Scenario) -> Fleet:
    """Let it happen, through the core."""
    fleet = Fleet(
        None, scenario.settings, rate=scenario.rate, every=scenario.every, report_every=scenario.report_every,
        group=scenario.group,
    )  # fmt: skip
    fleet.routes.clear()
    for topic, hosts in scenario.topics.items():
        fleet.route(topic, **hosts)
    for doing in sorted(scenario.timeline, key=lambda doing: doing.at):
        fleet.run(doing.at - fleet.now)
        _do(fleet, doing)
    return fleet.run(scenario.until - fleet.now)


def event_lines(path: Path) -> list[bytes]:
    """The scenario's events as JSON, one a line, in the order in which they arrive."""
    return [encode_event(event) for event in play(read(path)).events]


def _do(fleet: Fleet, doing: Doing) -> None:
    if doing.join:
        strategy = strategy_named(doing.strategy, doing.params)
        report = {**doing.report}
        if "pop" in report:
            report["pop"] = msgspec.convert(report["pop"], tuple[OwnedQueues, ...])
        fields = {"topics": doing.topics, "report": report, "brokers": doing.brokers, "asks": doing.asks}
        fields["heartbeat"] = doing.heartbeat
        fleet.join(*doing.join, strategy=strategy, **fields)
    for topic, hosts in doing.route.items():
        fleet.route(topic, **hosts)
    for word in ("ghost", "pause", "resume", "stick"):
        value = getattr(doing, word)
        if value is not None:
            getattr(fleet, word)(value)
    for client_id in doing.freeze:
        for one in fleet.of(client_id):
            one.is_pinned = True
    if doing.leave:
        fleet.leave(*doing.leave)
    if doing.bury is not None:
        fleet.drop(next(one for one in fleet.of(doing.bury) if one.is_ghost))
    for answers, client_id in ((False, doing.mute), (True, doing.unmute)):
        for one in fleet.of(client_id or ""):
            one.answers = answers
    if doing.own is not None:
        fleet.own(doing.own.client, doing.own.queues, doing.own.topic)
    _tell(fleet, doing)
    if doing.balance:
        fleet.thaw()


def _tell(fleet: Fleet, doing: Doing) -> None:
    for client_id, topics in doing.subscribe.items():
        for one in fleet.of(client_id):
            one.topics = topics
        fleet.balance()
    for client_id, count in doing.busy.items():
        for one in fleet.of(client_id):
            one.busy = count
    for names, offset in doing.commit.items():
        for queue in queues(names):
            known = fleet.offsets[queue]
            known.consumer, known.pulled, known.consumed_ts = offset, offset, 0
    fleet.asked_one_by_one |= set(queues(doing.beyond))
    if doing.consume_enable is not None:
        fleet.round_fields["consume_enable"] = doing.consume_enable
    fleet.proxies |= {proxy_name(address): ids for address, ids in doing.proxies.items()}
    fleet.proxy_heartbeat = {"language": "JAVA", "message_model": "CLUSTERING"} if fleet.proxies else {}
    fleet.polls |= doing.polls
    if doing.silent_proxies is not None:
        fleet.no_lists = set(map(proxy_name, doing.silent_proxies))
    if doing.closed is not None:
        fleet.closed = set(doing.closed)
    fleet.come_back |= doing.come_back
    if doing.popped is not None:
        fleet.popped = set(doing.popped)
    fleet.down = (fleet.down | set(doing.down)) - set(doing.up)
    fleet.seq += doing.lose
    fleet.now += doing.outage


# --- judging


def check(scenario: Scenario, lines: Iterable[dict[str, Any]]) -> None:
    """``lines`` are alert transitions as ``evenkeel replay --json`` prints them. Raises AssertionError."""
    firings = firings_of(lines)
    for want in scenario.fires:
        matching = [one for one in firings if (one.kind, one.topic or "") == (want.kind, want.topic)]
        assert matching, f"{want.kind} of {want.topic} has not fired, but {firings}"
        one = matching.pop(0)
        firings.remove(one)
        wanted = [[queue.broker_name, queue.queue_id] for queue in queues(want.queues, want.topic)]
        assert (one.cause, one.severity, one.queues) == (want.cause, want.severity, wanted), one
        assert want.since <= one.fired <= want.since + want.within, one
        if want.until is None:
            assert one.resolved is None, one
        else:
            assert one.resolved is not None, one
            assert want.until <= one.resolved <= want.until + RESOLVES_WITHIN_S, one
    assert firings == [], "nothing else may fire"


def firings_of(lines: Iterable[dict[str, Any]]) -> list[Firing]:
    """Each time that an alert fired, as it was then, and when it resolved."""
    firings: list[Firing] = []
    for line in lines:
        at, key = (line["ts"] - T0) / 1000, (line["kind"], line["topic"])
        place = next((n for n, f in enumerate(firings) if f[:2] == key and f.resolved is None), None)
        if line["state"] == "firing" and place is None:
            firings.append(Firing(*key, line["severity"], at, None, line["cause"], line["queues"]))
        elif place is not None and line["state"] == "resolved":
            firings[place] = firings[place]._replace(resolved=at)
    return firings


def lines_of(fleet: Fleet) -> list[dict[str, Any]]:
    return [as_json(transition, T0) for transition in transitions(fleet.facts)]
