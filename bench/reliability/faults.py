"""The faults, each with its repair: when a function returns, everything that it stopped or cut is back."""

import signal
import time
from collections.abc import Callable
from contextlib import suppress

from kafka import KafkaAdminClient

from bench.reliability.stage import CLUSTERS, MEMBERS_TOPIC, Stage

RESTARTS_AFTER_S = 2  # as a service of systemd does
KAFKA_AWAY_S = 3  # beside the time that it takes to start
ENDS_WITHIN_S = 30  # while Kafka is slow, a collector may wait 13 s for its group and 10 s for its events
HANDED_OVER_WITHIN_S = 60

Fault = Callable[[Stage, int, float], None]


def killed(stage: Stage, asker: int, _: float) -> None:
    process = stage.process(asker)
    process.kill()
    process.wait()
    time.sleep(RESTARTS_AFTER_S)
    stage.start(asker)


def paused(stage: Stage, asker: int, away_s: float) -> None:
    process = stage.process(asker)
    process.send_signal(signal.SIGSTOP)
    time.sleep(away_s)
    process.send_signal(signal.SIGCONT)


def cut_from_kafka(stage: Stage, asker: int, away_s: float) -> None:
    stage.cut(stage.to_kafka[asker])
    time.sleep(away_s)
    stage.mend(stage.to_kafka[asker])


def cut_from_rocketmq(stage: Stage, asker: int, away_s: float) -> None:
    """Until another collector asks."""
    stage.cut(stage.to_rocketmq[asker])
    ends_s = time.monotonic() + max(away_s, HANDED_OVER_WITHIN_S)
    while time.monotonic() < ends_s and any(stage.asker_of(cluster) == asker for cluster in CLUSTERS):
        time.sleep(0.5)
    stage.mend(stage.to_rocketmq[asker])


def kafka_restarted(stage: Stage, _: int, __: float) -> None:
    stage.kafka.stop()
    time.sleep(KAFKA_AWAY_S)
    stage.kafka.start()


def group_deleted(stage: Stage, _: int, __: float) -> None:
    """Kafka deletes a group without members only."""
    for process in stage.processes:
        if process is not None:
            process.terminate()
    for process in stage.processes:
        if process is not None:
            process.wait(ENDS_WITHIN_S)
    admin = KafkaAdminClient(bootstrap_servers=stage.kafka.bootstrap_servers)
    try:
        assert dict(admin.delete_groups([MEMBERS_TOPIC])) == {MEMBERS_TOPIC: "OK"}
    finally:
        with suppress(OSError):
            admin.close()
    for asker in stage.askers:
        stage.start(asker)


FAULTS: dict[str, Fault] = {
    "kill -9": killed,
    "SIGSTOP, SIGCONT": paused,
    "cut from Kafka": cut_from_kafka,
    "cut from RocketMQ": cut_from_rocketmq,
    "Kafka restarted": kafka_restarted,
    "group deleted": group_deleted,
}
