"""An operator forgets a group that was retired, so that nothing of it nags until it is given up by itself."""

from schemas.events import Forget
from streaming.core.alerting import end_forgotten
from streaming.core.group import Group
from streaming.core.roster import forget_the_absent


def take_forget(group: Group, event: Forget) -> None:
    """End the group's alerts, and drop the members that are not listed. What is found of it later is told anew."""
    end_forgotten(group, event.who)
    forget_the_absent(group)
    group.disturb()
