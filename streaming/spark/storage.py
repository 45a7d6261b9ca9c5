"""A folder on any file system that Hadoop knows, local ones included, through Spark's own Java."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from streaming.config.config_errors import without_userinfo
from streaming.errors import AwayError, CheckpointError, SetupError
from streaming.spark.failure import root_of

NO_FILE_SYSTEM = ("ClassNotFoundException", "UnsupportedFileSystemException")


class Folder:
    """Small text files in one folder; names are relative to it.

    Raises SetupError where Spark does not know its file system, AwayError where that cannot be opened or used.
    """

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self.uri = uri.rstrip("/")
        # Java is asked for a class by all parts of its name, and looks for each of them in hundreds of jars.
        jvm: Any = spark._jvm
        self._new_path: Any = jvm.org.apache.hadoop.fs.Path
        self._io: Any = jvm.org.apache.commons.io.IOUtils
        self._checkpoints: Any = jvm.org.apache.spark.sql.execution.streaming.CheckpointFileManager
        self._conf: Any = spark._jsparkSession.sessionState().newHadoopConf()
        try:
            self._files: Any = self._path("").getFileSystem(self._conf)
        except Py4JJavaError as error:
            why = root_of(error.java_exception)
            if why.startswith(NO_FILE_SYSTEM):
                raise SetupError(
                    f"{without_userinfo(uri)}: Spark lacks the jars of this file system; name them in [spark.settings] "
                    f"as spark.jars.packages ({why})"
                ) from None
            raise AwayError(f"{without_userinfo(uri)} cannot be opened: {why}") from None

    def read(self, name: str) -> str | None:
        """The file's text; None where there is none."""
        path = self._path(name)
        with self._away_said():
            if not self._files.exists(path):
                return None
            stream = self._files.open(path)
            try:
                return str(self._io.toString(stream, "UTF-8"))
            finally:
                stream.close()

    def write(self, name: str, text: str) -> None:
        """Write the file whole or not at all, as Spark writes its own offsets."""
        path = self._path(name)
        with self._away_said():
            self._files.mkdirs(path.getParent())
            stream = self._checkpoints.create(path.getParent(), self._conf).createAtomic(path, True)
            try:
                stream.write(text.encode())
            except BaseException:
                stream.cancel()
                raise
            stream.close()

    def numbers(self, name: str) -> list[int]:
        """The files of a sub-folder that are named by a number, ascending, with any suffix."""
        path = self._path(name)
        if not self._files.exists(path):
            return []
        names = (str(status.getPath().getName()).split(".")[0] for status in self._files.listStatus(path))
        return sorted(int(name) for name in names if name.isdecimal())

    def delete(self, name: str) -> None:
        """Remove a file or a folder with all that it holds."""
        with self._away_said():
            self._files.delete(self._path(name), True)

    @contextmanager
    def _away_said(self) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as error:
            uri, root = without_userinfo(self.uri), root_of(error.java_exception)
            if root.startswith("ChecksumException"):
                raise CheckpointError(
                    f"a file of {uri} is damaged ({root}): restore it from a copy, or run 'evenkeel reseed' with a new"
                    " folder for the checkpoint"
                ) from None
            raise AwayError(f"{uri} cannot be used: {root}") from None

    def _path(self, name: str) -> Any:
        return self._new_path(f"{self.uri}/{name}" if name else self.uri)
