"""Client ids that brokers list twice: used by two instances, or by one and a connection that has died."""

from streaming.core.state.group import Group
from streaming.core.state.group_state import Client, Report

SECOND_ADDRESS_PROOF_MS = 155_000  # a broker drops a silent connection after 120 s, and checks every 10 s


def _doubled_since(group: Group, client: Client) -> int:
    """When a list that has the id twice last changed: reports from before prove nothing."""
    brokers = zip(group.state.brokers, client.entries, strict=False)
    return max((broker.changed_ts for broker, entries in brokers if entries > 1), default=0)


def may_be_dead(group: Group, client: Client) -> bool:
    """True if its second connection has been listed for no longer than brokers keep a dead one."""
    return group.state.now - _doubled_since(group, client) < group.timing.second_address_proof_ms


def two_instances_answer(group: Group, client: Client, reports: list[Report]) -> bool:
    """Two start times under one client id, both reported lately: two instances."""
    not_before = max(group.state.now - group.timing.report_max_age_ms, _doubled_since(group, client))
    return len(reports) > 1 and all(report.answered_ts > not_before for report in reports)


def two_instances_at_once(group: Group, reports: list[Report]) -> bool:
    """True if the one that started first still answered after the other had started: it was no restart."""
    if len(reports) < 2 or not all(report.start_ts for report in reports):
        return False
    first, second = sorted(reports, key=lambda report: report.start_ts)
    not_before = group.state.now - group.timing.second_address_proof_ms
    return first.answered_ts > max(not_before, second.start_ts + group.timing.ahead_of_clock_ms)


def two_addresses_stay(group: Group, client: Client) -> bool:
    """True if the same two addresses have been listed for longer than brokers keep a dead connection."""
    since_ts = client.two_addresses_since_ts
    return since_ts > 0 and group.state.now - since_ts >= group.timing.second_address_proof_ms


def two_connections_alive(client: Client) -> bool:
    """Two connections to one broker have sent heartbeats since both were there. A dead connection sends none."""
    return client.alive > 1
