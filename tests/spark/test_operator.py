"""What the state store keeps of a shard, what older checkpoints hold, and what a task leaves behind in the worker."""

import gc
import sys
from collections.abc import Callable, Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from zipfile import ZipFile
from zipimport import zipimporter

import msgspec
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import Record, fold
from streaming.errors import StateVersionError
from streaming.spark import operator
from streaming.spark.operator import blob_of, shard_operator, stored, tune_worker
from tests.spark.pipeline import fleet, lines_of


class FakeState:
    """Spark's, of one key: what was stored last."""

    def __init__(self, kept: bytes | None = None) -> None:
        self.kept = kept

    @property
    def exists(self) -> bool:
        return self.kept is not None

    @property
    def get(self) -> tuple[bytes | None]:
        return (self.kept,)

    def update(self, row: tuple[bytes]) -> None:
        (self.kept,) = row


@pytest.fixture(scope="module")
def records() -> list[Record]:
    lines = lines_of(fleet().events)
    return [Record(None, line, len(line), None, None, "f", 0, n) for n, line in enumerate(lines)]


def operated(state: FakeState, records: list[Record]) -> list[list[object]]:
    """The rows that one call gives."""
    frame = pd.DataFrame(records, columns=Record._fields).assign(shard=0)
    return [
        list(row)
        for out in shard_operator(DEFAULT_SETTINGS)(None, [frame], state)
        for row in out.itertuples(index=False)
    ]


@given(st.dictionaries(st.text(), st.binary(max_size=2_000)))
def test_a_blob_comes_back_as_it_was(groups: dict[str, bytes]) -> None:
    blob = msgspec.msgpack.encode(groups)
    assert blob_of(stored(blob)) == blob
    assert blob_of(bytearray(stored(blob))) == blob, "Spark gives a bytearray"


@pytest.mark.parametrize(
    "damaged",
    [
        lambda kept: kept[:-5],
        lambda kept: kept[:12],
        lambda kept: (10**12).to_bytes(8, "big") + kept[8:],
        lambda kept: (5).to_bytes(8, "big") + kept[8:],
    ],
    ids=["its end is missing", "only its beginning is there", "a size that is too large", "a size that is too small"],
)
def test_damaged_state_is_refused(damaged: Callable[[bytes], bytes]) -> None:
    with pytest.raises(StateVersionError, match=r"state that is damaged \(.+\): run 'evenkeel reseed'"):
        blob_of(damaged(stored(b"group" * 1_000)))


def test_it_takes_less(records: list[Record]) -> None:
    blob = fold(None, records, DEFAULT_SETTINGS).blob
    assert len(stored(blob)) < 0.6 * len(blob)


def test_state_that_is_not_compressed_goes_on(records: list[Record]) -> None:
    """Checkpoints from before hold such."""
    half = len(records) // 2
    old, new = FakeState(fold(None, records[:half], DEFAULT_SETTINGS).blob), FakeState()
    operated(new, records[:half])
    assert old.kept != new.kept
    facts = operated(old, records[half:])[:-1]
    assert facts == operated(new, records[half:])[:-1]
    assert facts
    assert old.kept == new.kept
    assert blob_of(new.kept or b"") == fold(None, records, DEFAULT_SETTINGS).blob


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """On the path, as Spark puts its own jar, ``pyspark.zip`` and what it ships there."""
    path = str(tmp_path / "shipped.zip")
    with ZipFile(path, "w") as zipped:
        zipped.writestr("shipped_first.py", "NUMBER = 1")
        zipped.writestr("shipped_second.py", "NUMBER = 2")
    monkeypatch.syspath_prepend(path)
    yield path
    for name in ("shipped_first", "shipped_second"):
        sys.modules.pop(name, None)
    sys.path_importer_cache.pop(path, None)
    gc.unfreeze()
    gc.enable()
    operator._freeze_modules.cache_clear()  # it is another process to the next test


def test_the_next_task_finds_no_archive_whose_directory_it_would_read_again(archive: str) -> None:
    import_module("shipped_first")
    assert isinstance(sys.path_importer_cache[archive], zipimporter)
    tune_worker()
    assert not any(isinstance(finder, zipimporter) for finder in sys.path_importer_cache.values())
    invalidate_caches()
    assert import_module("shipped_second").NUMBER == 2, "what is in the archive can still be imported"


@pytest.mark.slow("a tenth of a second of work and more")
def test_nothing_is_searched_for_garbage_but_what_tasks_make_and_that_between_them(archive: str) -> None:
    tune_worker()
    frozen = gc.get_freeze_count()
    assert not gc.isenabled()
    assert frozen > 1_000
    made = [[] for _ in range(1_000)]
    made[0].append(made)
    tune_worker()
    assert gc.get_freeze_count() < frozen + 1_000, "what a task makes is not kept for ever"
    del made
    assert gc.collect() >= 1_000
