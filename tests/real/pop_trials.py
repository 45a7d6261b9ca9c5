"""Faults of POP on a real cluster with two proxies and gRPC clients, judged live.

``python -m tests.real.pop_trials --rounds 10 --report FILE`` writes a line of JSON for each trial: what was found, how
many seconds after the fault, whether it is the right finding with the right cause, and whom else it called.
``--beside 5`` plays five trials at a time, each with groups and a collector of its own. Faults of a whole broker or of
a common proxy are played one at a time all the same, after the others.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from schemas.facts import Fact
from schemas.identity import REVIVE_GROUP
from streaming.replay.alert_transitions import transitions
from streaming.wall_clock import now_ms
from testing.rocketmq import asking
from testing.rocketmq.child_process import ChildProcess
from testing.rocketmq.collecting import Judging
from tests.real.detour import Detour
from tests.real.outcome import pages_of
from tests.real.proxies import GrpcConsumer, ProxiedRocketMQ
from tests.real.stage import Part

P = TypeVar("P", bound=ChildProcess)
A, B = BROKERS = ("broker-a", "broker-b")
TWO_EACH = dict.fromkeys(BROKERS, 2)
HEALTHY_S = 75  # before each fault: its groups are seen to be well, by readings of their offsets every 20 s
LOOK_S = 5  # how often the events so far are judged
WITHIN_S = 120
RESTS_S = 90  # after each restart of a proxy that must call nobody
FLUSHED_S = 10  # flushConsumerOffsetInterval is 5 s
OLDER_S = 40  # with HEALTHY_S, a file is so old that what comes again was not in flight, whenever offsets were read
UNUSUAL_MS = 600_000  # reviveInterval, by default 1,000


class Found(NamedTuple):
    """An alert that fired, so many seconds after the fault."""

    kind: str
    cause: str | None
    group: str
    severity: str
    fired_s: float


class Stage:
    """The cluster, and what one trial has started there. Groups have the trial's name, with a word of their own."""

    def __init__(self, cluster: ProxiedRocketMQ, name: str, leaves: ExitStack, last: ExitStack) -> None:
        """``leaves`` ends with the trial, ``last`` with all that are played beside it."""
        self.cluster, self.leaves = cluster, leaves
        self._name, self._last = name, last

    def group(
        self,
        word: str = "g",
        queues: Mapping[str, int] = TWO_EACH,
        *,
        fifo: bool = False,
        every_ms: int = 500,
    ) -> Part:
        """A group with a topic, and a producer that writes to each of its queues."""
        name = f"{self._name}-{word}"
        part = Part(self.cluster, name, {f"{name}-T": queues})
        self.cluster.create_group(name, fifo=fifo)
        self.started(self.cluster.producer(list(part.topics), every_ms))
        return part

    def join(self, part: Part, word: str, **how: Any) -> GrpcConsumer:
        """A gRPC client, once it consumes."""
        consumer = self.started(self.cluster.grpc_consumer(part.group, word, dict.fromkeys(part.topics, "*"), **how))
        self.cluster.wait_until_consuming(consumer)
        part.note(f"{word} consumes")
        return consumer

    def started(self, process: P) -> P:
        self.leaves.callback(_end, process)
        return process

    def own_proxy(self, namesrv: str) -> str:
        """The name of a new one. It stays until the trials beside have ended, which would see it go away."""
        name = f"proxy-{self._name}"
        self._last.callback(self.cluster.proxies.pop, name)
        self._last.callback(_end, self.cluster.add_proxy(name, namesrv))
        return name

    def restart(self, proxy: str, *, cleanly: bool = False) -> None:
        """Returns when it serves again."""
        one = self.cluster.proxies[proxy]
        if cleanly:
            one.terminate()
            self.cluster.wait_until(lambda: not one.is_running, f"{proxy} has ended")
        else:
            one.kill()
        self.cluster.wait_for_proxy(proxy)


