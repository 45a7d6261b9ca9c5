"""Facts of a group that the tables do not have yet, out of the commits of the facts."""

from deltalake.exceptions import DeltaError

from schemas.facts import (
    AlertFact,
    Fact,
    GroupFact,
    MemberFact,
    MembershipFact,
    Payload,
    QueueFact,
    RebalanceFact,
)  # fmt: skip
from schemas.tables import FACTS
from streaming.newest_facts import GroupName
from streaming.projections.progress import Progress
from streaming.tables.facts_log import FactsLog

KINDS: tuple[type[Payload], ...] = (AlertFact, GroupFact, MemberFact, MembershipFact, QueueFact, RebalanceFact)
MOST_COMMITS = 200  # of more than these, the table is quicker to read than the files of each


def facts_after(tables: str, progress: Progress | None, name: GroupName) -> list[Fact] | None:
    """What was committed after ``progress``. None where the commits cannot say it, or are too many."""
    if progress is None or progress.done.initial:
        return None
    log = FactsLog(f"{tables}/{FACTS.name}")
    found: list[Fact] = []
    try:
        if log.newest().id != progress.done.table:
            return None
        for version in range(progress.done.version, progress.done.version + MOST_COMMITS):
            files = log.new_files(version)
            if files is None:
                return found if log.newest().version < version else None
            for file in files:
                found += log.facts(file, KINDS, *name)
    except (DeltaError, OSError):
        return None  # compacted and deleted meanwhile
    return None
