"""Joins and leaves that follow one another, as in a rolling deploy, and the pace at which they do."""

from streaming.core.state.group import Group
from streaming.core.state.group_state import Client, DeployChanges, RunningProfile
from streaming.core.state.members import is_to_be_replaced, patience_ms

DEPLOY_STEP_MS = 35_000  # pods that are stopped together have 30 s to end (Kubernetes); the next round sees it


def note_quick_restart(group: Group, client: Client) -> None:
    """Another process answers under a member's id, and no list was without the id."""
    known = _note_change(group, joined=True, left_since=[client.since_ts])
    if client.since_ts < known.began_ts and client.client_id not in known.restarted:
        known.restarted.append(client.client_id)


def note_second_instance(group: Group, client_id: str) -> None:
    """The id is listed twice: what looked like a restart was a second process, and the first runs on."""
    known = group.state.deploy
    if known is not None and client_id in known.restarted:
        known.restarted.remove(client_id)


def note_deploy_change(group: Group, joined: bool, left_since: list[int]) -> None:
    """Members joined or left. ``left_since``: since when each that left was a member."""
    known = _note_change(group, joined, left_since)
    known.left |= any(since_ts < known.began_ts for since_ts in left_since)


def _note_change(group: Group, joined: bool, left_since: list[int]) -> DeployChanges:
    state, now = group.state, group.state.now
    known = state.deploy
    if known is None or _is_over(group, known, left_since):
        known = state.deploy = DeployChanges(now, now, ran=_what_all_ran(group))
    known.longest_ms = max(known.longest_ms, now - known.last_ts)
    known.last_ts = now
    known.joined |= joined
    if left_since and (not known.steps or now - known.step_ts > DEPLOY_STEP_MS):
        known.step_ts = now
        known.steps += 1
    return known


def _is_over(group: Group, known: DeployChanges, left_since: list[int]) -> bool:
    """True if nothing has changed for long, or for a shorter time and no member is left that was there before.

    All members may have started together a moment ago: a change after that begins another deploy.
    """
    state = group.state
    rest_ms = state.now - known.last_ts
    if rest_ms <= 2 * group.timing.grace_membership_ms:
        return False
    listed = [client for client in state.clients if any(client.entries)]
    is_left = any(since_ts < known.began_ts for since_ts in left_since)
    is_left = is_left or any(is_to_be_replaced(group, known, client) for client in listed)
    return rest_ms > patience_ms(group, known) or not is_left


def _what_all_ran(group: Group) -> RunningProfile | None:
    """The settings of the members that were there before this change; None: they differ, or none has reported."""
    before = (client for client in group.state.clients if any(client.entries) and client.since_ts < group.state.now)
    running = {group.running_of(client) for client in before} - {None}
    return running.pop() if len(running) == 1 else None


def forget_finished_deploy(group: Group) -> None:
    state = group.state
    if state.deploy is not None and state.now - state.deploy.last_ts > patience_ms(group, state.deploy):
        state.deploy = None
