"""Tunes one of Spark's Python workers, from inside a task: the garbage collector and the import caches.

A worker serves one task after the other. Before each, ``pyspark.worker_util.setup_spark_files`` calls
``importlib.invalidate_caches``, and after each ``pyspark.daemon`` calls ``gc.collect``. Both took longer than the work.
"""

import gc
import sys
from functools import cache
from zipimport import zipimporter


def tune_worker() -> None:
    """Tune this worker. Every task calls it before its work; a second call costs nothing."""
    gc.disable()  # otherwise it searches thousands of groups again while they are decoded, and after each shard
    _freeze_modules()
    _drop_zip_importers()


@cache
def _freeze_modules() -> None:
    """Freeze the modules, once in a process: searching them after each task took 10 ms, as ``gc.get_freeze_count``
    does.
    """
    gc.freeze()


def _drop_zip_importers() -> None:
    """Drop importers of archives: Python would read them again in each task, 0.2 to 0.4 s for Spark's jar and
    pyspark.zip.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
