"""The zone in which a reader sees times: UTC where that was chosen, else the browser's, else the configured one."""

import re
from datetime import timezone, tzinfo
from zoneinfo import ZoneInfo

from streaming.config import zone_named

CHOSEN_COOKIE = "zone"
BROWSER_COOKIE = "browser_zone"  # the script sets it
CHOICES = ("utc", "local")
_NAME = re.compile(r"[A-Za-z0-9_+-]{1,32}(/[A-Za-z0-9_+-]{1,32}){0,2}")


def reader_zone(chosen: str, of_browser: str, configured: tzinfo | None) -> tzinfo | None:
    """None: this machine's. What the cookies say is the reader's, so a name that is none is passed over."""
    return timezone.utc if chosen == "utc" else own_zone(of_browser, configured)


def own_zone(of_browser: str, configured: tzinfo | None) -> tzinfo | None:
    """The reader's, whatever was chosen."""
    return _named(of_browser) or configured


def _named(name: str) -> ZoneInfo | None:
    return zone_named(name) if _NAME.fullmatch(name) else None
