"""Habits of Spark's Python workers that took longer than the work itself, broken from inside a task.

A worker serves one task after the other. Before each, ``pyspark.worker_util.setup_spark_files`` calls
``importlib.invalidate_caches``, and after each ``pyspark.daemon`` calls ``gc.collect``.
"""

import gc
import sys
from zipimport import zipimporter


def break_habits() -> None:
    """To be called in every task, before its work; a second call costs nothing."""
    gc.disable()  # or thousands of groups are searched again and again while they are decoded, and after each shard
    if not gc.get_freeze_count():
        gc.freeze()  # all modules: to search them after each task took 10 ms
    _forget_archives()


def _forget_archives() -> None:
    """To invalidate what is remembered of an archive, Python reads its directory anew: that of Spark's own jar, which
    is on the path, and of pyspark.zip have thousands of entries and took 0.2 to 0.4 s a task."""
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
