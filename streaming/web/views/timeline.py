"""The timeline of a group: its status, alerts, rebalances, and members that joined and left. Geometry for one SVG.

``x`` and ``width`` are per cent of the picture's width, so that it fits every screen.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from schemas.facts import AlertFact, AlertState, Fact, GroupFact, MembershipFact, RebalanceFact
from streaming.core.alerts.phases import AlertReason
from streaming.explain.snapshot import is_unseen

MINUTES = (30, 60, 180, 720, 1440)  # that a reader can choose
QUIET_MINUTES = 180  # for a group without an open alert
ROOM_BEFORE = 1.4  # times the span since an alert began, so that the time before it is shown, too
LANE, TOP = 24, 24
MOST_ALERTS = 8
MOST_MARKS = 200
NARROWEST = 0.6
DEPLOY_GAP_MS = 180_000
DEPLOY_CLIENTS = 2
STEPS_MIN = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360)
MOST_TICKS = 7
NEAR_AN_END = 4.0  # closer to an end, a centred text would be cut


class Bar(NamedTuple):
    """A period. ``values`` are for its text, ``what`` names the text; ``ts``: the time to which it links."""

    x: float
    width: float
    look: str
    what: str
    values: dict[str, object]
    ts: int
    to_ts: int


class Lane(NamedTuple):
    """A lane. ``name``: a key of the words, or the kind of an alert."""

    y: int
    name: str
    is_alert: bool
    bars: tuple[Bar, ...]


class Tick(NamedTuple):
    """A tick of the axis. ``anchor``: the position of its text, in SVG's terms."""

    x: float
    ts: int
    anchor: str


class Timeline(NamedTuple):
    """The timeline. ``unseen``: since when evenkeel has seen nothing; None: it has seen all of it."""

    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    begin: int
    end: int
    unseen: Tick | None
    minutes: int
    height: int


class _Scale(NamedTuple):
    begin: int
    end: int
    seen: int

    def x(self, ts: float) -> float:
        within = min(max(ts, self.begin), self.end)
        return round(100 * (within - self.begin) / (self.end - self.begin), 2)

    def tick(self, ts: int) -> Tick:
        x = self.x(ts)
        return Tick(x, ts, "start" if x < NEAR_AN_END else "end" if x > 100 - NEAR_AN_END else "middle")

    def bar(self, begin: float, end: float, look: str, what: str, **values: object) -> Bar:
        x = self.x(begin)
        width = max(self.x(end) - x, NARROWEST)
        return Bar(min(x, 100 - width), width, look, what, values, int(begin), int(end))

    def has(self, begin: float, end: float) -> bool:
        return end >= self.begin and begin <= self.end


def span_of(begun: Iterable[int], now: int) -> int:
    """The fewest minutes that show how open alerts began; ``begun``: when each began."""
    first = min(begun, default=None)
    if first is None:
        return QUIET_MINUTES
    needed = (now - first) * ROOM_BEFORE
    return next((minutes for minutes in MINUTES if minutes * 60_000 >= needed), MINUTES[-1])


