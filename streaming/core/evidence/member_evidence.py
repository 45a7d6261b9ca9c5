"""The evidence of one member, before anything is judged."""

from streaming.core.evidence.exclusions import tells_when_it_owns_nothing, why_excluded
from streaming.core.evidence.second_instance import (
    may_be_dead,
    two_addresses_stay,
    two_connections_alive,
    two_instances_answer,
    two_instances_at_once,
)
from streaming.core.state.group import Group
from streaming.core.state.group_state import Client, HeartbeatProfile, Report, RunningProfile
from streaming.core.state.lost_evidence import reports_count_after


class MemberEvidence:
    """The reports of one listed client. ``as_of``: since when all of its instances have; 0: not all have.

    ``listed_since_ts``: the round before it was listed. What was reported earlier is of a process that has left since.
    ``exclusion``: why evenkeel does not judge it. ``is_non_reporting``: it does not say which queues it owns, or it is
    excluded. ``has_dead_connection``: it is listed twice, a second instance is not proven, and need not be yet.
    """

    __slots__ = (
        "as_of",
        "client",
        "entries",
        "exclusion",
        "has_dead_connection",
        "heartbeat",
        "index",
        "is_non_reporting",
        "listed_since_ts",
        "reports",
        "running",
        "second_instance_proven",
        "weight",
    )

    def __init__(self, group: Group, index: int, client: Client) -> None:
        state = group.state
        self.index = index
        self.client = client
        self.entries = max(client.entries)
        fresh = [r for r in client.reports if r.answered_ts > reports_count_after(state)]
        self.listed_since_ts = client.since_ts - state.interval
        fresh[1:] = [r for r in fresh[1:] if r.answered_ts > self.listed_since_ts]
        both_answer = two_instances_answer(group, client, fresh)
        are_two = both_answer or two_connections_alive(client) or two_addresses_stay(group, client)
        counts_twice = self.entries > 1 and are_two
        self.second_instance_proven = counts_twice or (self.entries > 1 and two_instances_at_once(group, fresh))
        is_unproven = self.entries > 1 and not self.second_instance_proven
        self.has_dead_connection = is_unproven and may_be_dead(group, client)
        only_one_is_heard = counts_twice and not both_answer
        self.reports: list[Report] = fresh[: 1 if only_one_is_heard else self.entries]
        lacking = len(self.reports) < self.entries and not (counts_twice and self.reports)
        self.as_of = 0 if lacking or not self.reports else min(r.answered_ts for r in self.reports)
        both_own = counts_twice and len(self.reports) == 1 and not client.stopped  # both compute the same share
        self.weight = self.entries if both_own else 1
        self.running: RunningProfile | None = state.running_profiles[fresh[0].running] if fresh else None
        self.heartbeat: HeartbeatProfile | None = group.heartbeat_of(client)
        self.exclusion = why_excluded(client.client_id, self.running, self.heartbeat)
        self.is_non_reporting = self.exclusion is not None or not self._says_what_it_owns()

    def _says_what_it_owns(self) -> bool:
        """True also for a member that has not reported yet: it may report what it owns."""
        if self.running is None or all(report.owned for report in self.reports):
            return True
        return tells_when_it_owns_nothing(self.running, self.heartbeat)
