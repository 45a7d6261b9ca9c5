"""The timers, in seconds in the configuration; the core uses milliseconds."""

from typing import Any

from pydantic import Field

from streaming.config.values import LongSeconds, Seconds, Section, SomeSeconds
from streaming.core.default_settings import DEFAULT_TIMING
from streaming.core.settings import Timing


def _seconds(milliseconds: int) -> float:
    return milliseconds / 1000


class TimingSection(Section):
    """The timers of ``core.settings.Timing`` that can be set. The defaults follow RocketMQ's own timers."""

    grace_membership_seconds: Seconds = _seconds(DEFAULT_TIMING.grace_membership_ms)
    grace_route_seconds: Seconds = _seconds(DEFAULT_TIMING.grace_route_ms)
    grace_broker_seconds: Seconds = _seconds(DEFAULT_TIMING.grace_broker_ms)
    grace_orderly_extra_seconds: Seconds = _seconds(DEFAULT_TIMING.grace_orderly_extra_ms)
    settle_limit: int = Field(DEFAULT_TIMING.settle_limit, ge=1, le=100)
    hold_critical_seconds: Seconds = _seconds(DEFAULT_TIMING.hold_critical_ms)
    hold_warning_seconds: Seconds = _seconds(DEFAULT_TIMING.hold_warning_ms)
    stall_seconds: SomeSeconds = _seconds(DEFAULT_TIMING.stall_ms)
    consume_stall_seconds: SomeSeconds = _seconds(DEFAULT_TIMING.consume_stall_ms)
    report_max_age_seconds: SomeSeconds = _seconds(DEFAULT_TIMING.report_max_age_ms)
    view_max_age_seconds: SomeSeconds = _seconds(DEFAULT_TIMING.view_max_age_ms)
    route_max_age_seconds: SomeSeconds = _seconds(DEFAULT_TIMING.route_max_age_ms)
    progress_max_gap_seconds: SomeSeconds = _seconds(DEFAULT_TIMING.progress_max_gap_ms)
    deploy_wait_seconds: Seconds = _seconds(DEFAULT_TIMING.deploy_wait_ms)
    second_address_proof_seconds: Seconds = _seconds(DEFAULT_TIMING.second_address_proof_ms)
    ahead_of_clock_seconds: Seconds = _seconds(DEFAULT_TIMING.ahead_of_clock_ms)
    storm_window_seconds: SomeSeconds = _seconds(DEFAULT_TIMING.storm_window_ms)
    storm_changes: int = Field(DEFAULT_TIMING.storm_changes, ge=1, le=10_000)
    gone_after_seconds: LongSeconds = _seconds(DEFAULT_TIMING.gone_after_ms)
    forget_after_seconds: LongSeconds = _seconds(DEFAULT_TIMING.forget_after_ms)

    def timing(self) -> Timing:
        return Timing(**dict(_as_in_the_core(*item) for item in self.model_dump().items()))


def _as_in_the_core(name: str, value: float) -> tuple[str, Any]:
    """A timer in milliseconds; a count unchanged."""
    if not name.endswith("_seconds"):
        return name, value
    return f"{name.removesuffix('_seconds')}_ms", round(value * 1000)
