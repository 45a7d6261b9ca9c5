"""What the core is told: timers and rules for groups, as plain values. ``streaming.config`` reads them from a file."""

from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct, field


class Timing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Times in milliseconds, and two counts. The defaults follow RocketMQ's own timers (see docs/findings.md)."""

    grace_membership_ms: int = 25_000  # rebalance every 20 s
    grace_route_ms: int = 55_000  # route poll every 30 s, then the rebalance timer
    grace_broker_ms: int = 175_000  # name server drops a broker after 120 s; heartbeats come back within 30 s
    grace_orderly_extra_ms: int = 60_000  # a dead client's queue locks expire after 60 s
    settle_limit: int = 3  # times grace: how long a queue may differ and still count as settling
    hold_critical_ms: int = 5_000
    hold_warning_ms: int = 30_000
    stall_ms: int = 60_000
    consume_stall_ms: int = 300_000  # longer than a batch takes; consumers store their offset every 5 s
    report_max_age_ms: int = 90_000
    view_max_age_ms: int = 20_000
    route_max_age_ms: int = 200_000
    progress_max_gap_ms: int = 180_000
    deploy_wait_ms: int = 540_000
    second_address_proof_ms: int = 155_000
    ahead_of_clock_ms: int = 10_000
    storm_window_ms: int = 300_000
    storm_changes: int = 6
    gone_after_ms: int = 3_600_000
    forget_after_ms: int = 7 * 86_400_000


class GroupRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an operator says about the groups that match; ``cluster`` and ``group`` are shell patterns.

    ``strategy`` is RocketMQ's ``getName()`` with the ``params`` of the vectors' format; None: go by the reports.
    """

    group: str = "*"
    cluster: str = "*"
    strategy: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    orderly: bool | None = None
    excluded: bool = False
    always_on: bool = False


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can change a fact. It is kept beside the checkpoint, since a batch ends as it began."""

    timing: Timing = field(default_factory=Timing)
    groups: tuple[GroupRule, ...] = ()

    def rule_for(self, cluster: str, group: str) -> GroupRule:
        """The first rule that matches; without one, the default rule."""
        for rule in self.groups:
            if fnmatchcase(cluster, rule.cluster) and fnmatchcase(group, rule.group):
                return rule
        return _DEFAULT_RULE


_DEFAULT_RULE = GroupRule()
