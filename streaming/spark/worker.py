"""Two habits of Spark's Python workers that took longer than the work itself, broken from inside a task.

A worker serves one task after the other. Before each, ``pyspark.worker_util.setup_spark_files`` calls
``importlib.invalidate_caches``, and after each ``pyspark.daemon`` calls ``gc.collect``.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from zipimport import zipimporter


@contextmanager
def undisturbed() -> Iterator[None]:
    """Work without Python's collector, and leave the worker so that its next task begins sooner."""
    gc.disable()  # or it searches thousands of groups again and again while they are decoded: ten times decoding's time
    try:
        yield
    finally:
        gc.enable()
        _forget_archives()
        if not gc.get_freeze_count():
            gc.collect()
            gc.freeze()  # all modules: to search them took 10 ms after each task


def _forget_archives() -> None:
    """To invalidate what is remembered of an archive, Python reads its directory anew: that of Spark's own jar, which
    is on the path, and of pyspark.zip have thousands of entries and took 0.2 to 0.4 s a task."""
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
