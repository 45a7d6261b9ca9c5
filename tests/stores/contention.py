"""Many writers, each with its own connections, write one file of an object store at once: exactly one may win.

``python -m tests.stores.contention`` lets 64 writers contend 200 times, with both conditions, on each server.
"""

import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier
from uuid import uuid4

import pytest

from streaming.tables.conditional_file import ConditionalFile, Refused, Version
from tests.go_programs import build
from tests.stores.servers import BUCKET, PROGRAMS, LoopbackStore

WRITERS, ROUNDS = 64, 200


def winners(folder: str, writers: int, rounds: int, *, new: bool) -> Counter[int]:
    """How many rounds had how many winners. ``new``: each round makes the file, else it replaces that of the last."""
    name = str(uuid4())
    files = [ConditionalFile(folder, name) for _ in range(writers)]
    replaces = None if new else files[0].write("0", None)
    counted: Counter[int] = Counter()
    with ThreadPoolExecutor(writers) as pool:
        for _ in range(rounds):
            won = _round(pool, files, replaces)
            counted[len(won)] += 1
            if new:
                files[0].delete()
            elif won:
                replaces = won[-1]
    return counted


def _round(pool: ThreadPoolExecutor, files: list[ConditionalFile], replaces: Version | None) -> list[Version]:
    together = Barrier(len(files))

    def write(file: ConditionalFile) -> Version | None:
        together.wait()
        with suppress(Refused):
            return file.write(str(uuid4()), replaces)
        return None

    return [one for one in pool.map(write, files) if one is not None]


def main() -> int:
    """Print a line for each server and condition; 1 if a round had another number of winners than one."""
    found = 0
    for program in PROGRAMS:
        build(program)
        with LoopbackStore(program) as store, pytest.MonkeyPatch.context() as patch:
            for name, value in store.environment.items():
                patch.setenv(name, value)
            for new in (True, False):
                began = time.monotonic()
                counted = winners(f"s3a://{BUCKET}/{uuid4()}", WRITERS, ROUNDS, new=new)
                found |= counted != {1: ROUNDS}
                condition = "If-None-Match: *" if new else "If-Match"
                took = time.monotonic() - began
                print(
                    f"{program.name} {program.version}, {condition}: {WRITERS} writers, {ROUNDS} rounds, "
                    f"winners in a round: {dict(counted)}, {took:.0f} s",
                    flush=True,
                )
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
