"""Files that lose their end, as when a machine fails."""

from pathlib import Path


def cut(file: Path, left: float = 0.5) -> None:
    """Leave this share of the file."""
    content = file.read_bytes()
    file.write_bytes(content[: int(left * len(content))])
