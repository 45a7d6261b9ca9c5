"""Deploys and crashes that take long, and groups that have no members for a while on purpose."""

from __future__ import annotations

from dataclasses import replace

from bench.proof.perturbations.context import PerturbationContext
from bench.proof.results import KnownFinding
from schemas.facts import Kind
from streaming.core.allocation.averagely import AveragelyByCircle
from streaming.core.state.members import LATE, PAUSES_KEPT
from streaming.simulation.consumer import Consumer
from streaming.simulation.simulated_group import OTHER_TOPIC, TOPIC, WARM_UP_S

POD_S = (3, 600)
DEPLOY_S = 3_600  # a deploy takes no longer in all, in an incident 900 s
DEPLOY_IN_INCIDENT_S = 900
BEGINS_S = (WARM_UP_S + 5, WARM_UP_S + 120)
AWAY_S = (1, 15)
CRASHES_S = (5, 40)
TOGETHER = (4, 12)
TOGETHER_S = (40, 420)
RUN_S = (200, 320)
PAUSE_S = (150, 300)  # longer than a group may be away of which nothing is known
SHORTER = 0.85  # no pause is shorter than so much of the longest
EMPTIED_S = 60  # before a pause in which nothing may wait
PAUSES_WITH_MESSAGES = 2


def slow_deploy(context: PerturbationContext) -> None:
    """3 s to 10 minutes a pod, one after the other. It adds a topic, changes the strategy or a filter, or nothing."""
    context.group.fleet.clock.after(context.delay_ms(BEGINS_S), _deploy, context)


def _deploy(context: PerturbationContext) -> None:
    group = context.group
    changes = ["nothing", "topic", "filter"] + ["strategy"] * (group.shape.strategy == "AVG")
    what = context.random.choice(changes)
    if what == "strategy":
        group.config = replace(group.config, strategy=AveragelyByCircle())
    elif what == "filter":
        group.config = replace(group.config, topics=((TOPIC, context.random.choice(("TagA", "TagA || TagB"))),))
    elif what == "topic":  # to which messages are written already
        group.put_topic(group.shape.queues, OTHER_TOPIC)
        group.write(OTHER_TOPIC, group.shape.rate)
        group.config = replace(group.config, topics=(*group.config.topics, (OTHER_TOPIC, "*")))
    pods = list(group.clients)
    longest_s = (DEPLOY_S if context.is_healthy else DEPLOY_IN_INCIDENT_S) / max(1, len(pods))
    step_ms = round(min(context.log_uniform(*POD_S), longest_s) * 1_000)
    keeps_ids = context.random.random() < 0.5
    for index, client in enumerate(pods):
        group.fleet.clock.after(index * step_ms, _replace, context, client.client_id, keeps_ids)


def _replace(context: PerturbationContext, client_id: str, keeps_id: bool) -> None:
    """Replace a pod by one of the newest configuration, also if it was started again in the meantime."""
    group = context.group
    running = [one for one in group.clients if one.client_id == client_id and not one.is_paused]
    if running:
        group.fleet.leave(running[-1])
        new_id = client_id if keeps_id else None
        group.fleet.clock.after(context.delay_ms(AWAY_S), lambda: group.start(new_id, group.config))


def crash_loop(context: PerturbationContext) -> None:
    """One pod comes up under a new id each time, for 5 to 40 s, and is gone for as long."""
    group, clock, began_ts = context.group, context.group.fleet.clock, context.group.fleet.now
    context.known_findings.append(KnownFinding(Kind.REBALANCE_STORM, began_ts))
    host = f"10.99.0.{context.random.randrange(1, 255)}"

    def up() -> None:
        client = group.start(f"{host}@{context.random.randrange(1, 1 << 30)}", group.config)
        clock.after(context.delay_ms(CRASHES_S), down, client)

    def down(client: Consumer) -> None:
        if client.is_running:
            group.fleet.kill(client)
        clock.after(context.delay_ms(CRASHES_S), up)

    clock.after(context.delay_ms(BEGINS_S), up)


def shut_down_together(context: PerturbationContext) -> None:
    """4 to 12 clients of one address start, and are all stopped after 40 s to 7 minutes; once or twice."""
    group, clock = context.group, context.group.fleet.clock
    host = f"10.98.0.{context.random.randrange(1, 255)}"

    def start() -> None:
        ids = [f"{host}@{context.random.randrange(1, 1 << 30)}" for _ in range(context.random.randrange(*TOGETHER))]
        for index, client_id in enumerate(ids):
            clock.after(index * 200, group.start, client_id, group.config)
        clock.after(context.delay_ms(TOGETHER_S) + len(ids) * 200, stop, ids)

    def stop(ids: list[str]) -> None:
        for client in [client for client in group.clients if client.client_id in ids]:
            group.fleet.leave(client)

    clock.after(context.delay_ms(BEGINS_S), start)
    if context.random.random() < 0.5:
        clock.after(context.delay_ms(BEGINS_S) + 600_000, start)


def runs_now_and_then(context: PerturbationContext) -> None:
    """Runs of some minutes and pauses, all before the group's first day: in the first pauses no message waits.

    By then it is known how long the group stays away. In later pauses messages wait, and no page may be sent.
    """
    group, random = context.group, context.random
    pause_s = random.uniform(*PAUSE_S)
    ids = [group.start().client_id for _ in range(group.shape.clients)]
    for number in range(PAUSES_KEPT + PAUSES_WITH_MESSAGES):
        group.fleet.run(random.uniform(*RUN_S))
        if number < PAUSES_KEPT:
            _consume_all(context)
        for client in list(group.clients):
            group.fleet.leave(client)
        group.fleet.run(pause_s * (1 if number == 0 else random.uniform(SHORTER, 1)))
        for topic in group.fleet.producer.topics:
            group.write(topic, group.shape.rate)
        for client_id in ids:
            group.start(client_id)
    group.fleet.run(random.uniform(*RUN_S))
    for client in list(group.clients):
        group.fleet.leave(client)
    group.away_ms = round(pause_s * 1_000 * (1 + 1 / LATE))


def _consume_all(context: PerturbationContext) -> None:
    """Stop writing until no message waits."""
    fleet = context.group.fleet
    for topic in fleet.producer.topics:
        context.group.write(topic, 0)
    fleet.run(EMPTIED_S)
    while fleet.messages_wait():
        fleet.run(EMPTIED_S)
