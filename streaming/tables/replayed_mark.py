"""The mark of tables that a replay or a demo has made: a file, so that no pages are sent for them."""

from pathlib import Path

NAME = "_replayed"  # Hadoop takes a file whose name begins so for no data


def mark_replayed(tables: Path, by: str) -> None:
    """Mark the tables. ``by``: the command that made them."""
    (tables / NAME).write_text(by, encoding="utf-8")


def replayed_by(tables: str) -> str | None:
    """The replay or demo that made these tables; None for tables of a job."""
    path = Path(tables.removeprefix("file://"), NAME)
    return path.read_text(encoding="utf-8") if "://" not in str(path) and path.is_file() else None
