"""Types of options for argparse: files. ``-`` is standard input, or standard output."""

import atexit
import shutil
import sys
import tempfile
from argparse import ArgumentTypeError
from pathlib import Path

STANDARD_INPUT = "standard input"
STANDARD_OUTPUT = Path("/dev/stdout")
_taken: list[Path] = []


def readable(text: str) -> Path:
    """A path to read. Standard input is copied into a file while the command lasts: some inputs are read twice."""
    if text != "-":
        return Path(text)
    if _taken:
        raise ArgumentTypeError("standard input is one file, and another option takes it")
    folder = Path(tempfile.mkdtemp(prefix="evenkeel-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / STANDARD_INPUT
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
    except OSError as error:
        raise ArgumentTypeError(f"standard input cannot be kept in {folder}: {error.strerror or error}") from error
    _taken.append(path)
    return path


def writable(text: str) -> Path:
    return STANDARD_OUTPUT if text == "-" else Path(text)
