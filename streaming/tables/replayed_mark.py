"""Marks tables that a replay or a demo has made with a file, so that nobody is paged of them."""

from pathlib import Path

NAME = "_replayed"  # Hadoop takes a file whose name begins so for no data


def mark_replayed(tables: Path, by: str) -> None:
    """``by``: the command that made them."""
    (tables / NAME).write_text(by, encoding="utf-8")


def replayed_by(tables: str) -> str | None:
    """The command that made these tables of what is past; None of tables that a job keeps."""
    path = Path(tables.removeprefix("file://"), NAME)
    return path.read_text(encoding="utf-8") if "://" not in str(path) and path.is_file() else None
