"""Healthy clients that are harder to judge: other SDKs, long batches, filters in another order, dead connections."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from zlib import crc32

from bench.proof.perturbations.context import PerturbationContext
from streaming.simulation.client_config import GO, JAVA, MUTE, PULL, Sdk
from streaming.simulation.consumer import Consumer
from streaming.simulation.simulated_group import TOPIC, WARM_UP_S

BATCH_S = (20, 180)
IN_HAND = 900  # a batch takes all that comes meanwhile: with more, its listener would be too slow for the queue
REST_S = (5, 30)
SILENT_FROM_S = (200, 1_200)
TAGS = ("TagC", "TagD", "TagE")
BETWEEN = ("||", " || ", "|| ")
BEGINS_S = (WARM_UP_S + 5, WARM_UP_S + 120)
BEFORE_THE_BLIP_S = (0, 60)
MORE_QUEUES = (1, 5)
AGAIN_S = (300, 900)


def _give_sdk(context: PerturbationContext, sdk: Sdk, share: float) -> None:
    """Give this SDK to some of the clients, to the same ones after a restart."""
    salt = context.random.randrange(1 << 30)

    def sdk_of(client_id: str) -> Sdk:
        return sdk if crc32(f"{client_id} {salt}".encode()) < share * (1 << 32) else JAVA

    context.group.sdk_of = sdk_of


def mute_sdk(context: PerturbationContext) -> None:
    """An SDK that never answers for its running info, in all clients or in one of four."""
    _give_sdk(context, MUTE, context.random.choice((1.0, 0.25)))


def foreign_sdk(context: PerturbationContext) -> None:
    """Go in all clients or in half of them; for one group in two, connections (203) are refused everywhere; a group in
    four is broadcasting."""
    _give_sdk(context, GO, context.random.choice((1.0, 0.5)))
    group, shape = context.group, context.group.shape
    if context.random.random() < 0.5:
        for broker in group.fleet.brokers.values():
            broker.answers_connections = False
    may_broadcast = context.is_healthy and shape.strategy == "AVG" and not shape.orderly
    if context.random.random() < 0.25 and may_broadcast:
        group.config = replace(group.config, broadcasting=True)


def pull_consumers(context: PerturbationContext) -> None:
    """A group of ``DefaultMQPullConsumer``: none of its running infos has a table of queues."""
    _give_sdk(context, PULL, 1.0)


def batches(context: PerturbationContext) -> None:
    """Each client works off its queues in batches of 20 to 180 s, and commits once a batch is done."""
    group, clock = context.group, context.group.fleet.clock
    most_s = min(BATCH_S[1], IN_HAND / group.shape.rate)
    lasts_ms = round(context.log_uniform(min(BATCH_S[0], most_s / 2), most_s) * 1_000)
    seen: set[Consumer] = set()

    def take(client: Consumer) -> None:
        if client.is_running:
            client.set_speed(0)
            clock.after(lasts_ms, finish, client)

    def finish(client: Consumer) -> None:
        if client.is_running:
            client.set_speed(group.config.speed)
            clock.after(context.delay_ms(REST_S), take, client)

    def look() -> None:
        """Find clients that have started since."""
        for client in group.clients:
            if client not in seen:
                seen.add(client)
                clock.after(context.random.randrange(lasts_ms), take, client)
        clock.after(20_000, look)

    look()


def batches_of_silent_clients(context: PerturbationContext) -> None:
    """The same, and at some time all clients that run then stop answering for their running info, and go on to work."""
    batches(context)

    def fall_silent() -> None:
        for client in context.group.clients:
            client.config = replace(client.config, sdk=replace(client.config.sdk, answers=False))

    context.group.fleet.clock.after(context.delay_ms(SILENT_FROM_S), fall_silent)


def filters_in_another_order(context: PerturbationContext) -> None:
    """Each client subscribes to the same three tags, in an order of its own, as from a ``Set.of`` of Java."""
    salt = context.random.randrange(1 << 30)

    def filter_of(client_id: str) -> str:
        random = Random(f"{client_id} {salt}")
        return random.choice(BETWEEN).join(random.sample(TAGS, len(TAGS)))

    context.group.filter_of = filter_of


def half_open_after_a_change(context: PerturbationContext) -> None:
    """A client leaves, or the topic grows, and within a minute another client reconnects: brokers list it twice.

    It begins and ends without a cause from outside, many times.
    """
    context.group.fleet.clock.after(context.delay_ms(BEGINS_S), _change, context)


def _change(context: PerturbationContext) -> None:
    group, clock = context.group, context.group.fleet.clock
    if len(group.clients) > 2 and context.random.random() < 0.5:
        left = context.random.choice(group.clients)
        group.fleet.leave(left)
        clock.after(context.delay_ms(AGAIN_S), lambda: group.start(config=group.config_of(left)))
    else:
        has = max(data.read_queue_nums for data in (b.topics[TOPIC] for b in group.fleet.brokers.values()))
        group.put_topic(has + context.random.randrange(*MORE_QUEUES))
    clock.after(context.delay_ms(BEFORE_THE_BLIP_S), _blip, context)
    clock.after(context.delay_ms(AGAIN_S), _change, context)


def _blip(context: PerturbationContext) -> None:
    running = [client for client in context.group.clients if not client.is_paused]
    if running:
        context.random.choice(running).lose_connections()
