"""Healthy operation of groups of gRPC clients, their proxies and brokers. No page should be sent for it."""

from __future__ import annotations

from collections.abc import Callable

from streaming.simulation.client_config import ClientConfig
from streaming.simulation.consumer import Consumer
from streaming.simulation.pop_group import TOPIC, PopGroup

DEPLOY_WITHIN_S = 420
LATER_S = 240  # how long messages may wait at most where nobody is to be called


def proxy_restart(group: PopGroup) -> None:
    """One of the proxies restarts, or is killed and started again."""
    _restart(group, 0, group.random.randrange(5_000, 60_000))


def rolling_proxy_restart(group: PopGroup) -> None:
    """All proxies, one after the other."""
    after_ms = 0
    for number in range(len(group.proxies)):
        away_ms = group.random.randrange(3_000, 30_000)
        group.fleet.clock.after(after_ms, _restart, group, number, away_ms)
        after_ms += away_ms + group.random.randrange(15_000, 60_000)
    group.fleet.run(after_ms / 1_000)


def _restart(group: PopGroup, number: int, away_ms: int) -> None:
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

    def answer() -> None:
        proxy.answers = True

    proxy.answers = False
    group.fleet.clock.after(group.random.randrange(5_000, 90_000), answer)


def clients_move(group: PopGroup) -> None:
    """Connections are drained."""
    for client in list(group.clients):
        if group.random.random() < 0.5:
            group.fleet.move_consumer(client)


def scale_out(group: PopGroup) -> None:
    for _ in range(group.random.randrange(1, 1 + max(1, group.shape.clients // 3))):
        group.start()


def scale_in(group: PopGroup) -> None:
    for _ in range(group.random.randrange(1, 1 + max(1, len(group.clients) // 3))):
        if len(group.clients) > max(1, group.shape.clients // 2):
            group.fleet.leave_consumer(group.pick())


def restart(group: PopGroup) -> None:
    """A client restarts, under a new id as always."""
    group.fleet.leave_consumer(group.pick())
    group.fleet.clock.after(group.random.randrange(2_000, 25_000), group.start)
    group.fleet.run(25)


def crash(group: PopGroup) -> None:
    group.fleet.kill_consumer(group.pick())
    group.fleet.clock.after(group.random.randrange(2_000, 40_000), group.start)
    group.fleet.run(40)


def rolling_deploy(group: PopGroup) -> None:
    """Clients are replaced one after the other, by one that starts before, or afterwards."""
    clients = list(group.clients)
    step_ms = min(group.random.randrange(3_000, 30_000), DEPLOY_WITHIN_S * 1_000 // len(clients))
    starts_first = group.random.random() < 0.5
    for index, client in enumerate(clients):
        group.fleet.clock.after(index * step_ms, _replace, group, client, starts_first)
    group.fleet.run((step_ms * len(clients) + 15_000) / 1_000)


def _replace(group: PopGroup, client: object, starts_first: bool) -> None:
    for one in group.clients:
        if one is client:
            if starts_first:
                group.start()
            group.fleet.leave_consumer(one)
            if not starts_first:
                group.fleet.clock.after(group.random.randrange(1_000, 15_000), group.start)
            return


def to_brokers_and_back(group: PopGroup) -> None:
    """Clients are replaced by remoting ones one after the other, and these by gRPC clients again."""
    fleet, clients = group.fleet, list(group.clients)
    remoting: list[Consumer] = []
    step_s = min(group.random.randrange(3, 30), DEPLOY_WITHIN_S // len(clients))
    for client in clients:
        client_id = f"10.2.0.{len(remoting)}@{group.random.randrange(1, 65_536)}"
        remoting.append(fleet.join(client_id, ClientConfig(((TOPIC, "*"),))))
        fleet.leave_consumer(client)
        fleet.run(step_s)
    fleet.run(group.random.randrange(30, 300))
    for one in remoting:
        group.start()
        fleet.leave(one)
        fleet.run(step_s)


def broker_restart(group: PopGroup) -> None:
    name = group.random.choice(group.brokers)
    group.fleet.stop_broker(name)
    group.fleet.clock.after(group.random.randrange(10_000, 60_000), group.fleet.start_broker, name)
    group.fleet.run(90)


def broker_crash(group: PopGroup) -> None:
    """It comes back with the offsets of up to 5 s ago (``flushConsumerOffsetInterval``)."""
    fleet, name = group.fleet, group.random.choice(group.brokers)
    fleet.stop_broker(name)
    lost_ms = group.random.randrange(5_000)

    def back() -> None:
        for progress in fleet.brokers[name].progresses(fleet.group):
            progress.put_offset_back(progress.committed - group.shape.rate * lost_ms // 1_000, fleet.now)
        fleet.start_broker(name)

    fleet.clock.after(group.random.randrange(5_000, 90_000), back)
    fleet.run(120)


def expand(group: PopGroup) -> None:
    data = group.fleet.brokers[group.brokers[0]].topics[TOPIC]
    group.put_topic(min(16, data.read_queue_nums + group.random.choice((1, 2, 4))))


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


def reset_offsets(group: PopGroup) -> None:
    """``mqadmin resetOffsetByTime``: the last minutes are consumed again."""
    back_ms = group.random.randrange(30_000, 120_000)
    for progress in group.fleet.progresses():
        progress.put_offset_back(progress.committed - group.shape.rate * back_ms // 1_000, group.fleet.now)


POP_OPERATIONS: tuple[tuple[Callable[[PopGroup], None], int], ...] = (
    (proxy_restart, 5),
    (rolling_proxy_restart, 3),
    (proxies_replaced, 2),
    (proxy_pause, 2),
    (clients_move, 1),
    (scale_out, 3),
    (scale_in, 3),
    (restart, 3),
    (crash, 3),
    (rolling_deploy, 3),
    (to_brokers_and_back, 1),
    (broker_restart, 1),
    (broker_crash, 1),
    (expand, 1),
    (idle, 2),
    (burst, 1),
    (slow_listeners, 1),
    (slow_client, 1),
    (pause_receiving, 1),
    (reset_offsets, 1),
)
