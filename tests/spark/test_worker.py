"""What a task leaves behind in Spark's Python worker."""

import gc
import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from zipfile import ZipFile
from zipimport import zipimporter

import pytest

from streaming.spark import worker_tuning
from streaming.spark.worker_tuning import tune_worker


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
    worker_tuning._freeze_modules.cache_clear()  # it is another process to the next test


def test_the_next_task_finds_no_archive_whose_directory_it_would_read_again(archive: str) -> None:
    import_module("shipped_first")
    assert isinstance(sys.path_importer_cache[archive], zipimporter)
    tune_worker()
    assert not any(isinstance(finder, zipimporter) for finder in sys.path_importer_cache.values())
    invalidate_caches()
    assert import_module("shipped_second").NUMBER == 2, "what is in the archive can still be imported"


def test_nothing_is_searched_for_garbage_but_what_tasks_make_and_that_between_them(archive: str) -> None:
    tune_worker()
    frozen = gc.get_freeze_count()
    assert not gc.isenabled()
    assert frozen > 1_000
    made = [[] for _ in range(1_000)]
    made[0].append(made)
    tune_worker()
    assert gc.get_freeze_count() == frozen, "what a task makes is not kept for ever"
    del made
    assert gc.collect() >= 1_000
