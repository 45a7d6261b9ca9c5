"""What holds of every simulated fleet, whatever its size and seed."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schemas.events import AnyEvent, Round, encode_event
from schemas.identity import MessageQueue
from streaming.core.allocation.averagely import Averagely, AveragelyByCircle
from streaming.core.allocation.consistent_hash import ConsistentHash
from streaming.core.allocation.strategy import Strategy
from streaming.core.allocation.together import allocate_all
from streaming.simulation.collector import Collector
from streaming.simulation.consumer import ClientConfig
from streaming.simulation.fleet import Fleet
from streaming.simulation.message_queue import WentBack
from streaming.simulation.process_queue import FIRST_PULL_AFTER_MS, Progress

STRATEGIES: tuple[Strategy, ...] = (Averagely(), AveragelyByCircle(), ConsistentHash())
SEEDS = st.integers(0, 10_000)


def fleet_of(seed: int, clients: int, brokers: int, queues: int, **config: object) -> Fleet:
    names = [f"broker-{n}" for n in range(brokers)]
    fleet = Fleet("g", names, seed)
    fleet.put_topic("T", dict.fromkeys(names, queues))
    fleet.producer.write("T", 4 * queues * brokers)
    strategy = STRATEGIES[seed % len(STRATEGIES)]
    for n in range(clients):
        fleet.join(f"10.0.0.{n}@{n}", ClientConfig((("T", "*"),), strategy, **config))  # type: ignore[arg-type]
        fleet.run(0.2)
    return fleet


def disturb(fleet: Fleet, random: Random) -> None:
    """Something that happens every day."""
    one = random.choice(fleet.clients)
    if len(fleet.clients) > 1 and random.random() < 0.6:
        random.choice((fleet.leave, fleet.kill))(one)
    else:
        fleet.join(f"10.0.1.{random.randrange(10_000)}@1", one.config)
    fleet.run(random.randrange(1, 30))


@given(SEEDS, st.integers(1, 9), st.integers(1, 4), st.integers(1, 6), st.booleans())
@settings(max_examples=8, deadline=None)
def test_once_nothing_changes_every_group_comes_to_its_strategys_allocation(
    seed: int, clients: int, brokers: int, queues: int, orderly: bool
) -> None:
    random, fleet = Random(seed), fleet_of(seed, clients, brokers, queues, orderly=orderly)
    for _ in range(4):
        disturb(fleet, random)
    fleet.run(150)  # what takes longest is a dead client's lock
    route = fleet.name_server.route("T")
    assert route is not None
    ids = [client.client_id for client in fleet.clients]
    allocation = allocate_all(STRATEGIES[seed % len(STRATEGIES)], route.subscribe_info, ids)
    expected = {
        queue: (one,) for one, share in zip(allocation.client_ids, allocation.shares, strict=True) for queue in share
    }
    assert {queue: owners for queue, owners in fleet.assignment().items() if queue.topic == "T"} == expected


def wholly_repeated(progress: Progress, back: WentBack) -> bool:
    """Whether each message between what had been committed and the older offset was delivered again."""
    repeated = {offset for again in progress.repeats.ranges for offset in range(again.from_offset, again.to_offset)}
    return repeated.issuperset(range(back.offset, back.below))


def had_it_too(fleet: Fleet, queue: MessageQueue, back: WentBack) -> set[str]:
    """Who else had the queue, from when the client got it until its commit ran back."""
    others: set[str] = set()
    for held in fleet.truth.held:
        if held.queue == queue and held.ts <= back.ts and back.client_id in held.owners:
            others |= set(held.owners)
        elif held.queue == queue and held.ts < back.ts:
            others.clear()
    return others - {back.client_id}


def left_to(fleet: Fleet, queue: MessageQueue, back: WentBack) -> set[str]:
    """Who had the queue still, if the client let go of it at once, before its next pull."""
    until = back.ts + FIRST_PULL_AFTER_MS
    after = [held.owners for held in fleet.truth.held if held.queue == queue and back.ts <= held.ts <= until]
    return {owner for owners in after if back.client_id not in owners for owner in owners}


@given(SEEDS)
@example(8851)  # a client that wakes and leaves at once
@settings(max_examples=8, deadline=None)
def test_offsets_run_backwards_only_where_a_queue_had_two_owners_and_what_lies_between_is_delivered_again(
    seed: int,
) -> None:
    random, fleet = Random(seed), fleet_of(seed, 3, 2, 4)
    for _ in range(6):
        disturb(fleet, random)
        if random.random() < 0.3:
            paused = random.choice(fleet.clients)
            paused.pause()
            fleet.run(random.randrange(5, 200))
            paused.resume()
    fleet.run(60)  # the clients that got a queue last have read on
    for progress in fleet.progresses():
        assert progress.committed <= progress.consumed <= progress.log.max_offset(fleet.now)
        for back in progress.went_back:
            # unless it let go before it had read on: the client that was further commits again
            assert wholly_repeated(progress, back) or left_to(fleet, progress.log.queue, back)
            assert had_it_too(fleet, progress.log.queue, back)


def test_without_change_no_message_is_consumed_twice_and_offsets_follow() -> None:
    fleet = fleet_of(1, 1, 2, 4)
    fleet.run(60)
    before = {p.log.queue: p.committed for p in fleet.progresses()}
    fleet.run(60)
    for progress in fleet.progresses():
        assert progress.repeats.overlap + progress.repeats.old_offset + len(progress.went_back) == 0
        if progress.log.queue.topic == "T":
            assert progress.committed - before[progress.log.queue] == pytest.approx(240, abs=2)


def events_of(seed: int) -> list[AnyEvent]:
    events: list[AnyEvent] = []
    fleet = fleet_of(seed, 3, 2, 4)
    Collector(fleet, "c", events.append).start()
    fleet.run(60)
    fleet.kill(fleet.clients[0])
    fleet.run(60)
    return events


def test_one_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    once, again, other = ([encode_event(event) for event in events_of(seed)] for seed in (7, 7, 8))
    assert once == again
    assert once != other


def test_events_are_numbered_without_a_gap_in_the_order_of_the_clock() -> None:
    events = events_of(1)
    assert [event.seq for event in events] == list(range(events[0].seq, events[0].seq + len(events)))
    markers = [event.ts for event in events if isinstance(event, Round)]
    assert len(markers) == 24
    assert all(4_000 <= later - earlier <= 6_000 for earlier, later in pairwise(markers))
