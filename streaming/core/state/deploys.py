"""Questions about a rolling deploy: which members it has yet to replace, and when it counts as stopped."""

from streaming.core.state.group import Group
from streaming.core.state.group_state import Client, DeployChanges

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
