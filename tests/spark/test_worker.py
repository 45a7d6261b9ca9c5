"""What a task leaves behind in Spark's Python worker."""

import gc
import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from zipfile import ZipFile
from zipimport import zipimporter

import pytest

from streaming.spark.worker import undisturbed


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


def test_the_next_task_finds_no_archive_whose_directory_it_would_read_again(archive: str) -> None:
    with undisturbed():
        import_module("shipped_first")
        assert isinstance(sys.path_importer_cache[archive], zipimporter)
    assert not any(isinstance(finder, zipimporter) for finder in sys.path_importer_cache.values())
    invalidate_caches()
    assert import_module("shipped_second").NUMBER == 2, "what is in the archive can still be imported"


def test_the_collector_rests_during_the_work_alone(archive: str) -> None:
    with undisturbed():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_was_there_after_the_first_task_is_not_searched_again(archive: str) -> None:
    with undisturbed():
        pass
    frozen = gc.get_freeze_count()
    assert frozen > 1_000
    with undisturbed():
        pass
    assert gc.get_freeze_count() == frozen