def _end(process: ChildProcess) -> None:
    """In good order, or else proxies list it for two minutes more."""
    if process.is_running:
        with suppress(subprocess.TimeoutExpired):
            process.stop(15)
    process.close()


# --- the faults: each gets its groups ready, yields, does what goes wrong, and yields; then it mends that


def refused(stage: Stage) -> Iterator[None]:
    """A broker at which the group may not consume."""
    part = stage.group()
    stage.join(part, "java", proxy="proxy-a")
    stage.join(part, "go", proxy="proxy-b", language="go")
    yield
    asking.set_group(stage.cluster.brokers[B].address, part.group, consumes=False)
    yield
    asking.set_group(stage.cluster.brokers[B].address, part.group)


def lacking(stage: Stage) -> Iterator[None]:
    """A broker that loses the group, and makes none by itself. So it stays: other trials have the same fault."""
    part, address = stage.group(), stage.cluster.brokers[B].address
    stage.join(part, "java", proxy="proxy-a")
    yield
    asking.configure(address, autoCreateSubscriptionGroup="false")
    asking.delete_group(address, part.group)
    yield


def cut_off(stage: Stage) -> Iterator[None]:
    """All clients are at one proxy, which cannot reach one of the brokers any more."""
    detour = stage.leaves.enter_context(Detour(stage.cluster.namesrv, stage.cluster.brokers[B].address))
    proxy = stage.own_proxy(detour.namesrv)
    part = stage.group()
    stage.join(part, "java", proxy=proxy)
    yield
    detour.cut()
    yield


def silent_since_restart(stage: Stage) -> Iterator[None]:
    """A Go client whose proxy is started again is not listed, and does not poll, until it writes its settings.

    It does so every 5 minutes.
    """
    part = stage.group()
    stage.join(part, "go", proxy="proxy-b", language="go")
    yield
    stage.restart("proxy-b")
    yield


def split(stage: Stage) -> Iterator[None]:
    part = stage.group()
    stage.join(part, "java", proxy="proxy-a")
    yield
    (at_brokers,) = part.join("at-brokers")
    stage.started(at_brokers)
    stage.cluster.wait_until_started([at_brokers])
    stage.cluster.wait_until_joined([at_brokers], BROKERS)
    yield


def head_blocked(stage: Stage) -> Iterator[None]:
    part = stage.group(fifo=True)
    java = stage.join(part, "java", proxy="proxy-a")
    yield
    java.hang()
    yield
    java.recover()


def too_short(stage: Stage) -> Iterator[None]:
    """A client asks for 16 messages for 10 s, and needs 2 s for each: it acknowledges most of them too late.

    The other one is slow enough that messages wait. Else there would be one or two at a time for either.
    """
    yield from _joined_by(stage, 1_000, invisible_s=10, sleep_ms=2_000)


def never_acknowledged(stage: Stage) -> Iterator[None]:
    yield from _joined_by(stage, 0, invisible_s=10, ack=False)


def _joined_by(stage: Stage, needs_ms: int, **how: Any) -> Iterator[None]:
    """The one before stays: when a client leaves, what it had in flight comes back, and is not counted."""
    part = stage.group()
    stage.join(part, "good", kind="simple", sleep_ms=needs_ms)
    yield
    stage.join(part, "bad", kind="simple", **how)
    yield


def revive_stuck(stage: Stage) -> Iterator[None]:
    part = stage.group(every_ms=100)  # a broker at work has this and more: 256 records prove that none is read
    stage.join(part, "java", kind="simple", invisible_s=10, ack=False)
    broker = stage.cluster.brokers[B]
    yield
    asking.configure(broker.address, reviveInterval=UNUSUAL_MS)
    yield
    asking.configure(broker.address, reviveInterval=1_000)
    broker.kill()  # it sleeps for the interval that it had
    broker.start()
    stage.cluster.wait_for_broker(B)


