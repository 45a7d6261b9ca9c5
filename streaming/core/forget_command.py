"""An operator forgets a group that was retired, so that nothing of it nags until it is given up by itself."""

from schemas.events import Forget
from streaming.core.alerts.lifecycle import end_forgotten
from streaming.core.retention import forget_absent_clients
from streaming.core.state.group import Group


def take_forget(group: Group, event: Forget) -> None:
    """End the group's alerts, and drop the members that are not listed. What is found of it later is told anew."""
    end_forgotten(group, event.who)
    forget_absent_clients(group)
    group.request_evaluation()
