"""The policy of requests for a look: sooner than for months of watching, but no client is asked more often."""

from dataclasses import dataclass, fields

from streaming.collector.probing.policy import Policy

INTERVAL_MS = 2_000
OFFSETS_MS = 1_500  # in each round: the first and the last answer of a look are more than two commits apart
TIMEOUT_MS = 2_000  # a client without an answer for so long is silent: a look has no time to wait
IDLE_OFFSETS_MS = 10_000  # a page must not show older lags
BACKLOGS = 100  # a broker reads its disk for each of a group's queues
FOREVER_MS = 1 << 62


@dataclass(frozen=True)
class InspectPolicy(Policy):
    """The policy. No request is put off to spread the load: the look would be over. A client rests between requests."""

    def phase(self, name: str, period_ms: int) -> int:
        return 0


def look_policy(policy: Policy, include: tuple[str, ...]) -> InspectPolicy:
    """The policy for a look. ``include`` empty: the groups that the configuration names.

    Clients are asked from the second round on: their reports count only if they are younger than the first lists.
    """
    given = {field.name: getattr(policy, field.name) for field in fields(Policy)}
    return InspectPolicy(
        **given
        | {
            "interval_ms": INTERVAL_MS,
            "offsets_ms": OFFSETS_MS,
            "idle_offsets_ms": IDLE_OFFSETS_MS,
            "report_empty_ms": FOREVER_MS,
            "backlogs": BACKLOGS,
            "rests_when_empty": not include,
            "timeout_ms": min(policy.timeout_ms, TIMEOUT_MS),
            "tables_timeout_ms": TIMEOUT_MS,
            "first_ask_ms": 1,
            "confirms": False,
            "include": include or policy.include,
            "is_always_on": lambda group: group in include or policy.is_always_on(group),
        }
    )
