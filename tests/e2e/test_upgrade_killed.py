"""An upgrade that is killed at any moment: the tables are brought up to date, the first batches are read, pages go on.

Each copy of what an older release left is killed twice (SIGKILL to everything) and goes on. At the end it has the
facts, the rows and the open pages of a copy that was never disturbed. ``EVENKEEL_UPGRADE_KILLS`` asks for more kills,
``EVENKEEL_SEED`` for those of an earlier run.
"""

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from deltalake import DeltaTable
from kafka import KafkaProducer

from streaming import __version__
from streaming.loopback import LoopbackKafka
from streaming.notifier.state_files import POSITION, Position, SinkState, load
from streaming.wall_clock import now_ms
from testing import tables
from testing.hook import RULES
from testing.http_server import Server
from testing.job import PATIENCE_S, Job
from testing.waiting import until
from tests.releases.kept import RELEASES, Release, newest_ts

KILLS = int(os.environ.get("EVENKEEL_UPGRADE_KILLS", "2"))
SEED = int(os.environ.get("EVENKEEL_SEED", time.time_ns() % 1_000_000))
SMALL_BATCHES = {"source": {"max_offsets_per_trigger": 20}}
LARGE_BATCHES = {"source": {"max_offsets_per_trigger": 20_000}}
KILLS_A_COPY = 2
SETTLED_S = 4
STATE = Path("notifier", "sinks", "log.json")  # the release's sink had this name
# evenkeel with a clock that shows the time of the release: what ended a day ago is forgotten.
AT_THE_TIME = """
import sys
from streaming import wall_clock
real, ago = wall_clock.now_ms, {ago}
wall_clock.now_ms = lambda: real() - ago
from streaming.cli import main
sys.exit(main())
"""

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.deep("a job of its own, killed or running for minutes"),
    pytest.mark.timeout(600 + 180 * KILLS),
]


class Moment(NamedTuple):
    """Some time, at most ``within_s``, after ``reached`` gives another answer than at the start of this life."""

    name: str
    reached: Callable[[Job], object]
    within_s: float


UPGRADING = (
    Moment("while starting", lambda job: time.monotonic(), 12),
    Moment("while a table is changed", lambda job: commits(job) > 0 and commits(job), 0.5),
)
READING = (
    Moment("in the first batch", lambda job: job.batches().begun, 1),
    Moment("after a batch", lambda job: job.batches().done, 3),
)


def commits(job: Job) -> int:
    return sum(1 for _ in job.tables.glob("[!f]*/_delta_log/*.json"))


class Upgraded(NamedTuple):
    """A copy of what the release left, with the job of today, and the receiver of its pages."""

    job: Job
    hook: Server

    def start(self, ago: int) -> None:
        self.job.start([sys.executable, "-c", AT_THE_TIME.format(ago=ago)])


class Story(NamedTuple):
    """How pages went: those that were open at the upgrade and ended since, and what is open at the end."""

    ended: Counter[str]
    open: dict[str, list[str]]


@pytest.fixture(params=[one for one in RELEASES if one.version != __version__], ids=lambda release: release.version)
def release(request: pytest.FixtureRequest, kafka: LoopbackKafka) -> Release:
    one: Release = request.param
    kafka.create_topic(one.topic)
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, acks="all")
    for key, value in one.keyed_events():
        producer.send(one.topic, value, key)
    producer.close()
    return one


@pytest.fixture
def copy_of(release: Release, kafka: LoopbackKafka, tmp_path: Path) -> Iterator[Callable[[str], Upgraded]]:
    made: list[Upgraded] = []

    def copy_of(name: str) -> Upgraded:
        folder, hook = release.unpack_job(tmp_path / name), Server()
        rules = RULES.format(blind_s=3600, late_s=3600, url=hook.url).replace('name = "hook"', 'name = "log"')
        (folder / "alerts.toml").write_text(rules)
        notify = {"state": str(folder / "notifier"), "alerts": str(folder / "alerts.toml")}
        values: dict[str, Any] = {"notify": notify, "job": {"maintenance": False}}
        made.append(Upgraded(Job(folder, kafka.bootstrap_servers, release.topic, values), hook))
        return made[-1]

    yield copy_of
    for one in made:
        one.job.close()
        one.hook.__exit__()


