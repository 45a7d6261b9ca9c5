"""How often what is asked, in milliseconds: by the configuration, or as a look or the simulation wants it.

The defaults stand in the table ``[collector]`` of ``config/sections``. What cannot be set stands in the schedules.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from zlib import crc32

from schemas.identity import REVIVE_GROUP
from streaming.config.sections import Config
from streaming.core.settings import Timing
from streaming.core.state.members import longest_empty_ms

TABLES_TIMEOUT_MS = 10_000  # of groups and of offsets: these answers can be long
REPORT_EMPTY_LONGER_MS = 600_000  # than the job may need to hear of a group without members


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """``running_info_ms`` and ``offsets_ms`` 0: neither is asked. ``spreads`` false: the first round asks all.

    ``include`` and ``exclude`` are shell patterns of groups. ``is_always_on``: groups that are watched without members.
    ``report_empty_ms``: how long events are sent of a group that lost its members. ``first_ask_ms``: clients that are
    there from the start are asked so much later; 1: not in the first round.
    ``backlogs``: of how many groups without members offsets are asked in one round, at most; each group once in 50 s.
    Events are sent of a group from when messages wait in it. ``rests_when_empty``: a group that has been empty for
    long is asked less often.
    ``confirms``: rounds confirm what has not changed; false: it is told in full each time.
    ``timing``: the job's, which says from when on reports count.
    """

    interval_ms: int
    timeout_ms: int
    running_info_ms: int
    offsets_ms: int
    idle_offsets_ms: int
    route_ms: int
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    is_always_on: Callable[[str], bool]
    report_empty_ms: int
    timing: Timing
    spreads: bool = True
    tables_timeout_ms: int = TABLES_TIMEOUT_MS
    first_ask_ms: int = 0
    backlogs: int = 0
    rests_when_empty: bool = True
    confirms: bool = True

    @property
    def running_info_at_rest_ms(self) -> int:
        """How often a client of a group at rest is asked: less often, but three times before its report is too old."""
        longest = max(self.running_info_ms, self.timing.report_max_age_ms // 3)
        return min(self.running_info_ms * 3 // 2, longest) if self.spreads else self.running_info_ms

    def covers(self, group: str) -> bool:
        """Returns whether a group is to be watched at all."""
        return not is_system_group(group) and self._is_chosen(group)

    @property
    def covers_revivals(self) -> bool:
        """Returns whether brokers are asked how far they are in their revive logs."""
        return self.offsets_ms > 0 and self._is_chosen(REVIVE_GROUP)

    def _is_chosen(self, group: str) -> bool:
        return matches(group, self.include) and not matches(group, self.exclude)

    def phase(self, name: str, period_ms: int) -> int:
        """When in a period something falls due first: spread by its name, so that not all does at once."""
        return crc32(name.encode("utf-8", "surrogatepass")) % max(1, period_ms) if self.spreads else 0


def policy_of(config: Config, cluster: str) -> Policy:
    """How a live collector asks a cluster. It reports a group without members until its alerts have ended as gone."""
    collector, settings = config.collector, config.settings()

    @lru_cache(maxsize=65_536)
    def is_always_on(group: str) -> bool:
        return settings.rule_for(cluster, group).always_on

    return Policy(
        interval_ms=_ms(collector.interval_seconds),
        timeout_ms=_ms(collector.timeout_seconds),
        running_info_ms=_ms(collector.running_info_seconds) if collector.running_info else 0,
        offsets_ms=_ms(collector.offsets_seconds),
        idle_offsets_ms=_ms(collector.idle_offsets_seconds),
        route_ms=_ms(collector.route_seconds),
        include=tuple(collector.include),
        exclude=tuple(collector.exclude),
        is_always_on=is_always_on,
        report_empty_ms=longest_empty_ms(settings) + REPORT_EMPTY_LONGER_MS,
        timing=settings.timing,
    )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


DEFAULT_POLICY = policy_of(Config(), cluster="")


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


SYNCER_GROUP = "CID_DefaultHeartBeatSyncerTopic"  # its members are the proxies (AbstractSystemMessageSyncer)
_SYSTEM_GROUPS = frozenset({
    SYNCER_GROUP,
    "CID_ONS-HTTP-PROXY", "CID_ONSAPI_OWNER", "CID_ONSAPI_PERMISSION", "CID_ONSAPI_PULL", "CLIENT_INNER_PRODUCER",
    "DEFAULT_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "SELF_TEST_CONSUMER_GROUP", "SELF_TEST_P_GROUP",
    "SELF_TEST_PRODUCER_GROUP", "TOOLS_CONSUMER", "__MONITOR_CONSUMER",
})  # fmt: skip


def is_system_group(group: str) -> bool:
    """Groups of RocketMQ's own (``MixAll``), in a namespace too; and that of its proxies, whose ids are all alike."""
    name = group.rsplit("%", 1)[-1]
    return name in _SYSTEM_GROUPS or name.startswith("CID_RMQ_SYS_") or group.startswith("%RETRY%")
