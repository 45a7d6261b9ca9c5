"""RocketMQ's own allocation strategies in Java, over the same topics as ours.

The jars are those of the tests that run a real RocketMQ (``tests/real``): shipped code does not need them.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from schemas.identity import MessageQueue
from streaming.errors import AwayError, SetupError
from streaming.jvm.java import java_home
from testing.rocketmq.jars import NEWEST, rocketmq_jars
from testing.rocketmq.jvm import compile_java

SOURCE = Path(__file__).parent / "java" / "Allocations.java"
TIME_LIMIT_S = 90

Fleet = tuple[list[MessageQueue], list[str]]
Shares = dict[str, tuple[MessageQueue, ...]]


class NoJava(Exception):
    """The reason why RocketMQ's classes cannot be run here."""


class Measured(NamedTuple):
    """The result for one strategy: the time of a topic, and the queues of each client in each topic."""

    us_per_topic: float
    shares: list[Shares]


def measure_java(fleets: Sequence[Fleet], per_run: int, rooms: Iterable[str]) -> dict[str, Measured]:
    """The results by name of the strategy. Raises NoJava if there are no jars or no compiler."""
    jars = _jars()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        topics, answers = folder / "topics", folder / "answers"
        topics.write_text("".join(map(_line, fleets)))
        compile_java([SOURCE], jars, folder / "classes")
        _run([*jars, folder / "classes"], [str(topics), str(per_run), ",".join(rooms), str(answers)], folder)
        return _read(answers.read_text())


def _jars() -> list[Path]:
    try:
        if not (java_home() / "bin" / "javac").exists():
            raise NoJava(f"{java_home()} has no Java compiler")
        return rocketmq_jars(NEWEST)
    except (AwayError, SetupError) as error:
        raise NoJava(str(error)) from None


def _line(fleet: Fleet) -> str:
    queues, clients = fleet
    return f"{' '.join(map(_queue_text, queues))}\t{' '.join(clients)}\n"


def _queue_text(queue: MessageQueue) -> str:
    return f"{queue.topic},{queue.broker_name},{queue.queue_id}"


def _run(classpath: Sequence[Path], arguments: Sequence[str], home: Path) -> None:
    """Run Java. RocketMQ's client writes a log below ``user.home``, and much output to standard output."""
    command = [str(java_home() / "bin" / "java"), f"-Duser.home={home}", "-cp", os.pathsep.join(map(str, classpath))]
    subprocess.run([*command, SOURCE.stem, *arguments], stdout=subprocess.DEVNULL, timeout=TIME_LIMIT_S, check=True)


def _read(answers: str) -> dict[str, Measured]:
    times: dict[str, float] = {}
    shares: dict[str, list[Shares]] = {}
    for line in answers.splitlines():
        kind, strategy, *rest = line.split(" ")
        if kind == "time":
            times[strategy] = round(float(rest[0]), 1)
        else:
            _add_share(shares.setdefault(strategy, []), int(rest[0]), rest[1], rest[2:])
    return {strategy: Measured(took, shares[strategy]) for strategy, took in times.items()}


def _add_share(shares: list[Shares], topic: int, client: str, queues: Sequence[str]) -> None:
    if topic == len(shares):
        shares.append({})
    shares[topic][client] = tuple(map(_queue, queues))


def _queue(text: str) -> MessageQueue:
    topic, broker_name, queue_id = text.split(",")
    return MessageQueue(topic, broker_name, int(queue_id))
