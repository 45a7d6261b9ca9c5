"""Which clients may be asked for their running info now.

The answer runs in the client's own callback pool, which is as small as its number of processors: asked carelessly, a
small client drops out of its group. So a client, in however many groups it is, has one request at most on its way, and
rests between two; one that does not answer, or slowly, is asked ever less often.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from streaming.collector.probing.memory import SlowClient
from streaming.collector.probing.new_queues import REASON
from streaming.collector.probing.policy import Policy
from streaming.core.evidence.exclusions import is_proxy_client

SLOW_ANSWER_MS = 1_000  # a client that takes longer is asked less often, and a round waits no longer for an answer
NO_ANSWER = "no answer within 10 s"  # of a client, as its broker says by code 207
MAX_BACKOFF_MS = 60_000  # a client that answers slowly or not any more is asked at least this often
SILENT_AFTER = 5  # requests: one that has answered none of them most likely runs an SDK that does not know the request
SILENT_MS = 600_000  # such a client is asked this often: each time it costs its broker a thread for 10 s
CLIENT_PAUSE_MS = 4_000  # between two requests to one client, in however many groups it is
FOLLOW_UPS_A_MINUTE = 4  # requests to one client out of turn, at most, in however many groups it is
FIRST_ASK_AFTER_JOIN_MS = 5_000  # a client that has just joined has rebalanced by then
SWITCHED_OFF = "running info is switched off"
GRPC_CLIENT = "a gRPC client: its proxy answers for it"
STILL_BUSY = "the last request is still on its way"
NO_BROKER = "no broker that answers lists it"
OTHER_GROUP = "asked for another group a moment ago"
TAKEN_OVER = "a request of the collector before this one may still be on its way"
BACKING_OFF = "backing off after "
SLOW_ANSWER = "a slow answer, of "
SLOW_BEFORE = "no quick answer before this start"
MOST_SLOW = 15_000  # clients that are remembered; compressed, 40 bytes each of the 1 MB that a record of Kafka may have
BACK_WITHIN_MS = 600_000
STEPS = 3  # more doublings than this change nothing


@dataclass(slots=True)
class _Client:
    """``due_ts`` and ``chosen_ts`` (its last turn) by group.

    ``steps`` doubles its period that often, for ``trouble``; it rests until ``free_ts``. ``follow_ups``: when it was
    last asked out of turn. ``unanswered``: how many requests it has not answered since it joined, if it never has.
    ``last_ts``: when the last request to it ended.
    """

    due_ts: dict[str, int] = field(default_factory=dict)
    chosen_ts: dict[str, int] = field(default_factory=dict)
    free_ts: int = 0
    steps: int = 0
    trouble: str = ""
    is_busy: bool = False
    has_answered: bool = False
    unanswered: int = 0
    last_ts: int = 0
    follow_ups: deque[int] = field(default_factory=lambda: deque(maxlen=FOLLOW_UPS_A_MINUTE))

    def note_outcome(self, trouble: str) -> None:
        """Notes the outcome of a request. That a broker failed says nothing of its client."""
        if trouble == NO_ANSWER:
            self.unanswered += not self.has_answered
        elif not trouble:
            self.has_answered, self.unanswered = True, 0

    @property
    def is_silent(self) -> bool:
        return self.unanswered >= SILENT_AFTER

    @property
    def is_slow(self) -> bool:
        """Returns whether it is itself why it is asked less often, and not its broker."""
        is_own = self.trouble in (NO_ANSWER, SLOW_BEFORE) or self.trouble.startswith(SLOW_ANSWER)
        return is_own or self.unanswered > 0

    def may_be_asked_out_of_turn(self, now: int) -> bool:
        """Returns whether it answers well, and was not asked out of turn too often."""
        is_used_up = len(self.follow_ups) == FOLLOW_UPS_A_MINUTE and now - self.follow_ups[0] < 60_000
        return not self.trouble and self.free_ts <= now and not is_used_up


class Chosen(NamedTuple):
    """``ask`` are on their way from here on; of the others those that would have been due, with the reason."""

    ask: tuple[str, ...]
    not_asked: dict[str, str]


class ClientSchedule:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._clients: dict[str, _Client] = {}
        self._members: dict[str, frozenset[str]] = {}
        self._held: set[str] = set()
        self._at_rest: set[str] = set()
        self._left_unasked: dict[tuple[str, str], int] = {}  # (group, client id) -> when it left before its first turn
        self._began_ts: int | None = None
        self._from_ts = 0
        self._recalled: dict[str, SlowClient] = {}  # that no group has listed since the start
        self._recalled_ts = 0

    def begin_at(self, ts: int) -> None:
        """Asks nobody before ``ts``."""
        self._from_ts = ts

    def recall(self, slow: Mapping[str, SlowClient], now: int) -> None:
        """Takes over which clients were slow before this start. Each rests for what is left of its rest."""
        self._recalled, self._recalled_ts = dict(slow), now

    def slow(self, now: int) -> dict[str, SlowClient]:
        """The clients that are slow; in the first seconds also those that no group has listed yet.

        If there are too many to remember, those that are asked least often.
        """
        slow = {
            client_id: SlowClient(client.steps, client.unanswered, client.last_ts)
            for client_id, client in self._clients.items()
            if client.is_slow
        }
        if now - self._recalled_ts < FIRST_ASK_AFTER_JOIN_MS:
            slow = self._recalled | slow
        if len(slow) <= MOST_SLOW:
            return slow
        return dict(sorted(slow.items(), key=lambda item: item[1].pace, reverse=True)[:MOST_SLOW])

    def know(self, group: str, client_ids: Iterable[str], now: int) -> None:
        """The group's members as they are listed now. One that has just joined is given time to settle in.

        First requests are spread over the period. A client that left lately before its turn is asked as soon as it may
        be when it is back: it may be one that never stays for long.
        """
        self._began_ts = now if self._began_ts is None else self._began_ts
        members = frozenset(client_ids)
        before = self._members.get(group)
        is_start = before is None and now - self._began_ts < FIRST_ASK_AFTER_JOIN_MS
        wait = self._policy.first_ask_ms if is_start else FIRST_ASK_AFTER_JOIN_MS
        left = (before or frozenset()) - members
        if left:
            self._note_left(group, left, now)
        for client_id in left:
            self._forget(group, client_id)
        for client_id in members - (before or frozenset()):
            client = self._clients.get(client_id) or self._new_client(client_id, is_start)
            self._clients[client_id] = client
            left_ts = self._left_unasked.pop((group, client_id), None)
            is_back = left_ts is not None and now - left_ts < BACK_WITHIN_MS
            client.due_ts[group] = now + wait + (0 if is_back else self._phase(client_id, group, wait))
        self._members[group] = members

    def _new_client(self, client_id: str, is_start: bool) -> _Client:
        """One that is listed at the start is the same that was slow before; one that joins later has just started."""
        slow = self._recalled.pop(client_id, None)
        if slow is None or not is_start:
            return _Client()
        client = _Client(steps=min(slow.steps, STEPS), unanswered=slow.unanswered, trouble=SLOW_BEFORE)
        client.last_ts = min(slow.last_ts or self._recalled_ts, self._recalled_ts)
        client.free_ts = client.last_ts + self._rest_ms(client)
        return client

    def forget_group(self, group: str) -> None:
        self._held.discard(group)
        self._at_rest.discard(group)
        for client_id in self._members.pop(group, frozenset()):
            self._forget(group, client_id)

    # --- whom to ask

    def rest(self, group: str, is_at_rest: bool) -> None:
        """Notes whether the group is at rest: then its clients are asked less often."""
        (self._at_rest.add if is_at_rest else self._at_rest.discard)(group)

    def choose(self, group: str, now: int, why_nobody: str = "", out_of_turn: Set[str] = frozenset()) -> Chosen:
        """Whom to ask in this round of the group; nobody, if there is a reason: then it has no turn to wait for.

        ``out_of_turn``: clients to ask now though it is not their turn, if they may be.
        """
        if now < self._from_ts:
            why_nobody = why_nobody or TAKEN_OVER
        (self._held.add if why_nobody else self._held.discard)(group)
        ask, not_asked = [], {}
        for client_id in sorted(self._members.get(group, ())):
            reason = self._why_not(client_id, group, now, client_id in out_of_turn)
            if reason is None:
                reason = why_nobody or None
            if reason is None:
                self._note_asked(self._clients[client_id], group, now)
                ask.append(client_id)
            elif reason:
                not_asked[client_id] = reason
        return Chosen(tuple(ask), not_asked)

    def _note_asked(self, client: _Client, group: str, now: int) -> None:
        if self._due_ts(client, group) > now:
            client.follow_ups.append(now)
        client.is_busy = True
        client.chosen_ts[group] = now

    def answered(self, group: str, client_id: str, asked_ts: int, dur_ms: float, trouble: str) -> None:
        """It is no longer on its way. ``trouble`` says why it should be asked less often, if it should."""
        client = self._clients.get(client_id)
        if client is None:
            return
        client.is_busy = False
        client.note_outcome(trouble)
        client.trouble = trouble or (f"{SLOW_ANSWER}{dur_ms / 1000:.1f} s" if dur_ms > SLOW_ANSWER_MS else "")
        client.steps = min(client.steps + 1, STEPS) if client.trouble else 0
        rest = self._rest_ms(client)
        client.last_ts = answered_ts = asked_ts + round(dur_ms)
        if group in client.due_ts:
            due_ts = rest + (answered_ts if client.trouble else asked_ts)
            client.due_ts[group] = due_ts - self._earlier_ms(client_id, client, group)
        pause = rest // max(1, len(client.due_ts)) if client.trouble else 0
        client.free_ts = answered_ts + max(CLIENT_PAUSE_MS if self._policy.spreads else 0, pause)
        self._drop_if_gone(client_id, client)

    def _rest_ms(self, client: _Client) -> int:
        """The time between two requests to a client."""
        period = self._policy.running_info_ms
        return SILENT_MS if client.is_silent else min(period << client.steps, max(period, MAX_BACKOFF_MS))

    def not_sent(self, client_id: str) -> None:
        """It never went on its way: it is due as before."""
        if client := self._clients.get(client_id):
            client.is_busy = False
            self._drop_if_gone(client_id, client)

    def _why_not(self, client_id: str, group: str, now: int, is_wanted: bool) -> str | None:
        """None: ask it. Empty: it is not due, which needs no word."""
        if (why := self._why_never(client_id)) is not None:
            return why
        client = self._clients[client_id]
        if client.is_busy:
            return STILL_BUSY
        if client.trouble and max(client.free_ts, client.due_ts[group]) > now:
            return f"{BACKING_OFF}{client.trouble}"
        if is_wanted and client.may_be_asked_out_of_turn(now):
            return None
        if self._due_ts(client, group) > now:
            return ""
        return OTHER_GROUP if client.free_ts > now or self._is_turn_of_another(client, group, now) else None

    def _why_never(self, client_id: str) -> str | None:
        if not self._policy.running_info_ms:
            return SWITCHED_OFF
        return GRPC_CLIENT if is_proxy_client(client_id) else None

    def _is_turn_of_another(self, client: _Client, group: str, now: int) -> bool:
        """Among groups that are due, the one asked longest ago goes first, or the last would never be asked."""
        last = client.chosen_ts.get(group, 0)
        due = (other for other in client.due_ts if self._due_ts(client, other) <= now and other not in self._held)
        return any(client.chosen_ts.get(other, 0) < last for other in due)

    def _earlier_ms(self, client_id: str, client: _Client, group: str) -> int:
        """Clients that were asked together, out of turn, are spread over the second half of the period."""
        was_follow_up = bool(client.follow_ups) and client.follow_ups[-1] == client.chosen_ts.get(group)
        is_to_spread = was_follow_up and not client.trouble
        return self._policy.phase(f"{client_id} {group}", self._policy.running_info_ms // 2) if is_to_spread else 0

    def _due_ts(self, client: _Client, group: str) -> int:
        longer_ms = self._policy.running_info_at_rest_ms - self._policy.running_info_ms
        is_at_rest = group in self._at_rest and group in client.chosen_ts and not client.trouble
        return client.due_ts[group] + (longer_ms if is_at_rest else 0)

    def _phase(self, client_id: str, group: str, wait: int) -> int:
        period = self._policy.running_info_ms
        return self._policy.phase(f"{client_id} {group}", period - wait if period > wait else period)

    def _note_left(self, group: str, client_ids: Iterable[str], now: int) -> None:
        lately = {who: ts for who, ts in self._left_unasked.items() if now - ts < BACK_WITHIN_MS}
        unasked = [client_id for client_id in client_ids if group not in self._clients[client_id].chosen_ts]
        self._left_unasked = lately | {(group, client_id): now for client_id in unasked}

    def _forget(self, group: str, client_id: str) -> None:
        client = self._clients.get(client_id)
        if client is not None:
            client.due_ts.pop(group, None)
            client.chosen_ts.pop(group, None)
            self._drop_if_gone(client_id, client)

    def _drop_if_gone(self, client_id: str, client: _Client) -> None:
        if not client.due_ts and not client.is_busy:
            del self._clients[client_id]


LABELS = {
    SWITCHED_OFF: "switched_off",
    GRPC_CLIENT: "grpc_client",
    STILL_BUSY: "still_busy",
    OTHER_GROUP: "other_group",
    BACKING_OFF: "backing_off",
    REASON: "new_queues",
    NO_BROKER: "no_broker",
    TAKEN_OVER: "taken_over",
}
BROKER_FAILED = "broker_failed"


def label_of(why: str) -> str:
    """Why a client that was due was not asked, in a word for counting. ``why``: as the round's marker has it.

    What is none of evenkeel's own reasons is what a broker answered.
    """
    return LABELS.get(BACKING_OFF if why.startswith(BACKING_OFF) else why, BROKER_FAILED)
