"""Clients that come and go in ways that last."""

from __future__ import annotations

from dataclasses import replace

from schemas.facts import Kind
from streaming.core.allocation import AveragelyByCircle
from streaming.simulation.consumer import Consumer
from streaming.simulation.evaluation.perturbations.context import Meanwhile, Stage
from streaming.simulation.simulated_group import OTHER_TOPIC, TOPIC, WARM_UP_S, World

POD_S = (3, 600)
DEPLOY_S = 3_600  # a deploy takes no longer in all, in an incident 900 s
DEPLOY_IN_INCIDENT_S = 900
BEGINS_S = (WARM_UP_S + 5, WARM_UP_S + 120)
AWAY_S = (1, 15)
CRASHES_S = (5, 40)
TOGETHER = (4, 12)
TOGETHER_S = (40, 420)


def slow_deploy(stage: Stage) -> None:
    """3 s to 10 minutes a pod, one after the other. It adds a topic, changes the strategy or a filter, or nothing."""
    stage.world.fleet.agenda.after(stage.now_and_then(BEGINS_S), _deploy, stage)


def _deploy(stage: Stage) -> None:
    world = stage.world
    changes = ["nothing", "topic", "filter"] + ["strategy"] * (world.shape.strategy == "AVG")
    what = stage.random.choice(changes)
    if what == "strategy":
        world.manner = replace(world.manner, strategy=AveragelyByCircle())
    elif what == "filter":
        world.manner = replace(world.manner, topics=((TOPIC, stage.random.choice(("TagA", "TagA || TagB"))),))
    elif what == "topic":
        _add_topic(world)
    pods = list(world.clients)
    longest_s = (DEPLOY_S if stage.is_healthy else DEPLOY_IN_INCIDENT_S) / max(1, len(pods))
    step_ms = round(min(stage.magnitude(*POD_S), longest_s) * 1_000)
    keeps_ids = stage.random.random() < 0.5
    for place, client in enumerate(pods):
        world.fleet.agenda.after(place * step_ms, _replace, stage, client, keeps_ids)


def _add_topic(world: World) -> None:
    """Others write to it already."""
    world.fleet.put_topic(OTHER_TOPIC, dict.fromkeys(world.brokers, world.shape.queues))
    world.fleet.producer.write(OTHER_TOPIC, world.shape.rate * world.shape.queues * world.shape.brokers)
    world.manner = replace(world.manner, topics=(*world.manner.topics, (OTHER_TOPIC, "*")))


def _replace(stage: Stage, client: Consumer, keeps_id: bool) -> None:
    """It comes back as all run by then."""
    if not client.is_running or client.is_paused:
        return
    world = stage.world
    world.fleet.leave(client)
    client_id = client.client_id if keeps_id else None
    world.fleet.agenda.after(stage.now_and_then(AWAY_S), lambda: world.start(client_id, world.manner))


def crash_loop(stage: Stage) -> None:
    """One pod comes up under a new id each time, for 5 to 40 s, and is gone for as long."""
    world, agenda, began_ts = stage.world, stage.world.fleet.agenda, stage.world.fleet.now
    stage.meanwhile.append(Meanwhile(Kind.REBALANCE_STORM, began_ts))
    host = f"10.99.0.{stage.random.randrange(1, 255)}"

    def up() -> None:
        client = world.start(f"{host}@{stage.random.randrange(1, 1 << 30)}", world.manner)
        agenda.after(stage.now_and_then(CRASHES_S), down, client)

    def down(client: Consumer) -> None:
        if client.is_running:
            world.fleet.kill(client)
        agenda.after(stage.now_and_then(CRASHES_S), up)

    agenda.after(stage.now_and_then(BEGINS_S), up)


def shut_down_together(stage: Stage) -> None:
    """4 to 12 clients of one address start, and are all stopped after 40 s to 7 minutes; once or twice."""
    world, agenda = stage.world, stage.world.fleet.agenda
    host = f"10.98.0.{stage.random.randrange(1, 255)}"

    def start() -> None:
        ids = [f"{host}@{stage.random.randrange(1, 1 << 30)}" for _ in range(stage.random.randrange(*TOGETHER))]
        for place, client_id in enumerate(ids):
            agenda.after(place * 200, world.start, client_id, world.manner)
        agenda.after(stage.now_and_then(TOGETHER_S) + len(ids) * 200, stop, ids)

    def stop(ids: list[str]) -> None:
        for client in [client for client in world.clients if client.client_id in ids]:
            world.fleet.leave(client)

    agenda.after(stage.now_and_then(BEGINS_S), start)
    if stage.random.random() < 0.5:
        agenda.after(stage.now_and_then(BEGINS_S) + 600_000, start)
