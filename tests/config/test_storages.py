"""Addresses of object stores are refused until Spark has the jars for them."""

from pathlib import Path

import pytest

from streaming.cli import main
from streaming.config.storages import ABORTABLE, FILE_MANAGER, storage_fault, uses_abortable

AWS = "org.apache.hadoop:hadoop-aws:3.4.1"
NEEDED = (
    "an address whose file system Spark has; s3a:// needs its jars: in [spark.settings], "
    f'"spark.jars.packages" = "{AWS}"'
)


def test_check_config_refuses_what_ends_in_a_class_not_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '[tables]\npath = "s3a://bucket/tables"\n[job]\ncheckpoint = "gs://bucket/checkpoint"\n'
    path = tmp_path / "x.toml"
    path.write_text(text)
    assert main(["config", "check", str(path)]) == 2
    tables, checkpoint = capsys.readouterr().out.splitlines()
    assert tables == f'{path}:2: tables.path = "s3a://bucket/tables": {NEEDED}'
    assert "gs:// needs its jars" in checkpoint
    assert "com.google.cloud.bigdataoss:gcs-connector" in checkpoint
    assert main(["run", "--config", str(path)]) == 2
    assert NEEDED in capsys.readouterr().err
    jars = f'[spark.settings]\n"spark.jars.packages" = "{AWS}"\n"spark.jars" = "/opt/gcs-connector-hadoop3.jar"\n'
    path.write_text(text + jars)
    assert main(["config", "check", str(path)]) == 0


def test_file_manager_that_hides_failed_writes_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.toml"
    manager = f"org.apache.spark.internal.io.cloud.{ABORTABLE}"
    path.write_text(f'[spark.settings]\n"{FILE_MANAGER}" = "{manager}"\n')
    assert main(["config", "check", str(path)]) == 2
    said = capsys.readouterr().out
    assert "takes a write that failed for a success" in said
    assert ABORTABLE in said


def test_file_manager_is_refused_in_the_file_that_spark_reads_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert not uses_abortable({})
    (tmp_path / "spark-defaults.conf").write_text(f"{FILE_MANAGER} org.apache.spark.internal.io.cloud.{ABORTABLE}\n")
    assert uses_abortable({})


def test_commands_without_spark_need_no_jars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.toml"
    path.write_text('[tables]\npath = "s3a://bucket/tables"\n')
    main(["silence", "--list", "--config", str(path)])
    assert "jars" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "address", ["/data/tables", "hdfs://name:8020/x", "file:///x", "viewfs://x/y", "somebodys-own://x/y"]
)
def test_what_spark_has_or_nobody_knows_is_accepted(address: str) -> None:
    assert storage_fault(address, {}, {}) == ""


@pytest.mark.parametrize(
    ("settings", "environ"),
    [
        ({"spark.jars.packages": f"a:b:1,{AWS}"}, {}),
        ({"spark.hadoop.fs.s3a.impl": "org.example.Mine"}, {}),
        ({"spark.driver.extraClassPath": "/opt/jars/*"}, {}),
        ({}, {"PYSPARK_SUBMIT_ARGS": f"--packages {AWS} pyspark-shell"}),
        ({}, {"PYSPARK_GATEWAY_PORT": "4711"}),
        ({}, {"SPARK_DIST_CLASSPATH": "/opt/hadoop/*"}),
    ],
)
def test_jars_may_come_from_wherever_spark_takes_them(settings: dict[str, str], environ: dict[str, str]) -> None:
    assert storage_fault("s3a://bucket/x", settings, environ) == ""
    assert storage_fault("s3a://bucket/x", {}, {}) == NEEDED


def test_jars_and_defaults_of_ones_own_spark_count(tmp_path: Path) -> None:
    for folder in ("jars", "conf"):
        (tmp_path / folder).mkdir()
    home = {"SPARK_HOME": str(tmp_path)}
    assert storage_fault("s3a://bucket/x", {}, home) == NEEDED
    (tmp_path / "jars" / "hadoop-aws-3.4.1.jar").touch()
    assert storage_fault("s3a://bucket/x", {}, home) == ""
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.jars.packages org.apache.hadoop:hadoop-azure:3.4.1")
    assert storage_fault("abfss://c@a.dfs.core.windows.net/x", {}, home) == ""


def test_address_of_old_is_called_by_its_name_of_now() -> None:
    assert storage_fault("s3://bucket/x", {}, {}) == "an address that begins with s3a://, as Hadoop calls it"
