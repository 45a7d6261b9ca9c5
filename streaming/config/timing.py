"""The timers, in seconds as people write them; the core counts in milliseconds."""

from pydantic import Field

from streaming.config.values import LongSeconds, Seconds, Section, SomeSeconds
from streaming.core.settings import Timing

_DEFAULT = Timing()


def _seconds(milliseconds: int) -> float:
    return milliseconds / 1000


class TimingSection(Section):
    """Every timer of ``core.settings.Timing``. The defaults follow RocketMQ's own timers."""

    grace_membership_seconds: Seconds = _seconds(_DEFAULT.grace_membership)
    grace_route_seconds: Seconds = _seconds(_DEFAULT.grace_route)
    grace_broker_seconds: Seconds = _seconds(_DEFAULT.grace_broker)
    grace_orderly_extra_seconds: Seconds = _seconds(_DEFAULT.grace_orderly_extra)
    settle_limit: int = Field(_DEFAULT.settle_limit, ge=1, le=100)
    hold_critical_seconds: Seconds = _seconds(_DEFAULT.hold_critical)
    hold_warning_seconds: Seconds = _seconds(_DEFAULT.hold_warning)
    stall_seconds: SomeSeconds = _seconds(_DEFAULT.stall)
    consume_stall_seconds: SomeSeconds = _seconds(_DEFAULT.consume_stall)
    report_max_age_seconds: SomeSeconds = _seconds(_DEFAULT.report_max_age)
    view_max_age_seconds: SomeSeconds = _seconds(_DEFAULT.view_max_age)
    route_max_age_seconds: SomeSeconds = _seconds(_DEFAULT.route_max_age)
    progress_max_gap_seconds: SomeSeconds = _seconds(_DEFAULT.progress_max_gap)
    deploy_wait_seconds: Seconds = _seconds(_DEFAULT.deploy_wait)
    second_address_proof_seconds: Seconds = _seconds(_DEFAULT.second_address_proof)
    ahead_of_clock_seconds: Seconds = _seconds(_DEFAULT.ahead_of_clock)
    storm_window_seconds: SomeSeconds = _seconds(_DEFAULT.storm_window)
    storm_changes: int = Field(_DEFAULT.storm_changes, ge=1, le=10_000)
    gone_after_seconds: LongSeconds = _seconds(_DEFAULT.gone_after)
    forget_after_seconds: LongSeconds = _seconds(_DEFAULT.forget_after)

    def timing(self) -> Timing:
        values = self.model_dump()
        counts = {name: value for name, value in values.items() if not name.endswith("_seconds")}
        seconds = {name.removesuffix("_seconds"): value for name, value in values.items() if name not in counts}
        return Timing(**counts, **{name: round(value * 1000) for name, value in seconds.items()})
