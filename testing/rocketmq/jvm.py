"""Java processes, from sources that are compiled for the test."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from streaming.jvm.java import java_home
from testing.rocketmq.child_process import ChildProcess

JAVA_SOURCES = Path(__file__).parent / "java"
JAVA_GRPC_SOURCES = Path(__file__).parent / "java_grpc"  # against the jars of gRPC clients
OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-Xms32m",
    *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.nio", "sun.nio.ch", "java.lang", "java.util")),
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)


def compile_java(sources: Sequence[Path], jars: Sequence[Path], into: Path) -> None:
    """Raises AssertionError with what the compiler says."""
    command = [str(java_home() / "bin" / "javac"), "-Xlint:all,-serial,-processing,-path,-classfile", "-Werror"]
    command += ["-proc:none", "-cp", os.pathsep.join(map(str, jars)), "-d", str(into), *map(str, sources)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


class JavaProcess(ChildProcess):
    """One main class, and the lives of the process that runs it."""

    def __init__(self, name: str, command: Sequence[str], classpath: Sequence[Path], home: Path) -> None:
        """``command``: options of the JVM, the main class, its arguments; ``home``: where it writes."""
        main = next(place for place, word in enumerate(command) if not word.startswith("-"))
        java = [str(java_home() / "bin" / "java"), *OPTIONS, f"-Duser.home={home}", *command[:main]]
        java += ["-cp", os.pathsep.join(map(str, classpath)), "Supervised", *command[main:]]
        super().__init__(name, java, home)
