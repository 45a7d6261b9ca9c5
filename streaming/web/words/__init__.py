"""The text of the pages in English and Chinese. The text about alerts comes from ``streaming.notices``."""

from datetime import UTC, tzinfo
from typing import NamedTuple

from schemas.reasons import ReasonDetails
from streaming.core.finding_kinds import Scope, row_of
from streaming.explain.reasons import why_of
from streaming.explain.snapshot import ExplainedQueue
from streaming.notices.language import Language
from streaming.notices.languages import LANGUAGES
from streaming.notices.notice import OpenAlert
from streaming.notices.page_parts import headline, note_on, who_should_own
from streaming.web.words.chinese import CHINESE, STEPS
from streaming.web.words.english import ENGLISH
from streaming.wording.times import clock, moment, zone_then

WORDS = {"en": ENGLISH, "zh": CHINESE}


class Words(NamedTuple):
    """The words of a language. ``of_pages``: the sentences of notices, for equal words. ``zone``: of times shown."""

    own: dict[str, str]
    of_pages: Language
    zone: tzinfo | None = UTC

    def __call__(self, key: str, **values: object) -> str:
        """A sentence with its values. Raises KeyError for an unknown one."""
        return self.own[key].format(**values) if values else self.own[key]

    def clock(self, ts: int, now: int) -> str:
        """``16:58:03``, with its day in front if that differs from ``now``'s."""
        return clock(ts, now, self.zone)

    def zoned(self, ts: int, now: int) -> str:
        """``16:58:03 UTC+08:00``."""
        return f"{self.clock(ts, now)} {zone_then(ts, self.zone)}"

    def moment(self, ts: int) -> str:
        """``2026-11-21 16:58:03 UTC+08:00``."""
        return moment(ts, self.zone)

    def finding(self, kind: str, number: int) -> str:
        """The words for a count of a kind in the group's status: a number of queues or topics, or the group itself."""
        own, row = self.own.get(f"finding_{kind}"), row_of(kind)
        queues = number if row is not None and row.scope is Scope.QUEUE else 0
        return own.format(queues=self.of_pages.queues(queues)) if own else self.of_pages.kind(kind, queues)

    def headline(self, alert: OpenAlert, now: int) -> str:
        return headline(alert, self.of_pages, now, self.zone)

    def note(self, alert: OpenAlert, now: int) -> str:
        """The reason why it does not fire yet, or is open though it is right for now."""
        return note_on(alert, self.of_pages, now, self.zone)

    def should_own(self, queue: ExplainedQueue, now: int) -> str:
        """The expected owners, or why they are not known."""
        if queue.expected is not None:
            return who_should_own(queue.expected, queue.owners, queue.finding, queue.cause, self.of_pages)
        if not queue.is_reason_of_expected:
            return self.own["not_known"]
        why = self.reason(queue.reason_kind, queue.reason_details, now)
        return self.of_pages.not_known.format(why=why)

    def step(self, reason: str) -> str:
        return STEPS.get(reason, reason) if self.own is CHINESE else why_of(reason)

    def reason(self, kind: str | None, details: ReasonDetails | None, now: int) -> str:
        """The reason why something is not judged; empty if it is."""
        return self.of_pages.reason(kind, details, lambda ts: self.clock(ts, now)) if kind else ""


def words_in(language: str, zone: tzinfo | None = UTC) -> Words:
    return Words(WORDS[language], LANGUAGES[language], zone)


def preferred(header: str, chosen: str = "") -> str:
    """The language that was ``chosen``, else the first known one of an Accept-Language header, else English."""
    if chosen in WORDS:
        return chosen
    wanted = sorted(enumerate(header.split(",")[:20]), key=lambda one: (-_quality(one[1]), one[0]))
    names = (part.split(";")[0].strip().lower().split("-")[0] for _, part in wanted if _quality(part) > 0)
    return next((name for name in names if name in WORDS), "en")


def _quality(part: str) -> float:
    _, _, value = part.partition("q=")
    try:
        return float(value) if value else 1.0
    except ValueError:
        return 0.0
