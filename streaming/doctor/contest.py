"""A contest of writers, which shows whether an object store keeps conditional writes. It writes a trial file."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier
from uuid import uuid4

from streaming.config.config_errors import without_userinfo
from streaming.errors import AwayError, SetupError
from streaming.tables.conditional_file import (
    ConditionalFile,
    Refused,
    Version,
    require_conditional_commits,
    unwritable,
)

CONTENDERS = 16  # versitygw before its pull request 2288 let 2 to 32 of 32 writers win
TRIAL_ROUNDS = 3  # the first one makes the file, the others replace it
TRIALS = "_lease_trials"  # Hadoop takes a folder whose name begins so for no data


def require_conditions(folder: str) -> None:
    """Let several writers write one file of this folder at once. Raises SetupError if the store lets two of them win.

    Neither leases nor the commits of deltalake are safe in such a store. Raises AwayError if no write is accepted.
    """
    require_conditional_commits()
    file = ConditionalFile(folder, f"{TRIALS}/{uuid4()}")
    replaces: Version | None = None
    try:
        for _ in range(TRIAL_ROUNDS):
            won = _contend(file, replaces)
            if len(won) > 1:
                condition = "If-None-Match: *" if replaces is None else "If-Match"
                raise SetupError(
                    f"{without_userinfo(folder)}: this object store let {len(won)} of {CONTENDERS} writers win that "
                    f"wrote one file at once, each under the condition {condition}. So two jobs could have one lease, "
                    "and lose each other's commits"
                )
            if not won and replaces is None:
                raise unwritable(folder)
            replaces = won[0] if won else replaces
    finally:
        with suppress(AwayError):
            file.delete()


def _contend(file: ConditionalFile, replaces: Version | None) -> list[Version]:
    """The versions of those who won."""
    together = Barrier(CONTENDERS)

    def write(number: int) -> Version | None:
        together.wait()
        with suppress(Refused):
            return file.write(f"{number} {uuid4()}", replaces)
        return None

    with ThreadPoolExecutor(CONTENDERS) as pool:
        return [version for version in pool.map(write, range(CONTENDERS)) if version is not None]
