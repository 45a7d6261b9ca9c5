"""The default of every timer that can be set: the number stands in the module that acts on it."""

from typing import Any

import msgspec

from streaming.core.alerts.deploy_wait import DEPLOY_WAIT_MS
from streaming.core.alerts.signals import GONE_AFTER_MS
from streaming.core.evidence.grace import (
    GRACE_BROKER_MS,
    GRACE_MEMBERSHIP_MS,
    GRACE_ORDERLY_EXTRA_MS,
    GRACE_ROUTE_MS,
)
from streaming.core.evidence.group_evidence import REPORT_MAX_AGE_MS, VIEW_MAX_AGE_MS
from streaming.core.evidence.queue_evidence import SETTLE_LIMIT
from streaming.core.evidence.second_instance import SECOND_ADDRESS_PROOF_MS
from streaming.core.evidence.stalls import CONSUME_STALL_MS, STALL_MS
from streaming.core.finding_kinds import HOLD_CRITICAL_MS, HOLD_WARNING_MS
from streaming.core.findings.group_findings import STORM_CHANGES, STORM_WINDOW_MS
from streaming.core.intake.clock import AHEAD_OF_CLOCK_MS
from streaming.core.retention import FORGET_AFTER_MS
from streaming.core.settings import Settings, Timing
from streaming.core.state.offsets import PROGRESS_MAX_GAP_MS
from streaming.core.state.routes import ROUTE_MAX_AGE_MS

DEFAULT_TIMING = Timing(
    grace_membership_ms=GRACE_MEMBERSHIP_MS,
    grace_route_ms=GRACE_ROUTE_MS,
    grace_broker_ms=GRACE_BROKER_MS,
    grace_orderly_extra_ms=GRACE_ORDERLY_EXTRA_MS,
    settle_limit=SETTLE_LIMIT,
    hold_critical_ms=HOLD_CRITICAL_MS,
    hold_warning_ms=HOLD_WARNING_MS,
    stall_ms=STALL_MS,
    consume_stall_ms=CONSUME_STALL_MS,
    report_max_age_ms=REPORT_MAX_AGE_MS,
    view_max_age_ms=VIEW_MAX_AGE_MS,
    route_max_age_ms=ROUTE_MAX_AGE_MS,
    progress_max_gap_ms=PROGRESS_MAX_GAP_MS,
    deploy_wait_ms=DEPLOY_WAIT_MS,
    second_address_proof_ms=SECOND_ADDRESS_PROOF_MS,
    ahead_of_clock_ms=AHEAD_OF_CLOCK_MS,
    storm_window_ms=STORM_WINDOW_MS,
    storm_changes=STORM_CHANGES,
    gone_after_ms=GONE_AFTER_MS,
    forget_after_ms=FORGET_AFTER_MS,
)
DEFAULT_SETTINGS = Settings(timing=DEFAULT_TIMING)


def stored_settings(text: str) -> Settings:
    """Settings that this or another evenkeel stored as JSON. Raises MsgspecError.

    A timer that could not be set then has its default; one that cannot be set any more is left out.
    """
    stored: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
    timing = msgspec.convert(stored.get("timing", {}), dict[str, Any])
    return msgspec.convert({**stored, "timing": msgspec.structs.asdict(DEFAULT_TIMING) | timing}, Settings)
