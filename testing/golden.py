"""Texts that are compared with a file, whole."""

import os
from pathlib import Path


def compare(shown: str, golden: Path) -> None:
    """Fails where the file says something else. With ``UPDATE_GOLDEN=1`` it is written first: read the difference."""
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(shown, "utf-8")
    assert shown == golden.read_text("utf-8")


def require_shown(page: str, begins: str, ends: str, printed: Path) -> None:
    """Fails where the block of code of a page, from one text up to another, is not in the file."""
    start = page.index(begins)
    shown = page[start : page.index(ends, start)].rstrip()
    assert "\n".join(line.removeprefix("    ") for line in shown.splitlines()) in printed.read_text("utf-8")
