"""Commits that lost their end, or whose files of rows did, when the machine failed.

Neither Delta 4.0.0 nor deltalake 1.6.6 calls ``fsync``. Both read an empty commit as one without rows, so its rows
would be missing in silence. An object store writes a file whole or not at all.
"""

import json
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from streaming import private_files
from streaming.errors import CheckpointError
from streaming.tables.storage import TextFiles, away_said, local_path

log = logging.getLogger(__name__)

LOG = "_delta_log"
SET_ASIDE = {"damaged": "true"}  # in the commit that replaces a damaged one
MENDED = ".mended"  # a file beside such a commit, once what it had was read again
NEWEST = 100  # commits that are looked at: more than a minute of them, and a disk has everything after half a minute
_COMMIT = re.compile(r"\d{20}\.json")


def damaged_commits(table: str) -> list[int]:
    """The versions among the newest that are damaged, ascending; also those that were set aside, until ``say_mended``.

    Raises AwayError if the log cannot be read.
    """
    folder = local_path(table)
    if folder is None or not (folder / LOG).is_dir():
        return []
    with away_said(table):
        commits = sorted(file for file in (folder / LOG).iterdir() if _COMMIT.fullmatch(file.name))
        return [int(file.stem) for file in commits[-NEWEST:] if _is_damaged(folder, file)]


def require_whole_commits(table: str) -> None:
    """Raise CheckpointError if a commit is damaged."""
    damaged = damaged_commits(table)
    if damaged:
        raise CheckpointError(
            f"{table}/{LOG}: damaged by a failure of the machine: {named(damaged)}. Run 'evenkeel reseed' with a new "
            "folder for the checkpoint: it sets these commits aside, and what they had is read again"
        )


def set_damaged_aside(table: str, now_ms: int) -> list[int]:
    """Replace damaged commits by empty ones, so that readers and writers go on; return their versions. What is left of
    them is kept as ``.damaged``. They count as damaged until ``say_mended``: the caller may be interrupted before.

    Raises CheckpointError if the first commit is one of them, which has the table's columns.
    """
    folder, versions = local_path(table), damaged_commits(table)
    if folder is None or not versions:
        return []
    if 0 in versions:
        raise CheckpointError(
            f"{table}/{LOG}: damaged by a failure of the machine: {named(versions)}, with the columns of the table: "
            "restore a copy, or delete this table's folder"
        )
    log.warning("%s: %s: damaged by a failure of the machine, and set aside", table, named(versions))
    info = {"commitInfo": {"timestamp": now_ms, "operation": "WRITE", "operationParameters": SET_ASIDE}}
    files = TextFiles(str(folder / LOG))
    for version in versions:
        name = f"{version:020}"
        if _is_set_aside(_actions(folder / LOG / f"{name}.json")):
            continue
        private_files.keep_as(folder / LOG / f"{name}.json", folder / LOG / f"{name}.damaged")
        for checksum in (f".{name}.json.crc", f"{name}.crc"):
            files.delete(checksum)
        files.write(f"{name}.json", json.dumps(info) + "\n")
    return versions


def say_mended(table: str, versions: Sequence[int]) -> None:
    """What these commits had was read again, or is given up: they no longer count as damaged."""
    folder = local_path(table)
    if folder is None:
        return
    for version in versions:
        TextFiles(str(folder / LOG)).write(f"{version:020}{MENDED}", "")


def _is_damaged(folder: Path, commit: Path) -> bool:
    actions = _actions(commit)
    if _is_set_aside(actions):
        return not commit.with_suffix(MENDED).exists()
    return not actions or any(_is_cut(folder, action["add"]) for action in actions if "add" in action)


def _actions(commit: Path) -> list[dict[str, Any]]:
    """The commit; an empty list if it is cut."""
    try:
        return [json.loads(line) for line in commit.read_bytes().splitlines()]
    except ValueError:
        return []


def _is_set_aside(actions: Sequence[dict[str, Any]]) -> bool:
    return any(action.get("commitInfo", {}).get("operationParameters") == SET_ASIDE for action in actions)


def _is_cut(folder: Path, added: dict[str, Any]) -> bool:
    """Whether the file of rows has another size than the commit says. A file that is gone was deleted by a person or by
    maintenance.
    """
    with suppress(FileNotFoundError):
        return (folder / unquote(added["path"])).stat().st_size != int(added["size"])
    return False


def named(versions: Sequence[int]) -> str:
    """These versions in words, for a message."""
    return f"commit{'s' * (len(versions) > 1)} {', '.join(map(str, versions))}"
