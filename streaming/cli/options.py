"""Types of options for argparse: numbers within bounds, and files. ``-`` is standard input, or standard output."""

import atexit
import shutil
import sys
import tempfile
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

STANDARD_INPUT = "standard input"
STANDARD_OUTPUT = Path("/dev/stdout")
N = TypeVar("N", int, float)
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


def whole(least: int, most: int) -> Callable[[str], int]:
    return _within(int, least, most, f"a whole number from {least} to {most}")


def between(least: float, most: float) -> Callable[[str], float]:
    return _within(float, least, most, f"from {least:g} to {most:g}")


def _within(kind: Callable[[str], N], least: N, most: N, wanted: str) -> Callable[[str], N]:
    def number(text: str) -> N:
        found = kind(text)
        if not least <= found <= most:
            raise ArgumentTypeError(wanted)
        return found

    return number
