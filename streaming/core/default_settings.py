"""The default of every timer that can be set: a constant of the same name, in the module that acts on it."""

from typing import Any

import msgspec

from streaming.core import finding_kinds, retention
from streaming.core.alerts import signals
from streaming.core.evidence import grace, group_evidence, member_evidence, queue_evidence, stalls
from streaming.core.findings import rebalance_storm
from streaming.core.intake import clock
from streaming.core.settings import Settings, Timing
from streaming.core.state import offsets, routes

MODULES = (
    *(signals, grace, group_evidence, member_evidence, queue_evidence, stalls),
    *(rebalance_storm, finding_kinds, clock, retention, offsets, routes),
)


def _default(timer: str) -> int:
    (value,) = {getattr(module, timer.upper()) for module in MODULES if hasattr(module, timer.upper())}
    return int(value)


DEFAULT_TIMING = Timing(**{timer: _default(timer) for timer in Timing.__struct_fields__})
DEFAULT_SETTINGS = Settings(timing=DEFAULT_TIMING)


def stored_settings(text: str) -> Settings:
    """Settings that this or another evenkeel stored as JSON. Raises MsgspecError.

    A timer that could not be set then has its default; one that cannot be set any more is left out.
    """
    stored: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
    timing = msgspec.convert(stored.get("timing", {}), dict[str, Any])
    return msgspec.convert({**stored, "timing": msgspec.structs.asdict(DEFAULT_TIMING) | timing}, Settings)
