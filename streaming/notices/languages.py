"""The languages of notifications, by their codes."""

from streaming.notices.chinese import CHINESE
from streaming.notices.english import ENGLISH

LANGUAGES = {"en": ENGLISH, "zh": CHINESE}
