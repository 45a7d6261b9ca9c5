"""Healthy operation: what happens to a group that is well. No page should be sent for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from streaming.core.allocation.averagely import AveragelyByCircle
from streaming.core.settings import Settings
from streaming.simulation.consumer import ClientConfig, Consumer
from streaming.simulation.evaluation.detector import Detector
from streaming.simulation.evaluation.judge import judge_run
from streaming.simulation.evaluation.perturbations.catalog import begin, draw, fit
from streaming.simulation.evaluation.results import Run
from streaming.simulation.simulated_group import TOPIC, Shape, SimulatedGroup, random_shape

OPERATIONS_A_RUN = 10
PAUSE_S = (40, 240)  # between two
DEPLOY_WITHIN_S = 420  # one that changes how clients run is waited for ten minutes
NIGHT_S = (300, 1_500)


def scale_out(group: SimulatedGroup) -> None:
    for _ in range(group.random.randrange(1, 1 + max(1, group.shape.clients // 3))):
        group.start()


def scale_in(group: SimulatedGroup) -> None:
    for _ in range(group.random.randrange(1, 1 + max(1, len(group.clients) // 3))):
        if len(group.clients) > 1:
            group.fleet.leave(group.pick())


def restart(group: SimulatedGroup) -> None:
    client = group.pick()
    group.fleet.leave(client)
    group.restart(client, group.random.randrange(2_000, 25_000))


def crash(group: SimulatedGroup) -> None:
    """A client crashes, and is started again on another host under another id."""
    group.fleet.kill(group.pick())
    group.fleet.clock.after(group.random.randrange(2_000, 40_000), group.start)


def rolling_deploy(group: SimulatedGroup) -> None:
    """Clients are replaced one after the other, sometimes with another strategy or one more topic."""
    config = group.config
    if group.random.random() < 0.25 and group.shape.strategy == "AVG":
        config = replace(config, strategy=AveragelyByCircle())
    elif group.random.random() < 0.25:
        config = replace(config, topics=((TOPIC, group.random.choice(("TagA", "TagA || TagB"))),))
    group.config = config
    step_ms = group.random.randrange(3_000, 20_000)
    step_ms = min(step_ms, DEPLOY_WITHIN_S * 1_000 // max(1, len(group.clients)))
    keeps_ids = group.random.random() < 0.5
    for index, client in enumerate(list(group.clients)):
        group.fleet.clock.after(index * step_ms, _replace, group, client, config, keeps_ids)
    group.fleet.run(step_ms * len(group.clients) / 1_000)


def _replace(group: SimulatedGroup, client: Consumer, config: ClientConfig, keeps_id: bool) -> None:
    if not client.is_running:
        return
    group.fleet.leave(client)
    delay_ms = group.random.randrange(1_000, 15_000)
    if keeps_id:
        group.restart(client, delay_ms, config)
    else:
        group.fleet.clock.after(delay_ms, lambda: group.start(config=config))


def short_pause(group: SimulatedGroup) -> None:
    """A client pauses, as in a garbage collection."""
    client = group.pick()
    client.pause()
    group.fleet.clock.after(group.random.randrange(500, 30_000), client.resume)


def slow_for_a_while(group: SimulatedGroup) -> None:
    """A client consumes more slowly than messages come, and catches up later."""
    client = group.pick()
    client.set_speed(max(1, group.shape.rate // 2))
    group.fleet.clock.after(group.random.randrange(20_000, 180_000), client.set_speed, group.config.speed)


def expand(group: SimulatedGroup) -> None:
    data = group.fleet.brokers[group.brokers[0]].topics[TOPIC]
    grown = min(1_024 // len(group.brokers), data.read_queue_nums + group.random.choice((1, 2, 4)))
    group.put_topic(max(grown, data.read_queue_nums))


def broker_restart(group: SimulatedGroup) -> None:
    if len(group.brokers) < 2:
        return restart(group)
    name = group.random.choice(group.brokers)
    group.fleet.stop_broker(name)
    group.fleet.clock.after(group.random.randrange(10_000, 60_000), group.fleet.start_broker, name)
    return group.fleet.run(120)


def broker_crash(group: SimulatedGroup) -> None:
    """A broker crashes, and is back soon with offsets of up to ten seconds ago: clients commit them every 5 s.

    (``flushConsumerOffsetInterval``: brokers store them every 5 s.)
    """
    name = group.random.choice(group.brokers)
    group.fleet.stop_broker(name)
    lost_ms = group.random.randrange(10_000)

    def back() -> None:
        for progress in group.fleet.brokers[name].progresses(group.fleet.group):
            progress.put_offset_back(progress.committed - group.shape.rate * lost_ms // 1_000, group.fleet.now)
        group.fleet.start_broker(name)

    group.fleet.clock.after(group.random.randrange(5_000, 90_000), back)
    group.fleet.run(120)


def reset_offsets(group: SimulatedGroup) -> None:
    """``mqadmin resetOffsetByTime``: clients consume the last minutes again. Nobody needs to be told."""
    back_ms = group.random.randrange(30_000, 120_000)
    for progress in group.fleet.progresses():
        offset = progress.committed - group.shape.rate * back_ms // 1_000
        progress.put_offset_back(offset, group.fleet.now)
        for holder in progress.holders if progress.committed == offset else ():
            holder.go_back(offset)


def careful_night(group: SimulatedGroup) -> None:
    """A night in which the group is stopped only when no messages wait: otherwise a page is right."""
    night(group, is_careful=True)


def night(group: SimulatedGroup, is_careful: bool = False) -> None:
    """Producers stop, and the group is stopped; in the morning it starts again."""
    topics = group.fleet.producer.topics
    for topic in topics:
        group.write(topic, 0)
    group.fleet.run(60)
    if not (is_careful and group.fleet.messages_wait()):
        ids = [client.client_id for client in group.clients]
        for client in list(group.clients):
            group.fleet.leave(client)
        group.fleet.run(group.random.randrange(*NIGHT_S))
        for client_id in ids:
            group.start(client_id)
            group.fleet.run(group.random.random())
    for topic in topics:
        group.write(topic, group.shape.rate)


OPERATIONS: tuple[tuple[Callable[[SimulatedGroup], None], int], ...] = (
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
    (broker_crash, 1),
    (reset_offsets, 1),
)


def healthy_shape(random: Random) -> Shape:
    """A shape without the CONFIG strategy: its fixed shares do not follow a group that changes, which is a fault."""
    shape = random_shape(random)
    while shape.strategy == "CONFIG":
        shape = random_shape(random)
    return shape


def play_healthy(seed: str, settings: Settings, is_perturbed: bool = False) -> Run:
    """Play healthy operation. A page is false unless messages waited unread for three minutes in an unowned queue.

    With perturbations also those that were true for ten minutes.
    """
    random = Random(f"{seed}/healthy")
    shape = healthy_shape(random)
    drawn = draw(seed, shape, is_healthy=True) if is_perturbed else []
    group = SimulatedGroup(fit(shape, drawn), seed)
    detector = Detector(group.fleet, settings, loses_reports=0.02 if random.random() < 0.3 else 0.0)
    known_findings = begin(seed, drawn, group, detector, is_healthy=True)
    group.warm_up()
    actions, weights = zip(*OPERATIONS, strict=True)
    done = random.choices(actions, weights, k=OPERATIONS_A_RUN)
    if is_perturbed:
        done = [careful_night if action is night else action for action in done]
    for action in done:
        action(group)
        group.fleet.run(random.randrange(*PAUSE_S))
    group.fleet.run(PAUSE_S[1])
    names = tuple(dict.fromkeys(action.__name__ for action in done))
    return judge_run(seed, group, detector, settings.timing, names, (), drawn, known_findings)
