"""Questions about clients: which brokers list them, where they connect from, and which of them are one process."""

from collections.abc import Sequence
from operator import attrgetter

from schemas.identity import host_of, with_host
from streaming.core.state.group_state import Client, MembershipChange


def is_listed(client: Client) -> bool:
    return any(client.entries)


def entries_at(client: Client, index: int) -> int:
    """How often the broker at ``index`` lists the client."""
    return client.entries[index] if index < len(client.entries) else 0


def addresses_of(client: Client, index: int | None = None) -> tuple[str, ...]:
    """Where the client connects from, as one broker sees it, or as all do."""
    known = client.addresses if index is None else client.addresses[index : index + 1]
    return tuple(sorted({with_host(address, client.client_id) for seen in known for address in seen.split()}))


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
