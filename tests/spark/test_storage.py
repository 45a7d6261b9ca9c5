"""Folders of a checkpoint, and how Spark writes the files in them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streaming.spark.storage import MANAGER_KEY, MANAGER_OF_LOCAL_FILES, choose_file_manager

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
ELSEWHERE = "hdfs://127.0.0.1:9/checkpoint"


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get(MANAGER_KEY, None)
    spark.conf.unset(MANAGER_KEY)
    yield spark
    spark.conf.unset(MANAGER_KEY) if before is None else spark.conf.set(MANAGER_KEY, before)


def test_local_files_are_written_without_a_process_for_each(session: SparkSession, tmp_path: Path) -> None:
    choose_file_manager(session, str(tmp_path))
    assert session.conf.get(MANAGER_KEY) == MANAGER_OF_LOCAL_FILES


def test_elsewhere_spark_chooses_even_after_a_local_checkpoint(session: SparkSession, tmp_path: Path) -> None:
    choose_file_manager(session, str(tmp_path))
    choose_file_manager(session, ELSEWHERE)
    assert session.conf.get(MANAGER_KEY, None) is None


def test_what_the_user_has_said_stays(session: SparkSession, tmp_path: Path) -> None:
    session.conf.set(MANAGER_KEY, "org.example.Manager")
    choose_file_manager(session, str(tmp_path))
    assert session.conf.get(MANAGER_KEY) == "org.example.Manager"
