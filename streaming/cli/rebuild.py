"""Make every table that people read again from the facts. The job must not be running meanwhile."""

import argparse
from threading import Event

from streaming.cli.configuration import configured
from streaming.progress import Progress


def run(arguments: argparse.Namespace) -> int:
    """Print one line a table, then return 0. Raises InUseError while another process writes to the tables."""
    config = configured(arguments)
    from streaming.lease import local_leases, remote_leases
    from streaming.projections.projector import rebuild

    progress = Progress()

    def tell(done: int, of: int) -> None:
        progress.count(done, of, "facts")

    with local_leases({"tables.path": config.tables.path}) as leased, remote_leases(leased.far, Event()):
        with progress:
            rebuilt = rebuild(config.tables.path, tell)
        for table, rows in rebuilt.items():
            print(f"{table}: {rows} rows")
    return 0
