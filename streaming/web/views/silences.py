"""Silences: the open alerts that each of them silences, and the silence of each alert."""

from collections.abc import Iterable
from typing import NamedTuple

from streaming.notices.notice import OpenAlert
from streaming.notifier.silences import Silence
from streaming.web.views.alerts import in_order


class SilenceRow(NamedTuple):
    """A silence. ``alerts``: the open alerts that it silences then, the worst first; none if it is not active."""

    silence: Silence
    is_on: bool
    alerts: tuple[OpenAlert, ...]


def silence_rows(silences: Iterable[Silence], alerts: Iterable[OpenAlert], now: int) -> tuple[SilenceRow, ...]:
    """Rows of silences: the active ones, the newest first; then those that ended."""
    open_alerts = in_order(alerts)
    rows = [_row(one, open_alerts, now) for one in silences]
    return tuple(sorted(rows, key=lambda row: (not row.is_on, -row.silence.from_ts)))


def silenced(alerts: Iterable[OpenAlert], silences: Iterable[Silence], now: int) -> dict[str, Silence]:
    """The silence that lasts longest, by the fingerprint of each silenced alert."""
    on = sorted((one for one in silences if one.is_on(now)), key=lambda one: one.until_ts)
    return {alert.fact.fingerprint: one for alert in alerts for one in on if one.matches(alert)}


def _row(silence: Silence, alerts: list[OpenAlert], now: int) -> SilenceRow:
    is_on = silence.is_on(now)
    return SilenceRow(silence, is_on, tuple(one for one in alerts if is_on and silence.matches(one)))
