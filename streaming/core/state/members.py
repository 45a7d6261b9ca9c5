"""Questions about members: who is listed, which clients are one process, who is to be replaced, who is due back.

A group may have no members for a while on purpose, as a job that runs for five minutes in each hour. This is configured
(``may_be_empty``), or learned from the group's own past: it has been without members several times, each time for about
as long, and came back. A run counts if the group consumed in it, so clients that crash as soon as they start teach
nothing. If such a group is not back when it is due, that is reported.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from operator import attrgetter

from schemas.identity import host_of, with_host
from streaming.core.finding_kinds import HOLD_NO_MEMBERS_MS
from streaming.core.settings import Settings
from streaming.core.state.group import Group
from streaming.core.state.group_state import Client, DeployChanges, MembershipChange


def is_listed(client: Client) -> bool:
    return any(client.entries)


def entries_at(client: Client, index: int) -> int:
    """How often the broker at ``index`` lists the client."""
    return client.entries[index] if index < len(client.entries) else 0


def addresses_of(client: Client, index: int | None = None) -> tuple[str, ...]:
    """Where the client connects from, as one broker sees it, or as all do."""
    known = client.addresses if index is None else client.addresses[index : index + 1]
    return tuple(sorted({with_host(address, client.client_id) for seen in known for address in seen.split()}))


def indices_of(group: Group, names: set[str]) -> tuple[int, ...]:
    """The indices of the clients with these ids, or on these hosts."""
    clients = enumerate(group.state.clients)
    return tuple(p for p, client in clients if {client.client_id, host_of(client.client_id)} & names)


def digest_of(client_ids: Iterable[str]) -> bytes:
    return blake2b("\n".join(client_ids).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def process_names(changes: Sequence[MembershipChange]) -> dict[str, str]:
    """Client id -> the name of its process: its host, for a process that is started again mostly has a new id.

    If several members of a host were there at once, each has its own id for a name. Members that did not change do not
    matter: of many containers with the same address one may restart again and again.
    """
    here: dict[str, set[str]] = {}
    crowded: set[str] = set()
    host_by_id = {client_id: host_of(client_id) for client_id in {change.client_id for change in changes}}
    for change in sorted(changes, key=attrgetter("ts", "joined")):
        host = host_by_id[change.client_id]
        if host not in here:
            here[host] = {change.client_id} if change.joined else set()
        elif change.joined:
            here[host].add(change.client_id)
        elif change.client_id in here[host]:
            here[host].remove(change.client_id)
        else:
            crowded.add(host)  # it had been there all along, beside the others
        if len(here[host]) > 1:
            crowded.add(host)
    return {one: one if host in crowded else host for one, host in host_by_id.items()}


STEPS_TO_KNOW_THE_PACE = 2


def is_to_be_replaced(group: Group, known: DeployChanges, client: Client) -> bool:
    """True if the member was there before the deploy, or was started since as all ran before, while others differ.

    A pod that joins right before the deploy, or is started again before its turn has come, runs what all ran.
    """
    if client.since_ts < known.began_ts:
        return True
    return known.mismatched and known.ran is not None and group.running_of(client) == known.ran


def patience_ms(group: Group, known: DeployChanges) -> int:
    """How long nothing may change before the deploy counts as stopped: clearly longer than between two changes.

    After the first step it is not known how long a deploy rests between steps: then ``deploy_wait_ms`` counts.
    """
    timing = group.timing
    if known.steps < STEPS_TO_KNOW_THE_PACE:
        return timing.deploy_wait_ms
    return min(timing.deploy_wait_ms, 2 * known.longest_ms + timing.grace_membership_ms)


PAUSES_KEPT = 3  # as many must be alike: an outage and the next one seldom last equally long
ALIKE = 2  # times the shortest, at most
LATE = 4  # a group is missed when it has been away for a quarter longer than ever before


def away_before_ms(group: Group) -> int:
    """For how long the group has been without members at most, where it comes back by itself; 0: not known of it."""
    pauses = group.state.past_pauses
    is_regular = len(pauses) == PAUSES_KEPT and max(pauses) <= ALIKE * min(pauses)
    return max(pauses) if is_regular else 0


def missed_since_ts(group: Group) -> int:
    """From when on the group is missed, epoch ms, so that ``hold_no_members_ms`` begins; 0: it has not become empty.

    A group that is always on, or of which nothing is known, is missed as soon as its last member has left.
    """
    state, rule = group.state, group.rule
    if not state.empty_since or rule.always_on:
        return state.empty_since
    before_ms = away_before_ms(group)
    may_be_ms = rule.may_be_empty_ms or before_ms + before_ms // LATE
    return state.empty_since + max(0, may_be_ms - HOLD_NO_MEMBERS_MS)


def expected_back_by(group: Group) -> int:
    """Until when, epoch ms, nobody need be told that the group has no members; 0: it has not become empty."""
    since_ts = missed_since_ts(group)
    return since_ts and since_ts + HOLD_NO_MEMBERS_MS


def longest_empty_ms(settings: Settings) -> int:
    """How long after its last member left a group may still have to be told, or its alert be ended."""
    gone_after_ms = settings.timing.gone_after_ms
    learned_ms = gone_after_ms + gone_after_ms // LATE
    return gone_after_ms + max([learned_ms, *(rule.may_be_empty_ms for rule in settings.groups)])
