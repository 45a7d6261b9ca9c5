"""The settings of the process that writes the projections: one line of JSON.

The interval of the projections stands in the table ``[job]`` of ``config/sections``.
"""

import msgspec
from msgspec import Struct

from streaming.config import Config


class ProjectionSettings(Struct, frozen=True, kw_only=True):
    """The settings. ``seconds``: from one batch to the next. ``keep_days``: for maintenance; None: no maintenance."""

    tables: str
    seconds: float
    keep_days: dict[str, int] | None = None
    log_level: str
    log_format: str


def projection_settings(config: Config) -> ProjectionSettings:
    return ProjectionSettings(
        tables=config.tables.path,
        seconds=config.job.projection_seconds,
        keep_days=config.tables.retention_days.model_dump() if config.job.maintenance else None,
        log_level=config.log.level,
        log_format=config.log.format,
    )


def encoded(settings: ProjectionSettings) -> bytes:
    return msgspec.json.encode(settings) + b"\n"


def decoded(line: bytes) -> ProjectionSettings:
    return msgspec.json.decode(line, type=ProjectionSettings)
