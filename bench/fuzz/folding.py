"""What the job does with records, batch by batch: decoding, taking, quarantine, state and rows of facts."""

import gc
import signal
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from schemas.facts import QuarantineFact
from schemas.records import QUARANTINED_BYTES
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import Record, fold
from streaming.spark.operator import fact_row

HANGS_S = 30.0  # of the processor for a batch or an answer: then it is an error of evenkeel
MOST_PAYLOAD = 2 * QUARANTINED_BYTES  # bytes of a fact in JSON: a quarantined value takes four bytes for three


class Hangs(Exception):
    """Work that takes too long."""


@contextmanager
def watched(slowest: list[float]) -> Iterator[None]:
    """Raise Hangs in work that takes too long. ``slowest``: the seconds of the processor of the slowest so far."""

    def give_up(*_: object) -> None:
        raise Hangs(f"more than {HANGS_S:g} s of the processor")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, HANGS_S)
    began = time.process_time()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        slowest[0] = max(slowest[0], time.process_time() - began)


class FoldedShard:
    """One shard of the job, without Spark. ``counts``: of everything since it was made."""

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self._blob: bytes | None = None

    def forget(self) -> None:
        """Begin again without state."""
        self._blob = None

    def take(self, records: Iterable[Record]) -> None:
        """Raises AssertionError if something is missing: each event is counted, or has its row of quarantine."""
        gc.disable()  # as Spark's worker does
        try:
            folded = fold(self._blob, records, DEFAULT_SETTINGS)
        finally:
            gc.enable()
        self._blob = folded.blob
        rows = [fact_row(0, fact) for fact in folded.facts]
        assert all(len(row.payload) <= MOST_PAYLOAD for row in rows if row.fact == QuarantineFact.fact)
        refused = [fact.payload for fact in folded.facts if isinstance(fact.payload, QuarantineFact)]
        quarantined = sum(one.quarantined for one in folded.cluster_counts)
        assert sum(one.events for one in refused) == quarantined, "some are not in quarantine"
        self.counts["events"] += sum(one.events for one in folded.cluster_counts)
        self.counts["quarantined"] += quarantined
        self.counts["facts"] += len(rows) - len(refused)
        self.counts.update(f"quarantined as {one.reason}" for one in refused for _ in range(one.events))
        self.counts["largest_state_bytes"] = max(self.counts["largest_state_bytes"], len(folded.blob))
