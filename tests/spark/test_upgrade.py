"""The job and the notifier of an older release go on: with their checkpoint, tables and state, from where they were."""

import json
import shutil
from collections import Counter
from pathlib import Path
from threading import Event, Thread

import pytest
from deltalake import DeltaTable
from kafka import KafkaProducer

from schemas.facts import AlertFact
from streaming.config.alerts import Alerts
from streaming.config.sections import Source
from streaming.notifier.exposed import NotifierCounts
from streaming.notifier.monitor_health import monitor_limits
from streaming.notifier.pages import page_settings
from streaming.notifier.sink_view import Route
from streaming.notifier.state_files import SinkState, load
from streaming.notifier.threads import Destination, NotifierSettings, SettingsInForce, deliver
from streaming.projections.projector import run_projections
from streaming.spark.facts import FactsTable
from streaming.spark.reseed import reseed
from testing.waiting import until
from tests.releases.kept import RELEASES
from tests.spark.pipeline import Pipeline

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(600)]
PATIENCE_S = 120  # with a busy machine
SINK = Path("notifier", "sinks", "log.json")
AT_ONCE = page_settings(Alerts().pages)._replace(wait_ms=0)
PATIENT = monitor_limits(Alerts().monitor)._replace(blind_ms=3_600_000, late_ms=3_600_000)


class Told:
    """A sink that keeps what it is sent. It has the name of the release's own one, and so its state."""

    name, resend_ms, most_bytes = "log", None, None

    def __init__(self):
        self.notices = []

    def send(self, message):
        self.notices.append((message.notice.key, message.notice.status))


each_release = pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.version, indirect=True)


@pytest.fixture
def release(request):
    return request.param


@pytest.fixture(scope="module")
def filled(kafka):
    """Kafka with the topics of all releases. Their checkpoints name them, so the tests share them."""
    for release in RELEASES:
        fill(kafka, release)
    return kafka


@pytest.fixture
def pipeline(spark, filled, release, tmp_path):
    """The release's job, and all its events in its topic."""
    source = Source(topic=release.topic, bootstrap_servers=filled.bootstrap_servers)
    return Pipeline(spark, release.unpack_job(tmp_path), source)


def fill(kafka, release):
    kafka.create_topic(release.topic)
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, acks="all")
    for key, value in release.keyed_events():
        producer.send(release.topic, value, key)
    producer.close()


@each_release
def test_nothing_is_lost_and_no_page_is_repeated(release, pipeline):
    before = pipeline.facts()
    pages = load(pipeline.folder / SINK, SinkState).pages
    assert any(alert.is_firing for page in pages.values() for alert in page.alerts)
    assert notices(pipeline, lambda told: True) == Counter(), "a page is sent again though nothing has changed"

    pipeline.run()
    after = pipeline.facts()
    known = Counter(map(repr, before))
    assert known - Counter(map(repr, after)) == Counter(), "a fact of the older release has changed"
    for group, numbers in numbers_of(after).items():
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), group
    kinds = {fact.payload.fact for fact in after if repr(fact) not in known}
    assert kinds & {"quarantine", "evaluation_failed", "events_lost"} == set()
    assert FactsTable(pipeline.spark, pipeline.plan().tables).notes()[0].offsets == {
        release.topic: {"0": release.records}
    }

    run_projections(str(pipeline.folder / "tables"))
    alerts = states_of(after)
    rows = DeltaTable(pipeline.folder / "tables" / "alerts").to_pyarrow_table().to_pylist()
    assert alerts == {row["fingerprint"]: row["state"] for row in sorted(rows, key=lambda row: row["seq"])}

    ended = ends_of(pages, alerts)
    assert ended
    told = notices(pipeline, lambda told: ended <= set(told))
    assert {one for one in told if one[0] in pages} == ended
    assert {status for key, status in told if key not in pages} == {"firing"}, "what began after the upgrade"
    assert set(told.values()) == {1}


@pytest.mark.deep("a checkpoint is made again from a release's tables")
@pytest.mark.parametrize("release", RELEASES[:1], ids=lambda release: release.version, indirect=True)
def test_its_lost_checkpoint_is_made_again_from_its_tables(release, pipeline):
    before, pages = pipeline.facts(), load(pipeline.folder / SINK, SinkState).pages
    shutil.rmtree(pipeline.checkpoint)
    again = {"checkpoint": str(pipeline.folder / "again")}
    made = reseed(pipeline.spark, pipeline.plan(**again))
    assert made.starting_offsets == json.dumps({release.topic: {"0": release.read}}, separators=(",", ":"))
    assert notices(pipeline, lambda told: True) == Counter()
    pipeline.run(**again)
    for group, numbers in numbers_of(pipeline.facts()).items():
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), group
    alerts, opened = states_of(pipeline.facts()), states_of(before)
    assert {alerts[name] for name in opened if opened[name] == "firing"} <= {"firing", "resolved"}
    ended = ends_of(pages, alerts)
    assert ended, "some have ended; of others the evidence comes after five minutes, and the events are over by then"
    told = notices(pipeline, lambda told: ended <= set(told))
    assert {one: count for one, count in told.items() if one[0] in pages} == dict.fromkeys(ended, 1)


def ends_of(pages, alerts):
    """The notices of pages whose alerts are all resolved."""
    return {
        (key, "resolved")
        for key, page in pages.items()
        if page.alerts and {alerts[alert.fact.fingerprint] for alert in page.alerts} == {"resolved"}
    }


def states_of(facts):
    return {fact.payload.fingerprint: fact.payload.state for fact in facts if isinstance(fact.payload, AlertFact)}


def numbers_of(facts):
    """The ``seq`` of all facts of each group, in order."""
    numbers = {}
    for fact in facts:
        if fact.payload.fact != "health":
            numbers.setdefault(fact.group, []).append(fact.seq)
    return {group: sorted(found) for group, found in numbers.items()}


def notices(pipeline, are_all):
    """What the notifier sends, also in some turns after these are all that must come, by the clock of the events."""
    sink, stop, counts, turns = Told(), Event(), NotifierCounts(), []
    now = max(fact.ts for fact in pipeline.facts()) + 1_000
    settings = NotifierSettings(
        tables=str(pipeline.folder / "tables"),
        state=pipeline.folder / "notifier",
        destinations=[Destination(sink, "en")],
        routes=(Route(("log",)),),
        page_settings=AT_ONCE,
        limits=PATIENT,
        poll_s=0.01,
        now_ms=lambda: turns.append(now) or now,
    )
    thread = Thread(target=deliver, args=(SettingsInForce(settings), stop, counts))
    thread.start()
    try:
        until(lambda: counts.status is not None and counts.status.read_ts and are_all(sink.notices), PATIENCE_S)
        enough = len(turns) + 50
        until(lambda: len(turns) > enough, PATIENCE_S)
    finally:
        stop.set()
        thread.join()
    return Counter(sink.notices)
