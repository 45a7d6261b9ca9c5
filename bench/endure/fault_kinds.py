"""The faults. When a function returns, everything that it stopped, cut or filled is back.

It returns what was wrong meanwhile, beside what is counted of every fault.
"""

import random
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import Event, Thread

import pyarrow.compute as pc
from deltalake import DeltaTable

from bench.endure.brokers import BROKERS, LATE_S, LOST
from bench.endure.disks import fill, free, may_mount
from bench.endure.fault_stage import COLLECT, DISKS, RUN, UNAVAILABLE, WEB, Stage
from schemas.facts import Fact, MemberFact
from streaming.wall_clock import now_ms
from testing.damage import cut
from testing.written import commit

HOUR_S, FIVE_MIN_S = 3600, 300
NOTICED_WITHIN_S = 600  # Spark starts before it reads the checkpoint
DAY_MS, OLDER_DAYS = 86_400_000, 31  # facts are kept for 30 days
OLD_FACTS, OLD = 1_000, MemberFact(client_id="10.9.9.9@1", present=False, since_ts=0)
READ_EVERY_S = 0.2
Wrong = list[str]
Fault = Callable[[Stage, float], Wrong]


# --- programs that are killed


def _killed(name: str, stage: Stage, _: float) -> Wrong:
    stage.services[name].program.kill()
    return []


def _job_killed_alone(stage: Stage, _: float) -> Wrong:
    """Its Java and its projections end by themselves."""
    stage.services[RUN].program.kill_alone()
    return []


def _notifier_killed(stage: Stage, _: float) -> Wrong:
    """Whichever program delivers; the notifier of the other one takes over."""
    stage.services[stage.delivers()].program.kill()
    return []


def _projections_killed(stage: Stage, _: float) -> Wrong:
    stage.projections().kill()
    return []


# --- what is away


def _kafka_away(stage: Stage, away_s: float) -> Wrong:
    stage.kafka.stop()
    stage.pause(away_s)
    stage.kafka.start()
    return []


def _broker_away(stage: Stage, away_s: float) -> Wrong:
    name = random.choice(BROKERS)
    stage.brokers.do("broker_away", name)
    stage.pause(away_s)
    stage.brokers.do("broker_back", name)
    return []


def _name_servers_away(stage: Stage, away_s: float) -> Wrong:
    stage.brokers.do("name_servers_away")
    stage.pause(away_s)
    stage.brokers.do("name_servers_back")
    return []


def _webhook_away(stage: Stage, away_s: float) -> Wrong:
    """It refuses connections for half of the time, and answers 503 for the other half."""
    stage.hook.stop()
    stage.pause(away_s / 2)
    stage.hook.start()
    stage.hook.answer(UNAVAILABLE)
    stage.pause(away_s / 2)
    stage.hook.answer(200)
    return []


def _disk_full(name: str, stage: Stage, away_s: float) -> Wrong:
    fill(stage.folder / name)
    stage.pause(away_s)
    free(stage.folder / name)
    return []


# --- answers and clocks that are wrong


def _requests_lost(stage: Stage, away_s: float) -> Wrong:
    stage.brokers.do("lose_requests", LOST)
    stage.pause(away_s)
    stage.brokers.do("lose_requests", 0.0)
    return []


def _answers_late(stage: Stage, away_s: float) -> Wrong:
    stage.brokers.do("answer_late", LATE_S)
    stage.pause(away_s)
    stage.brokers.do("answer_late", 0.0)
    return []


def _clock_wrong(ahead_s: int, stage: Stage, away_s: float) -> Wrong:
    """The clock of the collector's machine is set, and set right again."""
    stage.set_clock(ahead_s)
    stage.pause(away_s)
    stage.set_clock(0)
    return []


# --- files that are damaged, as after a failure of the machine


def _damaged(find: Callable[[Stage], Path], name: Callable[[Stage], str], stage: Stage, _: float) -> Wrong:
    """The newest file loses its second half while the program is down."""
    stage.services[name(stage)].program.kill()
    cut(find(stage))
    return []


def _newest_offsets(stage: Stage) -> Path:
    return _newest(stage.checkpoint, "offsets/[0-9]*")


def _committed_changelog(stage: Stage) -> Path:
    """The changelog that the next batch begins with. One of a batch that was not committed is written once more.

    If there is a snapshot of that version already, it is the snapshot: Spark reads it instead of the changelog.
    """
    batch = max(int(file.name) for file in (stage.checkpoint / "commits").glob("[0-9]*"))
    changelog = _newest(stage.checkpoint, f"state/0/*/{batch + 1}.changelog")
    snapshot = changelog.with_suffix(".zip")
    return snapshot if snapshot.exists() else changelog


def _newest_facts(stage: Stage) -> Path:
    return _newest(stage.tables / "facts" / "_delta_log", "[0-9]*.json")


