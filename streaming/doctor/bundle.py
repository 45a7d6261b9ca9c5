"""A file for a report of a fault: what was found, the configuration, versions, newest rows and logs. No secret is in
it.

Every text passes the mask of the process. What others wrote, such as a log, also loses what looks like a secret that
this process does not know.
"""

import errno
import io
import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from streaming.config.alerts import Alerts
from streaming.config.config_errors import without_named_secrets
from streaming.config.effect import every_key
from streaming.config.sections import Config
from streaming.doctor.examination import in_process
from streaming.errors import OutputError
from streaming.file_lock import CannotLock, Holder, holder_of, this_process
from streaming.lease_file import NAME as LEASE
from streaming.notifier.state_files import running_notifier
from streaming.private_files import opened
from streaming.secret_mask import masked
from streaming.tables.storage import local_path
from streaming.wall_clock import now_ms

LOG_BYTES = 2_000_000  # the end of each log: some hours of a job that logs a warning each second
ROWS_WITHIN_S = 15.0
READ = ("EVENKEEL", "JAVA_", "PYSPARK_", "SPARK_", "AWS_", "AZURE_", "GOOGLE_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
NO_LOG_FILES = """evenkeel has no log file of its own: each process logs to its standard error.
Under systemd: journalctl -u 'evenkeel-*' --since -1d. In a container: podman logs, or kubectl logs.
Name files with --log to have their end in this bundle.
"""


def require_new(path: Path) -> None:
    """Raise OutputError if something is there: nothing is overwritten."""
    if path.is_symlink() or path.exists():
        raise OutputError(f"{path} is there already and is not overwritten: name another file with --bundle")


def texts(
    config: Config, alerts: Alerts, logs: Iterable[Path], environ: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The files beside the report, each with its name."""
    yield "configuration.txt", "".join(f"{line}\n" for line in every_key(config))
    yield "alert-rules.txt", "".join(f"{line}\n" for line in every_key(alerts))
    names = sorted(name for name in environ if name.upper().startswith(READ))
    yield "environment.txt", "".join(f"{name} is set\n" for name in names)
    rows = in_process("tables", config, function="newest_rows", within_s=ROWS_WITHIN_S)
    yield "health.jsonl", "".join(f"{_as_json(row)}\n" for row in rows)
    yield from _logs([*logs, *_logs_of_processes(config)])


def write(path: Path, files: Iterable[tuple[str, str]]) -> list[str]:
    """Write the files as .tar.gz that only this user may read, and return their names. Raises OutputError."""
    content, names = io.BytesIO(), []
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for name, text in files:
            names.append(name)
            _add(tar, name, masked(text).encode("utf-8", "backslashreplace"))
    try:
        with os.fdopen(opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(content.getvalue())
    except OSError as error:
        if error.errno == errno.EEXIST:
            require_new(path)
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error
    return names


def _as_json(row: object) -> str:
    """A row is JSON already. In its place may come the reason why there are no more."""
    return row if isinstance(row, str) else msgspec.json.encode(row).decode()


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(f"evenkeel-doctor/{name}")
    entry.size, entry.mode, entry.mtime = len(content), 0o600, now_ms() // 1000
    tar.addfile(entry, io.BytesIO(content))


def _logs(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    found = list(dict.fromkeys(path.absolute() for path in paths))
    for number, path in enumerate(found, 1):
        yield f"log-{number}-{path.name}", _end_of(path)
    if not found:
        yield "logs.txt", NO_LOG_FILES


def _end_of(path: Path) -> str:
    """The end of a file, from the beginning of a line; the reason if it cannot be read."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - LOG_BYTES))
            text = file.read(LOG_BYTES).decode("utf-8", "replace")
    except OSError as error:
        return f"{path} cannot be read: {error.strerror or error}\n"
    whole_lines = text if size <= LOG_BYTES else text.partition("\n")[2]
    return without_named_secrets(masked(whole_lines))


def _logs_of_processes(config: Config) -> Iterator[Path]:
    """The files that are the standard error of the job and of the notifier, where they run on this machine."""
    for holder in _holders(config):
        if holder.host == this_process().host and holder.pid:
            try:
                target = Path(f"/proc/{holder.pid}/fd/2").readlink()
            except OSError:
                continue
            if target.is_file():
                yield target


def _holders(config: Config) -> Iterator[Holder]:
    tables = local_path(config.tables.path)
    try:
        found = [holder_of(tables / LEASE) if tables is not None else None, running_notifier(Path(config.notify.state))]
    except (OSError, CannotLock):
        return
    yield from (holder for holder in found if holder is not None)
