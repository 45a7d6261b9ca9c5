"""Files for this process's user alone, which no symbolic link leads elsewhere."""

import gzip
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streaming.collector.output.json_lines import LinesFile
from streaming.collector.probing.memory import Memory, MemoryFile
from streaming.errors import CollectorError, SetupError
from streaming.file_lock import held
from streaming.notifier.notifications_table import NotificationsTable
from streaming.notifier.silence_files import SilenceFiles
from streaming.notifier.silences import Silence
from streaming.notifier.state_files import POSITION, Position, load, locked_folder, save
from streaming.tables.storage import _replace
from tests.notifier.facts import NOW
from tests.notifier.test_notifications_table import outcome

SECRET = "what another program keeps"
SILENCE = Silence(id="a", group="g", from_ts=NOW, until_ts=NOW + 60_000, by="Ada", why="deploy")


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file elsewhere, to which a link in evenkeel's folder leads."""
    (tmp_path / "elsewhere").mkdir()
    file = tmp_path / "elsewhere" / "victim"
    file.write_text(SECRET)
    return file


def modes(folder: Path) -> dict[str, int]:
    found = [folder, *folder.rglob("*")]
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in found if path.name != "lock"}


def test_what_the_notifier_keeps_is_for_its_owner(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with locked_folder(state):
        save(state / POSITION, Position())
        save(state / "sinks" / "pager.json", Position())
        SilenceFiles(state).add(SILENCE)
        NotificationsTable(str(tmp_path / "tables"), state / "outcomes").add(outcome(1))
    assert {mode for name, mode in modes(state).items() if name.endswith((".json", ".jsonl"))} == {0o600}
    assert {modes(state)[name] for name in (".", "sinks", "silences", "outcomes")} == {0o700}


def test_silences_are_the_groups_where_the_owner_has_opened_the_folder_to_it(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o777)
    SilenceFiles(tmp_path / "state").add(SILENCE)
    assert modes(tmp_path / "state") == {".": 0o770, "silences": 0o770, "silences/a.json": 0o660}


@pytest.mark.parametrize("name", ["today.jsonl", "today.jsonl.gz"])
def test_what_the_collector_writes_is_for_its_owner(name: str, tmp_path: Path) -> None:
    file = LinesFile(tmp_path / "made" / name)
    file.record({"a": 1})  # type: ignore[arg-type]
    file.close()
    MemoryFile(tmp_path / "made" / "memory", "prod").save(Memory(NOW, {}))
    kept = {name: 0o600, "memory": 0o700, "memory/prod.json": 0o600}
    assert modes(tmp_path / "made") == {".": 0o700, **kept}


def test_file_that_was_opened_to_a_reader_stays_so(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").touch(0o644)
    LinesFile(tmp_path / "events.jsonl").close()
    assert modes(tmp_path)["events.jsonl"] == 0o644


WRITERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "state": ("position.new", lambda folder: save(folder / POSITION, Position())),
    "memory": ("prod.new", lambda folder: MemoryFile(folder, "prod").save(Memory(NOW, {}))),
    "position of the projections": (".position.json.new", lambda folder: _replace(folder / "position.json", "{}")),
}


@pytest.mark.parametrize("what", WRITERS)
def test_link_at_a_file_that_is_replaced_leads_nowhere(what: str, tmp_path: Path, victim: Path) -> None:
    name, write = WRITERS[what]
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / name).symlink_to(victim)
    write(tmp_path / "ours")
    assert victim.read_text() == SECRET


@pytest.mark.parametrize("name", ["today.jsonl", "today.jsonl.gz"])
def test_link_at_a_file_that_is_appended_to_is_refused(name: str, tmp_path: Path, victim: Path) -> None:
    if name.endswith(".gz"):
        victim.write_bytes(gzip.compress(b"{}\n")[:-4])  # an end that would be mended
    before = victim.read_bytes()
    (tmp_path / name).symlink_to(victim)
    with pytest.raises(CollectorError, match=f"{name}: cannot be written: a symbolic link"):
        LinesFile(tmp_path / name)
    assert victim.read_bytes() == before


def test_rows_of_notifications_follow_no_link(tmp_path: Path, victim: Path) -> None:
    table = NotificationsTable(str(tmp_path / "tables"), tmp_path / "outcomes")
    (tmp_path / "outcomes").symlink_to(victim.parent)
    table.add(outcome(1))
    assert [path.name for path in victim.parent.iterdir()] == ["victim"]


def test_lock_follows_no_link(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "lock").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic link"), held(tmp_path / "lock"):
        pass
    assert victim.read_text() == SECRET


def test_state_is_read_through_no_link_and_from_no_pipe(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    save(tmp_path / "other.json", Position("of another", 7))
    folder.mkdir()
    (folder / "linked.json").symlink_to(tmp_path / "other.json")
    os.mkfifo(folder / "pipe.json")
    for name in ("linked.json", "pipe.json"):
        assert load(folder / name, Position).table_id is None


def test_silences_are_read_and_written_through_no_link(tmp_path: Path, victim: Path) -> None:
    SilenceFiles(tmp_path / "other").add(SILENCE)
    state = tmp_path / "state"
    (state / "silences").mkdir(parents=True)
    (state / "silences" / "b.json").symlink_to(tmp_path / "other" / "silences" / "a.json")
    assert SilenceFiles(state).all() == []
    (state / "silences" / "b.json").unlink()
    (state / "silences").rmdir()
    (state / "silences").symlink_to(victim.parent)
    files = SilenceFiles(state)
    with pytest.raises(SetupError, match="a symbolic link"):
        files.add(SILENCE)
    files.all()
    assert files.failure is not None
    assert [path.name for path in victim.parent.iterdir()] == ["victim"]


def test_silence_is_named_by_its_file(tmp_path: Path) -> None:
    """A file that says another name, with dots and slashes, would be written there when it is ended."""
    state = tmp_path / "inner" / "state"
    save(state / "silences" / "abcdef.json", Silence(**{**_fields(SILENCE), "id": "../../x"}))
    files = SilenceFiles(state)
    assert [one.id for one in files.all()] == ["abcdef"]
    assert files.end("../../x", NOW + 1) is None
    assert files.end("abcdef", NOW + 1) is not None
    assert sorted(path.name for path in (tmp_path / "inner").rglob("*.json")) == ["abcdef.json"]


def _fields(silence: Silence) -> dict[str, object]:
    return {name: getattr(silence, name) for name in silence.__struct_fields__}
