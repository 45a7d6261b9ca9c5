"""How a group takes messages of a topic from one broker by POP, computed up to a time when somebody asks.

A proxy polls any queue of the broker for its clients. So a broker is a flow: messages arrive in its queues, clients
take what they have room for, and work it off. The offset moves when messages are taken, in a FIFO group when they are
acknowledged. What is not acknowledged in time comes again, from the retry topic of POP on the same broker.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from bench.proof.grpc_consumer import CACHE, THREADS, GrpcConsumer
from schemas.identity import is_retry_topic
from streaming.simulation.message_queue import Commit
from streaming.simulation.process_queue import Progress
from streaming.simulation.virtual_clock import VirtualClock

LONGEST_POLL_MS = 20_000  # ProxyConfig.grpcClientConsumerMaxLongPollingTimeoutMillis
INVISIBLE_MS = 60_000  # ProxyConfig.defaultInvisibleTimeMills: a proxy renews it while the client is connected
POLLS_AGAIN_MS = 15  # from a poll that got a message to the next one
IN_ORDER_AT_ONCE = 4  # message groups of a FIFO queue that are worked off side by side
POP = "POP"


@dataclass(slots=True, eq=False)
class PoppedQueue(Progress):
    """The progress of a queue that is popped. Remoting clients may share its offset.

    ``stood``: the truth of when messages waited in it and its offset did not move; ``stands_since`` 0: not now.
    """

    popping: Popping | None = None
    stands_since: int = 0
    stood: list[tuple[int, int]] = field(default_factory=list)

    def catch_up(self, now: int) -> None:
        Progress.catch_up(self, now)
        if self.popping is not None:
            self.popping.catch_up(now)

    def waiting(self, now: int) -> int:
        return max(0, self.log.max_offset(now) - max(0, self.committed))

    def move_on(self, messages: int, now: int) -> None:
        """So many were taken, or acknowledged in order, by proxies."""
        self.commit(Commit(now, POP, max(0, self.committed) + messages))

    def note_standing(self, is_standing: bool, since: int) -> None:
        if is_standing:
            self.stands_since = self.stands_since or since
        elif self.stands_since:
            self.stood.append((self.stands_since, since))
            self.stands_since = 0

    def stood_ms(self, ts: int, now: int) -> int:
        """For how long it had stood at ``ts``, or within the minute before it."""
        spans = [*self.stood, (self.stands_since, now)] if self.stands_since else self.stood
        return max((min(to, ts) - since for since, to in spans if since <= ts <= to + 60_000), default=0)


@dataclass(slots=True)
class Silence:
    """A time in which nobody polled a broker. ``to_ts`` None: it lasts."""

    from_ts: int
    to_ts: int | None = None


class Popping:
    """The group at one broker. ``pollers``: clients that poll it.

    ``in_flight``: messages that push consumers have taken and not worked off. ``blocked``: FIFO queues whose head comes
    back at that time. ``silences`` is the truth of when nobody polled.
    """

    def __init__(self, name: str, is_orderly: bool, brokers: int, clock: VirtualClock, random: Random) -> None:
        self.name, self.is_orderly = name, is_orderly
        self.queues: list[PoppedQueue] = []
        self.pollers: dict[GrpcConsumer, None] = {}
        self.receiving: set[GrpcConsumer] = set()  # SimpleConsumers that wait here now
        self.in_flight = 0
        self.blocked: dict[PoppedQueue, int] = {}
        self.silences: list[Silence] = [Silence(clock.now)]
        self._brokers, self._clock, self._random = brokers, clock, random
        self._since = clock.now
        self._ghosts, self._ghosts_until = 0, 0  # polls of clients that are gone

    # --- who polls

    def poll(self, consumer: GrpcConsumer) -> None:
        if consumer in self.pollers:
            return
        self.catch_up(self._clock.now)
        self.pollers[consumer] = None
        if self.silences and self.silences[-1].to_ts is None:
            self.silences[-1].to_ts = self._clock.now

    def stop_polling(self, consumer: GrpcConsumer, leaves_poll: bool = False) -> None:
        """``leaves_poll``: its poll waits on at the broker, and takes a message to nobody."""
        if consumer not in self.pollers:
            return
        now = self._clock.now
        self.catch_up(now)
        del self.pollers[consumer]
        self.receiving.discard(consumer)
        if leaves_poll and not consumer.pulls:
            self._ghosts, self._ghosts_until = self._ghosts_at(now) + 1, now + self._random.randrange(LONGEST_POLL_MS)
        if not self.pollers:
            self.silences.append(Silence(now))

    def lose(self, consumer: GrpcConsumer, after_ms: int) -> None:
        """What the client has in hand comes again after a while. Call it before the client stops to poll."""
        if consumer not in self.pollers:
            return
        now = self._clock.now
        self.catch_up(now)
        share = 1 / len(self.pollers)
        if self.is_orderly:
            for queue in self.queues:
                if queue.waiting(now) and self._random.random() < share:
                    self.blocked[queue] = max(now + after_ms, self.blocked.get(queue, 0))
        elif not consumer.pulls:
            lost = int(self.in_flight * share)
            self.in_flight -= lost
            self._clock.after(after_ms, self.revive, lost)

    def waiting_polls(self) -> int:
        """POLLING_INFO, queue -1. A poll that has just got a message is not there for a moment."""
        now = self._clock.now
        self.catch_up(now)
        rate = sum(queue.log.rate for queue in self.queues)
        each = 1
        if self.is_orderly:
            each = sum(not is_retry_topic(queue.log.queue.topic) for queue in self.queues)
        elif self.in_flight >= self._room():
            each = 0
        polls = each * sum(not consumer.pulls for consumer in self.pollers)
        answered = min(1.0, rate * POLLS_AGAIN_MS / 1_000 / max(1, polls))
        waiting = sum(self._random.random() >= answered for _ in range(polls))
        return waiting + self._ghosts_at(now) + len(self.receiving)

    def _ghosts_at(self, now: int) -> int:
        return self._ghosts if now < self._ghosts_until else 0

    # --- messages

    def catch_up(self, now: int) -> None:
        """Compute what was taken up to now."""
        since, self._since = self._since, max(now, self._since)
        if now <= since:
            return
        ready = [queue.waiting(now) for queue in self.queues]
        if self.is_orderly:
            taken = self._acknowledge_in_order(ready, since, now)
        else:
            taken = self._take(ready, self._number_to_take(sum(ready), since, now), now)
        for queue, waiting, one in zip(self.queues, ready, taken, strict=True):
            queue.note_standing(waiting > 0 and not one, since)

    def receive(self, at_most: int) -> int:
        """A SimpleConsumer receives what is there."""
        now = self._clock.now
        self.catch_up(now)
        ready = [queue.waiting(now) for queue in self.queues]
        taken = self._take(ready, min(at_most, sum(ready)), now)
        for queue, one in zip(self.queues, taken, strict=True):
            if one:
                queue.note_standing(False, now)
        return sum(taken)

    def until_next_message(self) -> int:
        rate = sum(queue.log.rate for queue in self.queues)
        return min(LONGEST_POLL_MS, 1_000 // rate) if rate else LONGEST_POLL_MS

    def revive(self, messages: int) -> None:
        """``PopReviveService``: messages whose time is over come again, from the retry topic."""
        if messages:
            self.catch_up(self._clock.now)
            retry = next(queue for queue in self.queues if is_retry_topic(queue.log.queue.topic))
            retry.log.append(messages, self._clock.now)
            retry.committed = max(0, retry.committed)

    def was_silent(self, ts: int) -> bool:
        """Whether nobody polled at ``ts``, or within the minute before it."""
        return any(one.from_ts <= ts <= (one.to_ts or ts) + 60_000 for one in self.silences)

    def _room(self) -> int:
        return len(self.pollers) * (CACHE // self._brokers)

    def _number_to_take(self, ready: int, since: int, now: int) -> int:
        """Push consumers take what they have room for, and work off what they have taken. Others take by turns."""
        if any(consumer.pulls for consumer in self.pollers):
            return 0
        if not self.pollers:
            return self._taken_by_ghosts(ready, since)
        done = sum(consumer.steps(since, now) for consumer in self.pollers) * max(1, THREADS // self._brokers)
        total = self.in_flight + ready
        done = min(done, total)
        after = max(0, self.in_flight - done, min(total - done, self._room()))
        taken = after - self.in_flight + done
        self.in_flight -= done
        return taken

    def _taken_by_ghosts(self, ready: int, since: int) -> int:
        taken = min(ready, self._ghosts_at(since))
        self._ghosts -= taken
        if taken:
            self._clock.after(INVISIBLE_MS, self.revive, taken)
            self.in_flight -= taken  # they are in nobody's hand
        return taken

    def _take(self, ready: list[int], number: int, now: int) -> list[int]:
        """Take so many from all queues alike. A client's poll begins with any queue."""
        total, left, taken = sum(ready), number, []
        for queue, waiting in zip(self.queues, ready, strict=True):
            taken.append(min(left, -(-number * waiting // max(1, total))))
            if taken[-1]:
                queue.move_on(taken[-1], now)
                left -= taken[-1]
        if not any(consumer.pulls for consumer in self.pollers):
            self.in_flight = max(0, self.in_flight + number)
        return taken

    def _acknowledge_in_order(self, ready: list[int], since: int, now: int) -> list[int]:
        """Each queue gives one batch at a time, to whoever polls first."""
        slowest = max(self.pollers, key=lambda consumer: consumer.work_ms, default=None)
        taken = []
        for queue, waiting in zip(self.queues, ready, strict=True):
            from_ts = max(since, self.blocked.get(queue, 0))
            steps = slowest.steps(from_ts, now) if slowest is not None and from_ts < now else 0
            taken.append(min(waiting, steps * IN_ORDER_AT_ONCE))
            if taken[-1]:
                self.blocked.pop(queue, None)
                queue.move_on(taken[-1], now)
        return taken