def _needs_reseed(find: Callable[[Stage], Path], stage: Stage, _: float) -> Wrong:
    """The job says so, as often as it starts, until a person makes a new checkpoint."""
    job = stage.services[RUN]
    job.program.kill()
    file = find(stage)
    cut(file)
    job.start()
    if not stage.is_reached(lambda: job.program.status is not None, NOTICED_WITHIN_S):
        return [f"that {file.relative_to(stage.folder)} is damaged is not noticed"]
    said, status = job.program.last_words(), job.program.status
    stage.reseed()
    job.start()
    return [] if "reseed" in said else [f"status {status}, and no word of what to do: {said[-500:]}"]


def _silence_damaged(stage: Stage, _: float) -> Wrong:
    """A silence of a group that is not there."""
    text = f'{{"id": "none", "group": "none-*", "from_ts": {now_ms()}, "until_ts": {now_ms() + 60_000}}}'
    file = stage.state / "notifier" / "silences" / "damaged.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    cut(file)
    return []


def _old_facts_deleted(stage: Stage, _: float) -> Wrong:
    """Maintenance drops facts that are older than they are kept, while a reader reads them."""
    path = stage.tables / "facts"
    old_ts = now_ms() - OLDER_DAYS * DAY_MS
    commit(path, [Fact(n, "old", "old", None, old_ts + n, OLD) for n in range(OLD_FACTS)])
    reader = _Reader(DeltaTable(str(path)))
    try:
        stage.command("maintain")
    finally:
        reader.end()
    left = _count_old(DeltaTable(str(path)))
    return [*reader.wrong, *([f"{left} old facts are left"] if left else [])]


class _Reader:
    """Reads a snapshot again and again, in a thread, until ``end``. ``wrong``: what was not there."""

    def __init__(self, snapshot: DeltaTable) -> None:
        self.wrong: Wrong = []
        self._snapshot, self._stop = snapshot, Event()
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._stop.set()
        self._thread.join()

    def _read(self) -> None:
        is_over = False
        while not is_over and not self.wrong:
            is_over = self._stop.wait(READ_EVERY_S)  # once more after the end
            try:
                found = _count_old(self._snapshot)
            except Exception as error:
                self.wrong.append(f"a reader of old facts failed: {error}")
            else:
                self.wrong += [f"a reader found {found} old facts of {OLD_FACTS}"] if found != OLD_FACTS else []


def _count_old(snapshot: DeltaTable) -> int:
    rows = snapshot.to_pyarrow_dataset().to_table(columns=["seq"], filter=pc.field("cluster") == "old")
    return int(rows.num_rows)


def _newest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=lambda file: file.stat().st_mtime_ns)


def _always(name: str) -> Callable[[Stage], str]:
    return lambda _: name


RESEEDED: Mapping[str, Fault] = {
    "damaged offsets of a batch": partial(_needs_reseed, _newest_offsets),
    "damaged changelog": partial(_needs_reseed, _committed_changelog),
    "damaged log of facts": partial(_needs_reseed, _newest_facts),
}
CLOCKS: Mapping[str, Fault] = {
    "clock an hour ahead": partial(_clock_wrong, HOUR_S),
    "clock an hour behind": partial(_clock_wrong, -HOUR_S),
    "clock 5 min ahead": partial(_clock_wrong, FIVE_MIN_S),
    "clock 5 min behind": partial(_clock_wrong, -FIVE_MIN_S),
}
FAULTS: Mapping[str, Fault] = {
    "kill -9 of collect": partial(_killed, COLLECT),
    "kill -9 of run": partial(_killed, RUN),
    "kill -9 of run without its Java": _job_killed_alone,
    "kill -9 of web": partial(_killed, WEB),
    "kill -9 of the projections": _projections_killed,
    "kill -9 of the notifier": _notifier_killed,
    "Kafka away": _kafka_away,
    "a broker away": _broker_away,
    "all name servers away": _name_servers_away,
    "the webhook away": _webhook_away,
    **{f"disk of {name} full": partial(_disk_full, name) for name in DISKS},
    **CLOCKS,
    "a tenth of the requests lost": _requests_lost,
    "half of the clients answer 9 s late": _answers_late,
    "old facts deleted during reads": _old_facts_deleted,
    "damaged silence": _silence_damaged,
    "damaged position of the notifier": partial(
        _damaged, lambda stage: stage.state / "notifier" / "position.json", Stage.delivers
    ),
    "damaged state of a sink": partial(
        _damaged, lambda stage: _newest(stage.state / "notifier" / "sinks", "*.json"), Stage.delivers
    ),
    "damaged state of collect": partial(
        _damaged, lambda stage: _newest(stage.state / "collector", "*.json"), _always(COLLECT)
    ),
    **RESEEDED,
    "damaged position of the projections": partial(
        _damaged, lambda stage: _newest(stage.tables / "_checkpoints" / "projections", "*.json"), _always(RUN)
    ),
}


def playable() -> list[str]:
    """The names of the faults that can be played here: a full disk takes file systems of its own."""
    return [name for name in FAULTS if may_mount() or not name.startswith("disk of ")]
