"""Fixtures of the Spark tests: a facts table that a test writes itself."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from schemas.facts import Fact
from streaming.spark.facts import FactsTable, rows_of, table_columns


class Tables:
    """A folder of tables. ``tell`` appends facts as the job does; one call is one commit."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.path = str(folder)
        FactsTable(spark, self.path).create()

    def tell(self, facts: Iterable[Fact]) -> None:
        self.rows(facts).coalesce(1).write.format("delta").mode("append").save(f"{self.path}/facts")

    def rows(self, facts: Iterable[Fact]) -> DataFrame:
        return rows_of(self.spark, facts).select(*table_columns("test"))

    def read(self, name: str) -> DataFrame:
        return self.spark.read.format("delta").load(f"{self.path}/{name}")


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Tables:
    return Tables(spark, tmp_path)


@pytest.fixture
def told(finished: Tables, tmp_path: Path) -> Tables:
    """A copy, to change, of the tables that the module's ``finished`` made once."""
    folder = tmp_path / "tables"
    shutil.copytree(finished.path, folder)
    return Tables(finished.spark, folder)
