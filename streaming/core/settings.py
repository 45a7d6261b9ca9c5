"""The core's configuration: timers, and rules for groups. ``streaming.config`` reads them from a file."""

from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct, field


class Timing(Struct, frozen=True, kw_only=True):
    """The timers that can be set, in milliseconds, and two counts. ``default_settings`` has the default of each."""

    grace_membership_ms: int
    grace_route_ms: int
    grace_broker_ms: int
    grace_orderly_extra_ms: int
    settle_limit: int
    hold_critical_ms: int
    hold_warning_ms: int
    stall_ms: int
    consume_stall_ms: int
    report_max_age_ms: int
    view_max_age_ms: int
    route_max_age_ms: int
    progress_max_gap_ms: int
    deploy_wait_ms: int
    second_address_proof_ms: int
    ahead_of_clock_ms: int
    storm_window_ms: int
    storm_changes: int
    gone_after_ms: int
    forget_after_ms: int


class GroupRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An operator's rule for the groups that match; ``cluster`` and ``group`` are shell patterns.

    ``strategy`` is RocketMQ's ``getName()`` with the ``params`` of the vectors' format; None: go by the reports.
    """

    group: str = "*"
    cluster: str = "*"
    strategy: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    orderly: bool | None = None
    excluded: bool = False
    always_on: bool = False
    may_be_empty_ms: int = 0  # how long the group may have no members, on purpose; 0: as it has been before


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can change a fact. It is kept beside the checkpoint: a repeated batch uses the same settings."""

    timing: Timing
    groups: tuple[GroupRule, ...] = ()
    trusted_sources: tuple[str, ...] = ()  # patterns of producers that may send rounds and forget; none: all may

    def rule_for(self, cluster: str, group: str) -> GroupRule:
        """The first rule that matches; without one, the default rule."""
        for rule in self.groups:
            if fnmatchcase(cluster, rule.cluster) and fnmatchcase(group, rule.group):
                return rule
        return _DEFAULT_RULE


_DEFAULT_RULE = GroupRule()
