"""The processes of evenkeel that run here: what they answer at /healthz and /readyz, and which of them holds a lock."""

import http.client
import ssl
from collections.abc import Iterator
from pathlib import Path

from streaming.config.sections import Config
from streaming.doctor.checks import Check, Processes, fine, unknown, wrong
from streaming.file_lock import CannotLock, holder_of
from streaming.lease_file import NAME as LEASE
from streaming.notifier.state_files import running_notifier
from streaming.tables.storage import local_path

AREA = "processes"
ANSWER_WITHIN_S = 4
READY_OR_STANDBY = "/readyz?standby=ready"  # the plain one is 503 on a standby
MOST_BYTES = 4_000  # of the reasons of /readyz
ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def checks(config: Config, processes: Processes) -> Iterator[Check]:
    if "run" in processes:
        yield _job(config)
    if processes & {"run", "notify"}:
        yield _notifier(config)
    address = config.metrics.address()
    if address is None:
        yield unknown(
            AREA, "ready", "metrics.listen is empty: no process but web shows whether it is ready", "docs/metrics.md"
        )
    else:
        yield _ready("metrics.listen", address, is_tls=False)
    if "web" in processes or ("run" in processes and config.web.in_run):
        yield _ready("web.listen", config.web.address(), is_tls=bool(config.web.tls_cert_file))


def _job(config: Config) -> Check:
    path = local_path(config.tables.path)
    if path is None:
        return unknown(AREA, "job", "the lease is in an object store; the newest row of the tables shows its work")
    try:
        holder = holder_of(path / LEASE)
    except (OSError, CannotLock) as error:
        return unknown(AREA, "job", f"{path / LEASE} cannot be looked at: {error}")
    if holder is None:
        return unknown(AREA, "job", "no process on this machine has the lease of the tables", "evenkeel run")
    return fine(AREA, "job", str(holder))


def _notifier(config: Config) -> Check:
    try:
        holder = running_notifier(Path(config.notify.state))
    except OSError as error:
        return unknown(AREA, "notifier", f"{config.notify.state} cannot be looked into: {error.strerror}")
    if holder is None:
        return unknown(
            AREA, "notifier", f"none delivers from {config.notify.state}", "evenkeel run, or evenkeel notify"
        )
    return fine(AREA, "notifier", str(holder))


def _ready(key: str, address: tuple[str, int], is_tls: bool) -> Check:
    """What it answers at /readyz, and if only a user may ask that, at /healthz. A standby is as it must be."""
    host, port = ANYWHERE.get(address[0], address[0]), address[1]
    where = f"{key} {host}:{port}"
    try:
        status, text = _get(host, port, READY_OR_STANDBY, is_tls)
        if status in (401, 403):
            status, text = _get(host, port, "/healthz", is_tls)
            if status == 200:
                return unknown(AREA, "ready", "it runs; only its users may see whether it is ready", where=where)
    except ConnectionRefusedError:
        return unknown(AREA, "ready", "nothing listens there: no process was started, or it has ended", where=where)
    except (OSError, http.client.HTTPException) as error:
        return wrong(AREA, "ready", f"no answer: {error or type(error).__name__}", "see the log of the process", where)
    if status == 200:
        return fine(AREA, "ready", "standby" if text.strip() == "standby" else "ready", where)
    if status == 503:
        return wrong(
            AREA,
            "ready",
            f"not ready: {'; '.join(text.split(chr(10))).strip('; ')}",
            "see the log of the process",
            where,
        )
    return wrong(AREA, "ready", f"status {status}: something else listens there", f"ss -ltnp 'sport = :{port}'", where)


def _get(host: str, port: int, path: str, is_tls: bool) -> tuple[int, str]:
    """The certificate is not compared: the address is this machine's."""
    if is_tls:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, port, timeout=ANSWER_WITHIN_S, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=ANSWER_WITHIN_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read(MOST_BYTES).decode("utf-8", "replace")
    finally:
        connection.close()
