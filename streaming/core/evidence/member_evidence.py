"""The evidence of one member, and whether a second instance uses its id, or a connection with it has died."""

from streaming.core.evidence.exclusions import tells_when_it_owns_nothing, why_excluded
from streaming.core.state.group import Group
from streaming.core.state.group_state import Client, HeartbeatProfile, Report, RunningProfile
from streaming.core.state.routes import reports_count_after


class MemberEvidence:
    """The reports of one listed client. ``as_of``: since when all of its instances have; 0: not all have.

    ``listed_since_ts``: the round before it was listed. What was reported earlier is of a process that has left since.
    ``exclusion``: why evenkeel does not judge it. ``is_non_reporting``: it does not say which queues it owns, or it is
    excluded. ``has_dead_connection``: it is listed twice, a second instance is not proven, and need not be yet.
    """

    def __init__(self, group: Group, index: int, client: Client) -> None:
        state = group.state
        self.index = index
        self.client = client
        self.entries = max(client.entries)
        fresh = [r for r in client.reports if r.answered_ts > reports_count_after(state)]
        self.listed_since_ts = client.since_ts - state.interval
        fresh[1:] = [r for r in fresh[1:] if r.answered_ts > self.listed_since_ts]
        # two connections to one broker have sent heartbeats since both were there; a dead connection sends none
        both_answer = two_instances_answer(group, client, fresh)
        two_since_ts, kept_ms = client.two_addresses_since_ts, group.timing.second_address_proof_ms
        stay = two_since_ts > 0 and state.now - two_since_ts >= kept_ms  # for so long brokers list a dead connection
        are_two = both_answer or client.alive > 1 or stay
        counts_twice = self.entries > 1 and are_two
        self.second_instance_proven = counts_twice or (self.entries > 1 and two_instances_at_once(group, fresh))
        is_unproven = self.entries > 1 and not self.second_instance_proven
        self.has_dead_connection = is_unproven and state.now - _doubled_since(group, client) < kept_ms
        only_one_is_heard = counts_twice and not both_answer
        self.reports: list[Report] = fresh[: 1 if only_one_is_heard else self.entries]
        lacking = len(self.reports) < self.entries and not (counts_twice and self.reports)
        self.as_of = 0 if lacking or not self.reports else min(r.answered_ts for r in self.reports)
        both_own = counts_twice and len(self.reports) == 1 and not client.stopped  # both compute the same share
        self.weight = self.entries if both_own else 1
        self.running: RunningProfile | None = state.running_profiles[fresh[0].running] if fresh else None
        self.heartbeat: HeartbeatProfile | None = group.heartbeat_of(client)
        self.exclusion = why_excluded(client.client_id, self.running, self.heartbeat)
        # a member that has not reported yet may report what it owns
        self.is_non_reporting = self.exclusion is not None or (
            self.running is not None
            and not all(report.owned for report in self.reports)
            and not tells_when_it_owns_nothing(self.running, self.heartbeat)
        )


SECOND_ADDRESS_PROOF_MS = 155_000  # a broker drops a silent connection after 120 s, and checks every 10 s


def _doubled_since(group: Group, client: Client) -> int:
    """When a list that has the id twice last changed: reports from before prove nothing."""
    brokers = zip(group.state.brokers, client.entries, strict=False)
    return max((broker.changed_ts for broker, entries in brokers if entries > 1), default=0)


def two_instances_answer(group: Group, client: Client, reports: list[Report]) -> bool:
    """Two start times under one client id, both reported lately and since its two addresses are listed: two instances.

    The number of entries stays the same if it is started again while a dead connection is listed, or while both are.
    """
    max_age_ms = group.timing.report_max_age_ms
    not_before = max(group.state.now - max_age_ms, _doubled_since(group, client), client.two_addresses_since_ts)
    return len(reports) > 1 and all(report.answered_ts > not_before for report in reports)


def two_instances_at_once(group: Group, reports: list[Report]) -> bool:
    """True if the one that was heard first answered again after the other one was heard: it was no restart.

    When they started does not count: that is a time of their own clocks.
    """
    if len(reports) < 2 or not all(report.start_ts for report in reports):
        return False
    first, second = sorted(reports, key=_first_answered_ts)
    not_before = group.state.now - group.timing.second_address_proof_ms
    return first.answered_ts > max(not_before, _first_answered_ts(second))


def _first_answered_ts(report: Report) -> int:
    return report.first_answered_ts or report.answered_ts
