"""Whether Java can free what Python no longer uses."""

import gc
import time
from typing import Any

import pytest
from py4j.clientserver import DEFAULT_WORKER_SLEEP_TIME
from pyspark.sql import SparkSession

from streaming.spark.java_objects import SEARCH_EVERY_S, JavaObjects

pytestmark = pytest.mark.spark


def is_freed(jvm: Any, reference: Any, within_s: float = 2 * DEFAULT_WORKER_SLEEP_TIME) -> bool:
    """Whether Java frees the object. Once a second a thread of py4j tells Java what Python no longer uses."""
    ends_s = time.monotonic() + within_s
    while time.monotonic() < ends_s:
        jvm.java.lang.System.gc()
        if reference.refersTo(None):
            return True
        time.sleep(0.1)
    return False


def test_java_frees_an_object_that_python_has_used_for_a_while(spark: SparkSession) -> None:
    """As the batch in which Python happens to search its young objects."""
    jvm = spark._jvm
    java_list = jvm.java.util.ArrayList()
    reference = jvm.java.lang.ref.WeakReference(java_list)
    assert java_list.size() == 0  # now the object has a method, which refers to it
    objects = JavaObjects(now_s=0)
    gc.collect()  # it is an old object now
    del java_list

    gc.collect(1)
    objects.free(SEARCH_EVERY_S - 1)
    assert not is_freed(jvm, reference)

    objects.free(SEARCH_EVERY_S)
    assert is_freed(jvm, reference, within_s=30)


def test_it_searches_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    monkeypatch.setattr(gc, "collect", lambda: searched.append(now_s))
    objects = JavaObjects(now_s=0)
    for now_s in range(0, 200, 10):
        objects.free(now_s)
    assert searched == [60, 120, 180]
