"""What older releases left behind is read by this version: packed states, events, configuration, the folders beside."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from schemas.facts import AlertFact, EvaluationFailedFact, QuarantineFact
from streaming import __version__
from streaming.collector.probing.memory import MemoryFile
from streaming.config.alerts import Alerts
from streaming.config.load import load_alerts, load_config
from streaming.config.sections import Config, Notify
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.state.packing import STATE_VERSION, pack, unpack
from streaming.notifier.pages import Page
from streaming.notifier.silence_files import SilenceFiles
from streaming.notifier.state_files import POSITION, Position, SinkState, load
from streaming.replay.core_engine import core_facts
from tests.core.packed_states import form_of, plain, read_kept
from tests.releases.kept import CLUSTER, RELEASES, Release

NOT_READ = "0.1.0"
CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
each_release = pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.version)


def test_every_release_before_this_one_has_its_files() -> None:
    """They are made at the release, by scripts/keep_release.py: later its code may no longer run."""
    released = set(re.findall(r"^## (\d\S+) \(\d{4}-\d\d-\d\d\)$", CHANGELOG.read_text("utf-8"), re.MULTILINE))
    assert len(released) >= 2
    kept = {release.version for release in RELEASES}
    assert released - {__version__, NOT_READ} <= kept <= released - {NOT_READ}


@each_release
def test_packed_states_hold_what_they_held(release: Release) -> None:
    _, states = read_kept(release.folder / "packed.jsonl")
    assert len(states) >= 10
    for kept in states:
        state = unpack(kept.packed)
        assert holds(plain(state), kept.holds), kept.name
        assert unpack(pack(state)) == state


def holds(state: Any, kept: Any) -> bool:
    if isinstance(kept, dict):
        return all(name in state and holds(state[name], value) for name, value in kept.items())
    if isinstance(kept, list):
        return len(state) == len(kept) and all(holds(*pair) for pair in zip(state, kept, strict=True))
    return bool(state == kept)


@each_release
def test_packed_form_has_only_grown_at_its_ends(release: Release) -> None:
    """As long as the version of the state is the same: what was added since the version began is in no other file."""
    form, (first, *_) = read_kept(release.folder / "packed.jsonl")
    if first.packed[0] == STATE_VERSION:
        now = form_of()
        assert {name: now.get(name, [])[: len(fields)] for name, fields in form.items()} == form


@pytest.mark.slow("tables of a release are brought up to date")
@each_release
def test_events_of_its_collector_are_read(release: Release) -> None:
    facts = core_facts(release.events(), DEFAULT_SETTINGS)
    refused = [fact for fact in facts if isinstance(fact.payload, QuarantineFact | EvaluationFailedFact)]
    assert refused == []
    assert len({fact.group for fact in facts}) == 5
    alerts = [fact.payload for fact in facts if isinstance(fact.payload, AlertFact)]
    assert {"firing", "resolved"} <= {alert.state for alert in alerts}


@each_release
def test_its_configuration_with_every_key_is_accepted(release: Release) -> None:
    """It has every key at its default. A default that is another one now stays as it was."""
    config = load_config(release.folder / "evenkeel.toml", {}, writes=())
    known = tomllib.loads((release.folder / "evenkeel.toml").read_text("utf-8"))
    now = Config()
    assert {key for key in known if getattr(config, key) != getattr(now, key)} == set()
    rules = config.model_copy(update={"notify": Notify(alerts=str(release.folder / "alerts.toml"))})
    assert load_alerts(rules, {}) == Alerts()


@pytest.mark.slow("tables of a release are brought up to date")
@each_release
def test_memory_and_notifiers_state_are_read(
    release: Release, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    job = release.unpack_job(tmp_path)
    memory = MemoryFile(job / "collector", CLUSTER).load()
    assert memory is not None
    assert set(memory.groups) == {"g"}
    assert [silence.group for silence in SilenceFiles(job / "notifier").all()] == ["retired-*"]
    position = load(job / "notifier" / POSITION, Position)
    assert (position.table_id is None, position.version is None) == (False, False)
    (sink,) = (job / "notifier" / "sinks").iterdir()
    pages = load(sink, SinkState).pages
    assert all(isinstance(page, Page) for page in pages.values())
    assert pages
    assert caplog.records == []
