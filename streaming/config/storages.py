"""The check if Spark has the file system of an address: pyspark has none for object stores."""

import os
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

ARTIFACTS = {  # Hadoop's own, and Google's
    "s3a": "org.apache.hadoop:hadoop-aws",
    "abfs": "org.apache.hadoop:hadoop-azure",
    "abfss": "org.apache.hadoop:hadoop-azure",
    "wasb": "org.apache.hadoop:hadoop-azure",
    "wasbs": "org.apache.hadoop:hadoop-azure",
    "oss": "org.apache.hadoop:hadoop-aliyun",
    "cosn": "org.apache.hadoop:hadoop-cos",
    "obs": "org.apache.hadoop:hadoop-huaweicloud",
    "gs": "com.google.cloud.bigdataoss:gcs-connector",
}
RENAMED = {"s3": "s3a", "s3n": "s3a"}
FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
# It logs what fails when a file is closed, and Spark takes the file for written (seen with Spark 4.0.0, S3 away).
ABORTABLE = "AbortableStreamBasedCheckpointFileManager"
# If any of these is set, jars may come from places that cannot be seen here.
UNSEEN = ("spark.driver.extraClassPath", "--driver-class-path", "spark.jars.ivySettings")
UNSEEN_VARIABLES = ("PYSPARK_GATEWAY_PORT", "SPARK_DIST_CLASSPATH", "SPARK_CLASSPATH")


def storage_fault(address: str, settings: Mapping[str, str], environ: Mapping[str, str] | None = None) -> str:
    """The change with which Spark can open ``address``; empty if none is needed, or it cannot be known here.

    ``settings``: the ``spark.*`` of the configuration.
    """
    environ = os.environ if environ is None else environ
    scheme = urlsplit(address).scheme
    if f"spark.hadoop.fs.{scheme}.impl" in settings:
        return ""
    if scheme in RENAMED:
        return f"an address that begins with {RENAMED[scheme]}://, as Hadoop calls it"
    artifact = ARTIFACTS.get(scheme)
    if artifact is None or any(environ.get(name) for name in UNSEEN_VARIABLES):
        return ""
    said = _said(settings, environ)
    jar = artifact.partition(":")[2]
    if any(word in text for text in said for word in (jar, *UNSEEN)) or any(_jars(jar, environ)):
        return ""
    return (
        f"an address whose file system Spark has; {scheme}:// needs its jars: in [spark.settings], "
        f'"spark.jars.packages" = "{artifact}:{_hadoop_version() or "VERSION"}"'
    )


def uses_abortable(settings: Mapping[str, str], environ: Mapping[str, str] | None = None) -> bool:
    """Returns whether Spark would write checkpoints with the file manager ``ABORTABLE``. ``settings`` as above."""
    return any(ABORTABLE in text for text in _said(settings, os.environ if environ is None else environ))


def _said(settings: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    """All texts that set something in Spark."""
    said = [text for pair in settings.items() for text in pair] + [environ.get("PYSPARK_SUBMIT_ARGS", "")]
    return said + [path.read_text("utf-8", "replace") for path in [spark_defaults(environ)] if path.is_file()]


def spark_defaults(environ: Mapping[str, str]) -> Path:
    """The file of settings that Spark reads by itself."""
    home = environ.get("SPARK_HOME")
    return Path(environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else "conf"), "spark-defaults.conf")


def _jars(name: str, environ: Mapping[str, str]) -> Iterator[Path]:
    if home := environ.get("SPARK_HOME"):
        yield from Path(home, "jars").glob(f"{name}*.jar")
    spec = find_spec("pyspark")  # without importing it
    if spec is not None and spec.origin is not None:
        yield from (Path(spec.origin).parent / "jars").glob(f"{name}*.jar")


def _hadoop_version() -> str | None:
    """The version of the Hadoop in pyspark; the jars of file systems must have the same."""
    names = (path.name for path in _jars("hadoop-client-api", {}))
    return next((found[1] for name in names if (found := re.fullmatch(r"hadoop-client-api-([\d.]+)\.jar", name))), None)
