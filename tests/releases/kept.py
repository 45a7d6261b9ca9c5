"""What older releases left behind: the files that ``scripts/keep_release.py`` made of each."""

import gzip
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from schemas.records import group_key

FOLDER = Path(__file__).parent
CLUSTER = "simulated"


class Release(NamedTuple):
    """``read``: how many of its events' records its job had read when it was stopped."""

    folder: Path
    version: str
    topic: str
    records: int
    read: int

    def events(self) -> list[bytes]:
        """The values of all records, in the order in which they are in the topic."""
        return gzip.decompress((self.folder / "events.jsonl.gz").read_bytes()).splitlines()

    def keyed_events(self) -> Iterator[tuple[bytes, bytes]]:
        """The same with their keys, as its collector sent them."""
        for value in self.events():
            events = json.loads(value)
            first = events[0] if isinstance(events, list) else events
            yield group_key(first["cluster"], first["group"]).encode(), value

    def unpack_job(self, to: Path) -> Path:
        """A copy, to change, of the folder in which ``run`` and ``collect`` kept everything."""
        with tarfile.open(self.folder / "job.tar.xz") as archive:
            archive.extractall(to, filter="data")
        return to


def _release(file: Path) -> Release:
    return Release(file.parent, **json.loads(file.read_text()))


RELEASES = sorted(map(_release, FOLDER.glob("*/release.json")))


def newest_ts(value: bytes) -> int:
    """The newest time in a record: of one event, or of an array of them."""
    events = json.loads(value)
    return max(event["ts"] for event in (events if isinstance(events, list) else [events]))
