"""One fact for each client of which something has changed."""

from schemas.facts import MemberFact
from schemas.identity import is_retry_topic
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.state.group import Group
from streaming.core.state.group_state import EMITTED, NOT_EMITTED, NOTHING_LISTED, NOTHING_RUN, Client
from streaming.core.state.members import addresses_of


def emit_member_facts(group: Group, evidence: GroupEvidence) -> None:
    for index, client in enumerate(group.state.clients):
        if index in evidence.members:
            if client.emitted != EMITTED:
                client.emitted = EMITTED
                group.emit(_present(group, evidence, index, client))
        elif client.emitted != NOT_EMITTED:
            client.emitted = NOT_EMITTED
            group.emit(absent_member(client))


def absent_member(client: Client) -> MemberFact:
    return MemberFact(client_id=client.client_id, present=False, since_ts=client.since_ts)


def _present(group: Group, evidence: GroupEvidence, index: int, client: Client) -> MemberFact:
    heartbeat = group.heartbeat_of(client) or NOTHING_LISTED
    running = evidence.members[index].running or NOTHING_RUN
    return MemberFact(
        client_id=client.client_id,
        present=True,
        since_ts=client.since_ts,
        brokers=group.brokers_that_list(client),
        instances=evidence.members[index].entries,
        addresses=addresses_of(client),
        language=heartbeat.language,
        version=heartbeat.version,
        message_model=running.message_model or heartbeat.message_model,
        strategy=running.strategy,
        orderly=running.orderly,
        subscriptions=tuple(topic for topic, _ in running.subscriptions if not is_retry_topic(topic)),
        start_ts=client.reports[0].start_ts or None if client.reports else None,
    )