def offsets_back(stage: Stage) -> Iterator[None]:
    """A broker comes back with an older file of offsets, as a slave has it that becomes the master."""
    part = stage.group("g", {A: 1}, fifo=True, every_ms=1_000)
    stage.join(part, "java", proxy="proxy-a", sleep_ms=500)  # so what is to be consumed again takes minutes
    files, broker = stage.cluster.offset_files(A), stage.cluster.brokers[A]
    time.sleep(FLUSHED_S)
    saved = files[0].read_bytes()
    time.sleep(OLDER_S)
    yield
    broker.kill()
    for file in files:
        file.write_bytes(saved)
    broker.start()
    stage.cluster.wait_for_broker(A)
    yield


def restarts(stage: Stage, *, times: int) -> Iterator[None]:
    """Nothing goes wrong: proxies are killed, or stopped, and started again, one after the other."""
    push, simple = stage.group("push"), stage.group("simple")
    for number, proxy in enumerate(stage.cluster.proxies):
        stage.join(push, f"java{number}", proxy=proxy)
        stage.join(simple, f"java{number}", proxy=proxy, kind="simple")
    yield
    for number in range(times):
        proxy = tuple(stage.cluster.proxies)[number // 2 % len(stage.cluster.proxies)]
        stage.restart(proxy, cleanly=bool(number % 2))
        push.note(f"{proxy} {'stopped' if number % 2 else 'killed'} and started again")
        time.sleep(RESTS_S)
    yield


# --- what is to be found


class Trial(NamedTuple):
    """``kinds`` (): nobody is to be called. ``causes``: right ones; empty: any. ``within_s``: for how long to wait.

    ``is_alone``: it harms what other groups rest on.
    """

    play: Callable[[Stage], Iterator[None]]
    kinds: tuple[str, ...]
    causes: frozenset[str | None] = frozenset()
    within_s: float = 400
    is_alone: bool = False


TRIALS = {
    "refused": Trial(refused, ("UNPOLLED",), frozenset({"BROKER_REFUSES_GROUP"})),
    "lacking": Trial(lacking, ("UNPOLLED",), frozenset({"BROKER_REFUSES_GROUP"})),
    "cut": Trial(cut_off, ("UNPOLLED",), frozenset({"BROKER_NOT_REACHED"})),
    "silent": Trial(silent_since_restart, ("NO_MEMBERS", "UNPOLLED"), frozenset({None, "PROXY_AWAY"}), is_alone=True),
    "split": Trial(split, ("MEMBERS_SPLIT",)),
    "blocked": Trial(head_blocked, ("HEAD_BLOCKED",)),
    "short": Trial(too_short, ("CONSUMED_AGAIN",)),
    "unacked": Trial(never_acknowledged, ("CONSUMED_AGAIN",)),
    "back": Trial(offsets_back, ("OFFSETS_WENT_BACK",), is_alone=True),
    "revive": Trial(revive_stuck, ("REVIVE_STUCK",), is_alone=True),
    "restarts": Trial(restarts, (), is_alone=True),
}


def found_in(facts: Iterable[Fact], fault_ts: int) -> list[Found]:
    """Each alert once, when it fired first. Before the fault, seconds are negative."""
    first: dict[str, Found] = {}
    for fact, alert in transitions(facts):
        if alert.state == "firing":
            after_s = round((fact.ts - fault_ts) / 1000, 1)
            found = Found(alert.kind, alert.cause, fact.group, alert.severity, after_s)
            first.setdefault(alert.fingerprint, found)
    return list(first.values())


def judged(name: str, trial: Trial, found: Sequence[Found], paged: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """One line of the report. ``paged``: groups and kinds for which somebody was called."""
    right = [one for one in found if one.kind in trial.kinds and one.fired_s >= 0]
    first = min(right, key=lambda one: one.fired_s, default=None)
    others = sorted({f"{kind} {group}" for group, kind in paged if kind not in trial.kinds})
    early = sorted({f"{one.kind} {one.group}" for one in found if one.kind in trial.kinds and one.fired_s < 0})
    return {
        "fault": name,
        "expected": " or ".join(trial.kinds) or None,
        "fired_s": first and first.fired_s,
        "cause": first and first.cause,
        "is_right": not trial.kinds or (first is not None and (not trial.causes or first.cause in trial.causes)),
        "is_in_time": not trial.kinds or (first is not None and first.fired_s <= WITHIN_S),
        "other_pages": others,
        "before_the_fault": early,
        "all_found": [one._asdict() for one in found],
    }


# --- how a trial is played


def tried(cluster: ProxiedRocketMQ, name: str, trial: Trial, folder: Path, last: ExitStack) -> dict[str, Any]:
    folder.mkdir(parents=True)
    judging = Judging(folder, cluster.namesrv, include=(f"{folder.name}-*", REVIVE_GROUP))
    with ExitStack() as leaves:
        stage = Stage(cluster, folder.name, leaves, last)
        steps = trial.play(stage)
        next(steps)
        with judging.collecting:
            time.sleep(HEALTHY_S)
            fault_ts = now_ms()
            next(steps)
            done_ts = now_ms()
            while trial.kinds and now_ms() < done_ts + trial.within_s * 1000:
                if any(one.kind in trial.kinds and one.fired_s >= 0 for one in found_in(judging.facts(), fault_ts)):
                    break
                time.sleep(LOOK_S)
            next(steps, None)
        facts = judging.facts()
    pages = pages_of(facts) if facts else []
    paged = {(alert.group, alert.fact.kind) for page in pages for alert in page.alerts}
    return {**judged(name, trial, found_in(facts, fault_ts), paged), "fault_took_s": (done_ts - fault_ts) / 1000}


class Report:
    """Writes the lines of the trials as they end."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.is_well = True

    def add(self, line: Mapping[str, Any]) -> None:
        self.is_well &= line["is_right"] and not line.get("other_pages")
        written = json.dumps(line)
        print(written, flush=True)
        if self._file:
            with self._file.open("a") as file:
                file.write(written + "\n")


def played(
    cluster: ProxiedRocketMQ, trials: Mapping[str, Trial], rounds: int, beside: int, keep: Path
) -> Iterator[dict[str, Any]]:
    """The lines of all rounds of these trials, so many at a time."""

    def one(place: tuple[int, str]) -> dict[str, Any]:
        number, name = place
        try:
            return {"round": number, **tried(cluster, name, trials[name], keep / f"{name}{number}", last)}
        except (AssertionError, OSError) as failed:  # of the cluster, on a busy machine: the next may be played
            return {"round": number, "fault": name, "is_right": False, "failed": str(failed)}

    with ExitStack() as last, ThreadPoolExecutor(beside) as pool:
        yield from pool.map(one, product(range(rounds), trials))


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.real.pop_trials", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="of all trials")
    parser.add_argument("--beside", type=int, default=1, help="trials that are played at a time")
    parser.add_argument("--only", nargs="+", choices=TRIALS, default=list(TRIALS))
    parser.add_argument("--restarts", type=int, default=3, help="of proxies in a healthy trial")
    parser.add_argument("--report", type=Path, help="a file to which the lines are appended, too")
    parser.add_argument("--keep", type=Path, help="a folder for what the collector wrote: events, recordings and logs")
    options = parser.parse_args(words)
    trials = {name: TRIALS[name] for name in options.only}
    if "restarts" in trials:
        trials["restarts"] = trials["restarts"]._replace(play=partial(restarts, times=options.restarts))
    report = Report(options.report)
    with tempfile.TemporaryDirectory(prefix="evenkeel-pop-") as scratch, ProxiedRocketMQ(BROKERS) as cluster:
        alone = {name: trial for name, trial in trials.items() if trial.is_alone}
        others = {name: trial for name, trial in trials.items() if not trial.is_alone}
        keep = options.keep or Path(scratch)
        for line in played(cluster, others, options.rounds, options.beside, keep):
            report.add(line)
        for line in played(cluster, alone, options.rounds, 1, keep):
            report.add(line)
    return 0 if report.is_well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
