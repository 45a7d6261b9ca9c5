"""Processes that obey the permissions of files although the tests run as root."""

import ctypes
import os
from pathlib import Path

_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2


def obey_permissions() -> None:
    """For ``preexec_fn``: what is executed next lacks the right of root to read and write every file.

    It still is the owner of root's files, so their owner's bits count. Who is not root obeys them anyway.
    """
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "prctl")


def permissions_count(folder: Path) -> bool:
    """Whether a child that obeys permissions is kept out of a folder: not on every file system and in any container."""
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0)
    child = os.fork()
    if child == 0:
        try:
            obey_permissions()
            os.execvp("ls", ["ls", str(closed)])
        finally:
            os._exit(0)
    denied = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    closed.chmod(0o700)
    closed.rmdir()
    return denied
