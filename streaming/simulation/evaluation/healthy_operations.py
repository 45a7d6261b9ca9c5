"""Everyday life: what happens to a group that is well. Nobody should be called for any of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from streaming.core.allocation import AveragelyByCircle
from streaming.core.settings import Settings
from streaming.simulation.consumer import Consumer, Manner
from streaming.simulation.evaluation.detector import Detector
from streaming.simulation.evaluation.incidents import Run
from streaming.simulation.evaluation.judge import Judge
from streaming.simulation.evaluation.lasting_faults import Lasting
from streaming.simulation.evaluation.perturbations.catalog import begin, draw, fit
from streaming.simulation.pace import Pace
from streaming.simulation.simulated_group import TOPIC, Shape, World, random_shape

OPERATIONS_A_RUN = 10
PAUSE_S = (40, 240)  # between two
DEPLOY_WITHIN_S = 420  # one that changes how clients run is waited for ten minutes
NIGHT_S = (300, 1_500)


def scale_out(world: World) -> None:
    for _ in range(world.random.randrange(1, 1 + max(1, world.shape.clients // 3))):
        world.start()


def scale_in(world: World) -> None:
    for _ in range(world.random.randrange(1, 1 + max(1, len(world.clients) // 3))):
        if len(world.clients) > 1:
            world.fleet.leave(world.pick())


def restart(world: World) -> None:
    client = world.pick()
    world.fleet.leave(client)
    world.restart(client, world.random.randrange(2_000, 25_000))


def crash(world: World) -> None:
    """It is started again elsewhere, under another id."""
    world.fleet.kill(world.pick())
    world.fleet.agenda.after(world.random.randrange(2_000, 40_000), world.start)


def rolling_deploy(world: World) -> None:
    """One after the other is replaced; sometimes they come back with another strategy or another topic beside."""
    manner = world.manner
    if world.random.random() < 0.25 and world.shape.strategy == "AVG":
        manner = replace(manner, strategy=AveragelyByCircle())
    elif world.random.random() < 0.25:
        manner = replace(manner, topics=((TOPIC, world.random.choice(("TagA", "TagA || TagB"))),))
    world.manner = manner
    step_ms = world.random.randrange(3_000, 20_000)
    step_ms = min(step_ms, DEPLOY_WITHIN_S * 1_000 // max(1, len(world.clients)))
    keeps_ids = world.random.random() < 0.5
    for place, client in enumerate(list(world.clients)):
        world.fleet.agenda.after(place * step_ms, _replace, world, client, manner, keeps_ids)
    world.fleet.run(step_ms * len(world.clients) / 1_000)


def _replace(world: World, client: Consumer, manner: Manner, keeps_id: bool) -> None:
    if not client.is_running:
        return
    world.fleet.leave(client)
    delay_ms = world.random.randrange(1_000, 15_000)
    if keeps_id:
        world.restart(client, delay_ms, manner)
    else:
        world.fleet.agenda.after(delay_ms, lambda: world.start(manner=manner))


def short_pause(world: World) -> None:
    """A garbage collection."""
    client = world.pick()
    client.pause()
    world.fleet.agenda.after(world.random.randrange(500, 30_000), client.resume)


def slow_for_a_while(world: World) -> None:
    """Its code is slower than the messages come, and catches up later."""
    client = world.pick()
    client.work_at(max(1, world.shape.rate // 2))
    world.fleet.agenda.after(world.random.randrange(20_000, 180_000), client.work_at, world.manner.speed)


def expand(world: World) -> None:
    data = world.fleet.brokers[world.brokers[0]].topics[TOPIC]
    grown = min(1_024 // len(world.brokers), data.read_queue_nums + world.random.choice((1, 2, 4)))
    world.fleet.put_topic(TOPIC, dict.fromkeys(world.brokers, max(grown, data.read_queue_nums)))


def broker_restart(world: World) -> None:
    if len(world.brokers) < 2:
        return restart(world)
    name = world.random.choice(world.brokers)
    world.fleet.stop_broker(name)
    world.fleet.agenda.after(world.random.randrange(10_000, 60_000), world.fleet.start_broker, name)
    world.fleet.run(120)
    return None


def night(world: World) -> None:
    """Nothing is produced any more, and the group is stopped; in the morning it starts again."""
    _night(world, is_careful=False)


def careful_night(world: World) -> None:
    """Nobody stops a group while messages wait: it would be missed, and rightly."""
    _night(world, is_careful=True)


def _night(world: World, is_careful: bool) -> None:
    rate = world.shape.rate * world.shape.queues * world.shape.brokers
    topics = world.fleet.producer.topics
    for topic in topics:
        world.fleet.producer.write(topic, 0)
    world.fleet.run(60)
    if not (is_careful and world.fleet.messages_wait()):
        _sleep(world)
    for topic in topics:
        world.fleet.producer.write(topic, rate)


def _sleep(world: World) -> None:
    ids = [client.client_id for client in world.clients]
    for client in list(world.clients):
        world.fleet.leave(client)
    world.fleet.run(world.random.randrange(*NIGHT_S))
    for client_id in ids:
        world.start(client_id)
        world.fleet.run(world.random.random())


OPERATIONS: tuple[tuple[Callable[[World], None], int], ...] = (
    (scale_out, 3),
    (scale_in, 3),
    (restart, 4),
    (crash, 3),
    (rolling_deploy, 3),
    (short_pause, 2),
    (slow_for_a_while, 1),
    (expand, 1),
    (broker_restart, 1),
    (night, 1),
)


def healthy_shape(random: Random) -> Shape:
    """Shares that are written down do not follow a group that changes: that is a fault of its own."""
    shape = random_shape(random)
    while shape.strategy == "CONFIG":
        shape = random_shape(random)
    return shape


def play_healthy(seed: str, settings: Settings, is_perturbed: bool = False) -> Run:
    """Every page is false; with perturbations all but those that the truth bore out for ten minutes."""
    random = Random(f"{seed}/healthy")
    shape = healthy_shape(random)
    drawn = draw(seed, shape, is_healthy=True) if is_perturbed else []
    world = World(fit(shape, drawn), seed)
    detector = Detector(world.fleet, settings, Pace(loses_reports=0.02 if random.random() < 0.3 else 0.0))
    meanwhile = begin(seed, drawn, world, detector, is_healthy=True)
    world.warm_up()
    actions, weights = zip(*OPERATIONS, strict=True)
    done = random.choices(actions, weights, k=OPERATIONS_A_RUN)
    if is_perturbed:
        done = [careful_night if action is night else action for action in done]
    for action in done:
        action(world)
        world.fleet.run(random.randrange(*PAUSE_S))
    world.fleet.run(PAUSE_S[1])
    judge, lasting = Judge(world, detector, (), settings.timing), Lasting(world, (), meanwhile)
    verdict = judge.verdict()
    pages = [p._replace(is_true=bool(drawn and lasting.bears_out(p)), was_so=p.is_true) for p in verdict.pages]
    names = tuple(dict.fromkeys(action.__name__ for action in done))
    seconds = (world.fleet.now - world.began_ts) / 1_000
    changes = sum(change.what in ("joined", "left", "route", "broker") for change in world.fleet.truth.changes)
    return Run(
        seed,
        str(world.shape),
        names,
        seconds,
        changes,
        verdict.wanted,
        pages,
        tuple(one.name for one in drawn),
        lasting.wanted(judge.pages) if drawn else [],
    )
