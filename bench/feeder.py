"""A separate process that makes the fleet's events, so that its memory and time do not count as the job's."""

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain, islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from bench.child import Child
from bench.plain import read_lines
from bench.slower_rounds import slower
from streaming.collector.output.backlog import KafkaRecord
from streaming.feed.feeding import Clock, Fed, Feed
from streaming.feed.outputs import KafkaFeed
from streaming.simulation.load.fleet_spec import FleetSpec, templates_for
from streaming.simulation.load.generated_fleet import GeneratedFleet, generated_fleet
from streaming.simulation.load.generated_group import GroupRound
from streaming.simulation.load.segment import ROUND_MS

WRITE_BYTES = 1 << 20


def whole_rounds(fleet: GeneratedFleet, events: int) -> Iterator[GroupRound]:
    """The next ``events`` or some more: whole rounds of groups."""
    sent = 0
    while sent < events:
        group_round = next(fleet.rounds)
        yield group_round
        sent += len(group_round.events)


class Batch(NamedTuple):
    """A file of records in the format that ``plain.read_lines`` reads."""

    path: Path
    rounds: int
    records: int
    events: int


def send_files(paths: Iterable[Path], servers: str, topic: str) -> None:
    """Send the records of files to Kafka."""
    with closing(KafkaFeed(servers, topic, {})) as output:
        for path in paths:
            for key, value in read_lines(path):
                output.put([KafkaRecord(key, value, 1)])


class Feeder(Child):
    """The fleet behind a pipe. Every method waits for its answer, except ``begin_live``: ``end_live`` waits for it.

    ``round_s``: the interval between a group's rounds.
    """

    def __init__(self, spec: FleetSpec, folder: Path, start_ts: int, round_s: float = ROUND_MS / 1000) -> None:
        super().__init__(_serve, spec, folder, start_ts, round_s)

    def introduce(self, up_to: int) -> Batch:
        return self._ask("introduce", up_to)

    def backlog(self, rounds: int) -> Batch:
        return self._ask("backlog", rounds)

    def begin_live(self, seconds: float, bootstrap_servers: str, topic: str) -> None:
        """Send every round when it is due, from now on, for ``seconds``."""
        self._ours.send(("live", (seconds, bootstrap_servers, topic)))

    def end_live(self) -> Fed:
        return self._answer()

    def _ask(self, what: str, *arguments: object) -> Any:
        self._ours.send((what, arguments))
        return self._answer()

    def _answer(self) -> Any:
        try:
            answer = self._ours.recv()
        except EOFError:
            raise RuntimeError("the feeder died; its last words are on stderr") from None
        if isinstance(answer, Exception):
            raise answer
        return answer


class _Server:
    def __init__(self, spec: FleetSpec, folder: Path, start_ts: int, round_s: float) -> None:
        templates = [slower(template, round_s) for template in templates_for(spec)]
        self._fleet = generated_fleet(spec, templates, start_ts)
        self._folder = folder
        folder.mkdir(exist_ok=True)
        self._files = 0

    def introduce(self, up_to: int) -> Batch:
        return self._write(self._fleet.introduce(up_to))

    def backlog(self, rounds: int) -> Batch:
        return self._write(islice(self._fleet.rounds, rounds))

    def live(self, seconds: float, bootstrap_servers: str, topic: str) -> Fed:
        """Send rounds live. The next round is due now, regardless of its time."""
        rounds = self._fleet.rounds
        first = next(rounds)
        ahead_s = first.ts / 1000 - time.time()
        with closing(KafkaFeed(bootstrap_servers, topic, {})) as output:
            feed = Feed(output, clock=Clock(lambda: time.time() + ahead_s))
            return feed.paced(chain([first], rounds), first.ts + round(seconds * 1000))

    def _write(self, rounds: Iterable[GroupRound]) -> Batch:
        self._files += 1
        path = self._folder / f"events-{self._files:02d}.tsv"
        number = records = events = 0
        with path.open("wb", WRITE_BYTES) as lines:
            for group_round in rounds:
                number += 1
                some = group_round.records()
                lines.write(b"".join([b"%b\t%b\n" % record for record in some]))
                records += len(some)
                events += len(group_round.events)
        return Batch(path, number, records, events)


def _serve(pipe: Connection, spec: FleetSpec, folder: Path, start_ts: int, round_s: float) -> None:
    server = _Server(spec, folder, start_ts, round_s)
    while True:
        try:
            what, arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(getattr(server, what)(*arguments))
        except Exception as error:
            pipe.send(error)
