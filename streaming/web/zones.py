"""The zone in which a reader sees times: UTC if the reader chose it, else the browser's, else the configured one."""

import re
from datetime import timezone, tzinfo
from zoneinfo import ZoneInfo

from streaming.config.alert_rule_checks import zone_named

CHOSEN_COOKIE = "zone"
BROWSER_COOKIE = "browser_zone"  # the script sets it
CHOICES = ("utc", "local")
_NAME = re.compile(r"[A-Za-z0-9_+-]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,2}")


def reader_zone(chosen: str, of_browser: str, configured: tzinfo | None) -> tzinfo | None:
    """The reader's zone; None: this machine's. A cookie with an unknown name is ignored."""
    return timezone.utc if chosen == "utc" else own_zone(of_browser, configured)


def own_zone(of_browser: str, configured: tzinfo | None) -> tzinfo | None:
    """The reader's own zone, whatever was chosen."""
    return _named(of_browser) or configured


def _named(name: str) -> ZoneInfo | None:
    return zone_named(name) if _NAME.fullmatch(name) else None
