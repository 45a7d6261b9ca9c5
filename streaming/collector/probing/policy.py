"""How often what is asked. Milliseconds throughout."""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from zlib import crc32

SLOW_MS = 1_000  # a client that takes longer to answer is asked less often, and a round waits no longer for one
RUNNING_INFO_TIMEOUT_MS = 12_000  # a broker gives its client 10 s, then answers 207
LONGEST_BACK_OFF_MS = 60_000
GAP_MS = 4_000  # between two requests to one client, in however many groups it is
SETTLE_IN_MS = 5_000  # a client that has just joined is asked no sooner
LOOK_MS = 50_000  # groups without members are looked at this often, so that one is noticed within a minute
TELLS_ALL_MS = 200_000  # after a start without a memory: long enough for it to be known that a group has no members
STAYS_WATCHED_MS = 600_000  # a group that has lost its members, and a broker that no route names, are asked that long
RETRY_ROUTE_MS = 60_000
GROUPS_MS = 30_000  # groups and their settings
TABLES_TIMEOUT_MS = 10_000  # of those, and of offsets: they can be long


@dataclass(frozen=True, slots=True)
class Policy:
    """``running_info_ms`` and ``offsets_ms`` 0: neither is asked. ``spreads`` false: the first round asks all.

    ``include`` and ``exclude`` are shell patterns of groups; ``is_always_on`` tells those watched without members too.
    ``tells_empty_ms`` is for how long a group that lost its members is still told of. ``first_ask_ms``: clients that
    are there from the start are asked that much later, so 1: not in the first round.
    ``backlogs`` is of how many groups without members, at most, offsets are asked in one round, each group once in
    50 s; one in which messages wait is told of from then on. ``empty_ms`` is between rounds of a group long empty.
    """

    interval_ms: int = 5_000
    timeout_ms: int = 3_000
    running_info_ms: int = 20_000
    offsets_ms: int = 20_000
    idle_offsets_ms: int = 60_000
    route_ms: int = 10_000
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    is_always_on: Callable[[str], bool] = lambda _: False
    tells_empty_ms: int = 4_200_000
    spreads: bool = True
    tables_timeout_ms: int = TABLES_TIMEOUT_MS
    first_ask_ms: int = 0
    backlogs: int = 0
    empty_ms: int = LOOK_MS

    def covers(self, group: str) -> bool:
        """Whether a group is to be watched at all."""
        return not is_system_group(group) and matches(group, self.include) and not matches(group, self.exclude)

    def phase(self, name: str, period_ms: int) -> int:
        """When in a period something falls due first: spread by its name, so that not all does at once."""
        return crc32(name.encode("utf-8", "surrogatepass")) % max(1, period_ms) if self.spreads else 0


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


_SYSTEM_GROUPS = frozenset({
    "CID_ONS-HTTP-PROXY", "CID_ONSAPI_OWNER", "CID_ONSAPI_PERMISSION", "CID_ONSAPI_PULL", "CLIENT_INNER_PRODUCER",
    "DEFAULT_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "SELF_TEST_CONSUMER_GROUP", "SELF_TEST_P_GROUP",
    "SELF_TEST_PRODUCER_GROUP", "TOOLS_CONSUMER", "__MONITOR_CONSUMER",
})  # fmt: skip


def is_system_group(group: str) -> bool:
    """Groups of RocketMQ's own (``MixAll``), in a namespace too."""
    name = group.rsplit("%", 1)[-1]
    return name in _SYSTEM_GROUPS or name.startswith("CID_RMQ_SYS_") or group.startswith("%RETRY%")
