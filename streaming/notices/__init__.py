"""The text of a notification: what is reported of an incident. Pure: a notice and a time in, text out."""

from streaming.notices.escaping import escape
from streaming.notices.notice import MonitorTrouble, Notice, OpenAlert, Site, Text, TroubleEvidence
from streaming.notices.page_text import write
from streaming.notices.trouble_text import trouble_said

__all__ = [
    "MonitorTrouble",
    "Notice",
    "OpenAlert",
    "Site",
    "Text",
    "TroubleEvidence",
    "escape",
    "trouble_said",
    "write",
]
