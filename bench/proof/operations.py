"""Healthy operation: what happens to a group that is well, of remoting or gRPC clients. No page should be sent for it.

First the operations of both kinds of groups, then those of one kind, and the runs that draw them.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from bench.proof.detector import Detector
from bench.proof.groups import Group, RemotingGroup, broker_is_away
from bench.proof.judge import judge_pop_run, judge_run
from bench.proof.perturbations.catalog import begin, draw, fit
from bench.proof.perturbations.collectors import DISTURBANCES
from bench.proof.perturbations.context import WatchContext
from bench.proof.pop_group import PopGroup
from bench.proof.pop_group import random_shape as random_pop_shape
from bench.proof.results import Run
from streaming.core.settings import Settings
from streaming.simulation.client_config import ClientConfig
from streaming.simulation.consumer import Consumer
from streaming.simulation.simulated_group import TOPIC, Shape, random_shape

OPERATIONS_A_RUN, POP_OPERATIONS_A_RUN = 10, 6
PAUSE_S = (40, 240)  # between two
DEPLOY_WITHIN_S = 420  # one that changes how clients run is waited for ten minutes
NIGHT_S = (300, 1_500)
LATER_S = 240  # how long messages may wait at most where nobody is to be called
IS_DISTURBED, LOSES_REPORTS = 0.4, 0.3


def scale_out(group: Group) -> None:
    for _ in range(group.random.randrange(1, 1 + max(1, group.shape.clients // 3))):
        group.start()


def scale_in(group: Group) -> None:
    for _ in range(group.random.randrange(1, 1 + max(1, len(group.clients) // 3))):
        if len(group.clients) > group.least_clients:
            group.fleet.leave(group.pick())


def restart(group: Group) -> None:
    client = group.pick()
    group.fleet.leave(client)
    group.restart(client, group.random.randrange(2_000, 25_000))
    group.settle(25)


def crash(group: Group) -> None:
    """A client crashes, and is started again on another host under another id."""
    group.fleet.kill(group.pick())
    group.fleet.clock.after(group.random.randrange(2_000, 40_000), group.start)
    group.settle(40)


def rolling_deploy(group: Group) -> None:
    """Clients are replaced one after the other, sometimes by others that differ."""
    config, clients = group.change(), list(group.clients)
    step_ms = min(group.random.randrange(3_000, group.step_ms), DEPLOY_WITHIN_S * 1_000 // max(1, len(clients)))
    is_other_way = group.random.random() < 0.5
    for index, client in enumerate(clients):
        group.fleet.clock.after(index * step_ms, group.replace, client, config, is_other_way)
    group.fleet.run((step_ms * len(clients) + group.deploy_ends_ms) / 1_000)


def expand(group: Group) -> None:
    has = group.fleet.brokers[group.brokers[0]].topics[TOPIC].read_queue_nums
    group.put_topic(max(min(group.most_queues, has + group.random.choice((1, 2, 4))), has))


def broker_restart(group: Group) -> None:
    if len(group.brokers) < group.least_brokers:
        return restart(group)
    name = group.random.choice(group.brokers)
    group.fleet.stop_broker(name)
    group.fleet.clock.after(group.random.randrange(10_000, 60_000), group.fleet.start_broker, name)
    return group.fleet.run(group.broker_back_s)


def broker_crash(group: Group) -> None:
    """A broker crashes, and is back soon with the offsets that it had stored (``flushConsumerOffsetInterval``)."""
    name, lost_ms = group.random.choice(group.brokers), group.random.randrange(group.lost_ms)
    broker_is_away(group, name, group.random.randrange(5_000, 90_000), lost_ms)
    group.fleet.run(120)


def reset_offsets(group: Group) -> None:
    """``mqadmin resetOffsetByTime``: clients consume the last minutes again. Nobody needs to be told."""
    back_ms = group.random.randrange(30_000, 120_000)
    for progress in group.fleet.progresses():
        offset = progress.committed - group.shape.rate * back_ms // 1_000
        progress.put_offset_back(offset, group.fleet.now)
        for holder in progress.holders if progress.committed == offset else ():
            holder.go_back(offset)


# --- of remoting clients


def short_pause(group: RemotingGroup) -> None:
    """A client pauses, as in a garbage collection."""
    client = group.pick()
    client.pause()
    group.fleet.clock.after(group.random.randrange(500, 30_000), client.resume)


def slow_for_a_while(group: RemotingGroup) -> None:
    """A client consumes more slowly than messages come, and catches up later."""
    client = group.pick()
    client.set_speed(max(1, group.shape.rate // 2))
    group.fleet.clock.after(group.random.randrange(20_000, 180_000), client.set_speed, group.config.speed)


def careful_night(group: RemotingGroup) -> None:
    """A night in which the group is stopped only when no messages wait: otherwise a page is right."""
    night(group, is_careful=True)


def night(group: RemotingGroup, is_careful: bool = False) -> None:
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


# --- of gRPC clients and their proxies


def proxy_restart(group: PopGroup) -> None:
    """One of the proxies restarts, or is killed and started again."""
    _restart_proxy(group, 0, group.random.randrange(5_000, 60_000))


def rolling_proxy_restart(group: PopGroup) -> None:
    """All proxies, one after the other."""
    after_ms = 0
    for number in range(len(group.proxies)):
        away_ms = group.random.randrange(3_000, 30_000)
        group.fleet.clock.after(after_ms, _restart_proxy, group, number, away_ms)
        after_ms += away_ms + group.random.randrange(15_000, 60_000)
    group.fleet.run(after_ms / 1_000)


def _restart_proxy(group: PopGroup, number: int, away_ms: int) -> None:
    proxy = group.proxies[number]
    if proxy.is_up:
        group.fleet.stop_proxy(proxy, is_clean=group.random.random() < 0.7)
        group.fleet.clock.after(away_ms, group.fleet.start_proxy, proxy)


def proxies_replaced(group: PopGroup) -> None:
    """All proxies are replaced by others on other hosts, one after the other, where clients reach any of them."""
    if not group.shape.is_balanced:
        return rolling_proxy_restart(group)
    for number in range(len(group.proxies)):
        group.replace_proxy(number)
        group.fleet.run(group.random.randrange(31, 90))
    return None


def proxy_pause(group: PopGroup) -> None:
    """A proxy is slow to answer requests for lists. It serves its clients all the while."""
    proxy = group.random.choice(group.proxies)
    proxy.answers = False
    group.fleet.clock.after(group.random.randrange(5_000, 90_000), setattr, proxy, "answers", True)


def clients_move(group: PopGroup) -> None:
    """Connections are drained."""
    for client in list(group.clients):
        if group.random.random() < 0.5:
            group.fleet.move_consumer(client)


def to_brokers_and_back(group: PopGroup) -> None:
    """Clients are replaced by remoting ones one after the other, and these by gRPC clients again."""
    fleet, clients = group.fleet, list(group.clients)
    remoting: list[Consumer] = []
    step_s = min(group.random.randrange(3, 30), DEPLOY_WITHIN_S // len(clients))
    for client in clients:
        client_id = f"10.2.0.{len(remoting)}@{group.random.randrange(1, 65_536)}"
        remoting.append(fleet.join(client_id, ClientConfig(((TOPIC, "*"),))))
        fleet.leave(client)
        fleet.run(step_s)
    fleet.run(group.random.randrange(30, 300))
    for one in remoting:
        group.start()
        fleet.leave(one)
        fleet.run(step_s)


def idle(group: PopGroup) -> None:
    """No message comes for a while."""
    group.write(0)
    group.fleet.run(group.random.randrange(120, 700))
    group.write(group.shape.rate)


def burst(group: PopGroup) -> None:
    group.write(10 * group.most_rate)
    group.fleet.clock.after(group.random.randrange(10_000, 60_000), group.write, group.shape.rate)
    group.fleet.run(60)


def slow_listeners(group: PopGroup) -> None:
    """What listeners call is slow for some minutes: each message takes seconds or minutes."""
    usual_ms = group.work_ms
    group.set_work_ms(group.random.randrange(2_000, 60_000))
    group.fleet.run(group.random.randrange(30, LATER_S))
    group.set_work_ms(usual_ms)


def slow_client(group: PopGroup) -> None:
    """One client only."""
    client = group.pick()
    client.work_ms = group.random.randrange(10_000, 120_000)
    group.fleet.run(group.random.randrange(30, LATER_S))
    client.work_ms = group.work_ms


def pause_receiving(group: PopGroup) -> None:
    """Applications with SimpleConsumers do something else for a while. One broker does not know the group before."""
    clients = list(group.clients) if group.shape.kind == "simple" else []
    for client in clients:
        group.fleet.mute(client)
        group.fleet.brokers[group.brokers[-1]].knows_group = False
    group.fleet.run(group.random.randrange(20, LATER_S))
    for client in clients:
        if client.is_running:
            group.fleet.unmute(client)


# --- runs

Operation = Callable[[Any], object]
OPERATIONS: tuple[tuple[Operation, int], ...] = (
    (scale_out, 3), (scale_in, 3), (restart, 4), (crash, 3), (rolling_deploy, 3), (short_pause, 2),
    (slow_for_a_while, 1), (expand, 1), (broker_restart, 1), (night, 1), (broker_crash, 1), (reset_offsets, 1),
)  # fmt: skip
POP_OPERATIONS: tuple[tuple[Operation, int], ...] = (
    (proxy_restart, 5), (rolling_proxy_restart, 3), (proxies_replaced, 2), (proxy_pause, 2), (clients_move, 1),
    (scale_out, 3), (scale_in, 3), (restart, 3), (crash, 3), (rolling_deploy, 3), (to_brokers_and_back, 1),
    (broker_restart, 1), (broker_crash, 1), (expand, 1), (idle, 2), (burst, 1), (slow_listeners, 1), (slow_client, 1),
    (pause_receiving, 1), (reset_offsets, 1),
)  # fmt: skip


def play_healthy(seed: str, settings: Settings, is_perturbed: bool = False) -> Run:
    """Play healthy operation. A page is false unless messages waited unread for three minutes in an unowned queue.

    With perturbations also those that were true for ten minutes.
    """
    random = Random(f"{seed}/healthy")
    shape = healthy_shape(random)
    drawn = draw(seed, shape, is_healthy=True) if is_perturbed else []
    group = RemotingGroup(fit(shape, drawn), seed)
    detector = Detector(group.fleet, settings, loses_reports=0.02 if random.random() < LOSES_REPORTS else 0.0)
    known_findings = begin(seed, drawn, group, detector, is_healthy=True)
    group.warm_up()
    done = _draw(random, OPERATIONS, OPERATIONS_A_RUN)
    names = _play(group, random, [careful_night if is_perturbed and one is night else one for one in done])
    return judge_run(seed, group, detector, settings.timing, names, (), drawn, known_findings)


def healthy_shape(random: Random) -> Shape:
    """A shape without the CONFIG strategy: its fixed shares do not follow a group that changes, which is a fault."""
    shape = random_shape(random)
    while shape.strategy == "CONFIG":
        shape = random_shape(random)
    return shape


def play_pop_healthy(seed: str, settings: Settings) -> Run:
    """A page is false unless messages had waited for ten minutes, and nobody had taken any at their broker."""
    random = Random(f"{seed}/healthy")
    group = PopGroup(random_pop_shape(random), seed)
    detector = Detector(group.fleet, settings)
    disturbed = _disturb(seed, group, detector)
    group.warm_up()
    names = _play(group, random, _draw(random, POP_OPERATIONS, POP_OPERATIONS_A_RUN))
    run = judge_pop_run(seed, group, detector, names)
    run.rebalances, run.perturbations = POP_OPERATIONS_A_RUN, disturbed
    return run


def _disturb(seed: str, group: PopGroup, detector: Detector) -> tuple[str, ...]:
    """In some runs collectors restart, their clock is set back, or events are lost or late."""
    random = Random(f"{seed}/disturbed")
    if random.random() >= IS_DISTURBED:
        return ()
    disturb = random.choice(DISTURBANCES)
    disturb(WatchContext(group.fleet.clock, detector, random))
    return (disturb.__name__,)


def _draw(random: Random, weighted: tuple[tuple[Operation, int], ...], number: int) -> list[Operation]:
    operations, weights = zip(*weighted, strict=True)
    return random.choices(operations, weights, k=number)


def _play(group: Group, random: Random, operations: list[Operation]) -> tuple[str, ...]:
    """One after the other. The answer is their names."""
    for operation in operations:
        operation(group)
        group.fleet.run(random.randrange(*PAUSE_S))
    group.fleet.run(PAUSE_S[1])
    return tuple(dict.fromkeys(operation.__name__ for operation in operations))
