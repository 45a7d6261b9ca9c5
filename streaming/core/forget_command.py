"""An operator forgets a group that was retired: its alerts end at once, without waiting for ``gone_after_ms``."""

from schemas.events import Forget
from streaming.core.alerts.lifecycle import end_forgotten
from streaming.core.retention import forget_absent_clients
from streaming.core.state.group import Group


def take_forget(group: Group, event: Forget) -> None:
    """End the group's alerts, and drop the members that are not listed. Later findings are emitted again."""
    end_forgotten(group, event.who)
    forget_absent_clients(group)
    group.request_evaluation()