def test_an_upgrade_that_is_killed_loses_and_repeats_nothing(
    release: Release, copy_of: Callable[[str], Upgraded]
) -> None:
    print(f"EVENKEEL_SEED={SEED}")
    chance = random.Random(SEED)
    ago = now_ms() - newest_ts(release.events()[-1]) - 1_000
    undisturbed = copy_of("undisturbed")
    finish(undisturbed, ago, release)
    expected = story_of(undisturbed)
    assert expected.ended, "no page of the release has ended"
    for number in range(KILLS // KILLS_A_COPY):
        one = copy_of(f"killed-{number}")
        one.job.configure(SMALL_BATCHES)
        for moments in (UPGRADING, READING):
            moment = moments[(number + SEED) % len(moments)]
            live_and_die(one, ago, moment, chance.uniform(0, moment.within_s))
        finish(one, ago, release)
        assert_same_tables(one.job, undisturbed.job)
        assert_pages(one, expected)


def finish(one: Upgraded, ago: int, release: Release) -> None:
    """Read everything, send every page, and stop."""
    one.job.configure(LARGE_BATCHES)
    one.start(ago)
    one.job.catch_up({"0": release.records})
    version = DeltaTable(one.job.tables / "facts").version()
    quiet_since, sent = time.monotonic(), -1

    def is_quiet() -> bool:
        nonlocal quiet_since, sent
        read = load(one.job.folder / "notifier" / POSITION, Position).version or 0
        if len(one.hook.taken) != sent or read < version:
            quiet_since, sent = time.monotonic(), len(one.hook.taken)
        return time.monotonic() - quiet_since > SETTLED_S

    until(is_quiet, PATIENCE_S, "all pages were sent")
    assert one.job.stop()[0] == 0, one.job.last_words()


def story_of(one: Upgraded) -> Story:
    ended = Counter(got.json["key"] for got in one.hook.taken if got.json["status"] == "resolved")
    left = load(one.job.folder / STATE, SinkState).pages
    return Story(ended, {key: sorted(alert.fact.fingerprint for alert in page.alerts) for key, page in left.items()})


def live_and_die(one: Upgraded, ago: int, moment: Moment, delay_s: float) -> None:
    job = one.job
    began, batches = moment.reached(job), job.batches()
    one.start(ago)
    job.wait_until(lambda: moment.reached(job) != began, f"it was {moment.name}")
    time.sleep(delay_s)
    assert job.is_running(), job.last_words()
    job.kill()
    print(f"{moment.name} + {delay_s:.2f} s: batches {batches} to {job.batches()}", flush=True)


def assert_same_tables(job: Job, undisturbed: Job) -> None:
    found = {"facts": tables.differences(tables.facts(job.tables), tables.facts(undisturbed.tables))}
    for name in tables.COMPARED:
        ours, theirs = (tables.projection(one.tables, name) for one in (job, undisturbed))
        found[name] = tables.differences(ours, theirs)
    assert {name: different for name, different in found.items() if different} == {}


def assert_pages(one: Upgraded, expected: Story) -> None:
    """What ended, and what is open, is the same. Only a notice that was on its way at a kill may come again."""
    story = story_of(one)
    assert (set(story.ended), story.open) == (set(expected.ended), expected.open)
    sent = Counter((got.json["key"], got.json["status"], got.json["body"]) for got in one.hook.taken)
    again = sent.total() - len(sent)
    rows = tables.rows(one.job.tables, "notifications")
    print(f"{sent.total()} notices, {again} of them again; {len(rows)} rows", flush=True)
    assert again <= KILLS_A_COPY
    assert set(Counter((row["key"], row["status"], row["ts"]) for row in rows).values()) == {1}
