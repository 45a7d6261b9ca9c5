"""The timers, in seconds as people write them; the core counts in milliseconds."""

from pydantic import Field

from streaming.config.values import LongSeconds, Seconds, Section, SomeSeconds
from streaming.core.default_timers import Timing

_DEFAULT = Timing()


def _seconds(milliseconds: int) -> float:
    return milliseconds / 1000


class TimingSection(Section):
    """The timers of ``core.default_timers.Timing`` that can be set. The defaults follow RocketMQ's own timers."""

    grace_membership_seconds: Seconds = _seconds(_DEFAULT.grace_membership_ms)
    grace_route_seconds: Seconds = _seconds(_DEFAULT.grace_route_ms)
    grace_broker_seconds: Seconds = _seconds(_DEFAULT.grace_broker_ms)
    grace_orderly_extra_seconds: Seconds = _seconds(_DEFAULT.grace_orderly_extra_ms)
    settle_limit: int = Field(_DEFAULT.settle_limit, ge=1, le=100)
    hold_critical_seconds: Seconds = _seconds(_DEFAULT.hold_critical_ms)
    hold_warning_seconds: Seconds = _seconds(_DEFAULT.hold_warning_ms)
    stall_seconds: SomeSeconds = _seconds(_DEFAULT.stall_ms)
    consume_stall_seconds: SomeSeconds = _seconds(_DEFAULT.consume_stall_ms)
    report_max_age_seconds: SomeSeconds = _seconds(_DEFAULT.report_max_age_ms)
    view_max_age_seconds: SomeSeconds = _seconds(_DEFAULT.view_max_age_ms)
    route_max_age_seconds: SomeSeconds = _seconds(_DEFAULT.route_max_age_ms)
    progress_max_gap_seconds: SomeSeconds = _seconds(_DEFAULT.progress_max_gap_ms)
    deploy_wait_seconds: Seconds = _seconds(_DEFAULT.deploy_wait_ms)
    second_address_proof_seconds: Seconds = _seconds(_DEFAULT.second_address_proof_ms)
    ahead_of_clock_seconds: Seconds = _seconds(_DEFAULT.ahead_of_clock_ms)
    storm_window_seconds: SomeSeconds = _seconds(_DEFAULT.storm_window_ms)
    storm_changes: int = Field(_DEFAULT.storm_changes, ge=1, le=10_000)
    gone_after_seconds: LongSeconds = _seconds(_DEFAULT.gone_after_ms)
    forget_after_seconds: LongSeconds = _seconds(_DEFAULT.forget_after_ms)

    def timing(self) -> Timing:
        values = self.model_dump()
        values = self.model_dump()
        counts = {name: value for name, value in values.items() if not name.endswith("_seconds")}
        seconds = {name.removesuffix("_seconds"): value for name, value in values.items() if name not in counts}
        return Timing(**counts, **{f"{name}_ms": round(value * 1000) for name, value in seconds.items()})