def hours_read(minutes: int) -> int:
    """The number of whole hours of facts that a timeline of these minutes needs."""
    return -(-minutes // 60)


def timeline(facts: Sequence[Fact], end: int, minutes: int, seen: int) -> Timeline:
    """The ``minutes`` before ``end``. Open periods are drawn until ``seen``, when evenkeel last saw the group."""
    scale = _Scale(end - minutes * 60_000, end, min(seen, end))
    unseen = scale.tick(seen) if is_unseen(seen, end) else None
    drawn = [
        ("lane_status", False, tuple(_statuses(facts, scale))),
        *((kind, True, bars) for kind, bars in _alerts(facts, scale)),
        ("lane_rebalances", False, tuple(_rebalances(facts, scale))),
        ("lane_members", False, tuple(_members(facts, scale))),
    ]
    lanes = tuple(Lane(TOP + place * LANE, name, is_alert, bars) for place, (name, is_alert, bars) in enumerate(drawn))
    return Timeline(lanes, tuple(_ticks(scale)), scale.begin, scale.end, unseen, minutes, TOP + LANE * len(lanes) + 6)


def _statuses(facts: Iterable[Fact], scale: _Scale) -> Iterator[Bar]:
    """The lane of statuses. Nothing is drawn before the first known status."""
    told = [(fact.ts, fact.payload.status) for fact in facts if isinstance(fact.payload, GroupFact)]
    changes = [told[0], *(new for old, new in pairwise(told) if old[1] != new[1])] if told else []
    ends = [*(ts for ts, _ in changes), scale.seen][1:]
    for (begin, status), end in zip(changes, ends, strict=True):
        if scale.has(begin, end):
            yield scale.bar(begin, end, f"state-{status}", "lane_is", state=status)


def _alerts(facts: Iterable[Fact], scale: _Scale) -> Iterator[tuple[str, tuple[Bar, ...]]]:
    """The lanes of alerts that were open in this time; the newest ones."""
    lives: dict[str, list[tuple[int, AlertFact]]] = {}
    for fact in facts:
        if isinstance(fact.payload, AlertFact) and fact.payload.reason != AlertReason.WAITING_CHANGED:
            lives.setdefault(fact.payload.fingerprint, []).append((fact.ts, fact.payload))
    lanes = [(life[-1][1].kind, tuple(_of_life(life, scale))) for life in lives.values()]
    yield from [lane for lane in lanes if lane[1]][-MOST_ALERTS:]


def _of_life(life: Sequence[tuple[int, AlertFact]], scale: _Scale) -> Iterator[Bar]:
    ends = [ts for ts, _ in life[1:]] + [scale.seen]
    for (begin, alert), end in zip(life, ends, strict=True):
        if alert.state != AlertState.RESOLVED and scale.has(begin, end):
            look = f"alert-{alert.severity}" if alert.state == AlertState.FIRING else "alert-pending"
            values = {"state": alert.state, "queues": len(alert.queues), "cause": alert.cause or ""}
            yield scale.bar(begin, end, look + ("-stale" if alert.stale else ""), "lane_alert", **values)


def _rebalances(facts: Iterable[Fact], scale: _Scale) -> Iterator[Bar]:
    found = [fact.payload for fact in facts if isinstance(fact.payload, RebalanceFact)][-MOST_MARKS:]
    for one in found:
        if scale.has(one.from_ts, one.to_ts):
            look = "rebalance" if one.converged else "rebalance-open"
            what = "lane_rebalance" if one.converged else "lane_rebalance_open"
            values = {"moved": one.queues_moved, "ms": one.to_ts - one.from_ts}
            yield scale.bar(one.from_ts, one.to_ts, look, what, **values)


class _Move(NamedTuple):
    ts: int
    client: str
    joined: bool


def _members(facts: Iterable[Fact], scale: _Scale) -> Iterator[Bar]:
    """The joins and leaves, once for all brokers. Many in sequence are a deploy."""
    moves = sorted({
        _Move(fact.ts, fact.payload.client_id, fact.payload.entries > 0)
        for fact in facts
        if isinstance(fact.payload, MembershipFact) and not fact.payload.first_seen and scale.has(fact.ts, fact.ts)
    })  # fmt: skip
    for run in _runs(moves):
        joined = {move.client for move in run if move.joined}
        left = {move.client for move in run if not move.joined}
        if min(len(joined), len(left)) >= DEPLOY_CLIENTS:
            sizes = {"joined": len(joined), "left": len(left), "ms": run[-1].ts - run[0].ts}
            yield scale.bar(run[0].ts, run[-1].ts, "deploy", "lane_deploy", **sizes)
        for move in run[:MOST_MARKS]:
            look, what = ("joined", "lane_joined") if move.joined else ("left", "lane_left")
            yield scale.bar(move.ts, move.ts, look, what, client=move.client)


def _runs(moves: Sequence[_Move]) -> Iterator[list[_Move]]:
    run: list[_Move] = []
    for move in moves:
        if run and move.ts - run[-1].ts > DEPLOY_GAP_MS:
            yield run
            run = []
        run.append(move)
    if run:
        yield run


def _ticks(scale: _Scale) -> Iterator[Tick]:
    span_min = (scale.end - scale.begin) / 60_000
    step = next((step for step in STEPS_MIN if span_min / step <= MOST_TICKS), STEPS_MIN[-1]) * 60_000
    for ts in range(-(-scale.begin // step) * step, scale.end + 1, step):
        yield scale.tick(ts)
