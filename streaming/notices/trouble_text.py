"""The text about evenkeel's own trouble: what is wrong as far as the evidence shows, and the evidence. Pure."""

from collections.abc import Iterator

from schemas.facts import Contradiction
from streaming.notices.language import Language
from streaming.notices.languages import LANGUAGES
from streaming.notices.notice import MonitorTrouble, TroubleEvidence
from streaming.wording.names import plain
from streaming.wording.times import clock

_OF_THE_JOB = ("newest_round", "batch_ended", "working", "unread")
_OF_KAFKA = ("kafka", "quiet")
# The evidence for each reason; for other reasons there is none.
EVIDENCE: dict[str, tuple[str, ...]] = {
    "job_silent": ("newest_round", "working", "unread", "kafka"),
    "job_slow": _OF_THE_JOB,
    "kafka_silent": ("kafka", "newest_round"),
    "slow_or_kafka": ("kafka", *_OF_THE_JOB),
    "nothing_sent": (*_OF_KAFKA, "unread"),
    "none_of_it_sent": (*_OF_KAFKA, "unread", "newest_round"),
    "no_rounds": ("newest_round", "batch_ended", "working", "unread", "kafka"),
    "reads_old": _OF_THE_JOB,
    "sent_late": ("newest_round", "unread", "kafka"),
    "times_ahead": ("contradiction",),
    "times_behind": ("contradiction",),
    "lists_contradict": ("contradiction", "broker"),
}


def trouble_said(trouble: MonitorTrouble, language: str, now: int) -> str:
    words = LANGUAGES[language]
    return words.semicolon.join(trouble_sentences(trouble, words, now))


def trouble_sentences(trouble: MonitorTrouble, words: Language, now: int) -> Iterator[str]:
    """The trouble first, then its evidence. Each sentence has the time when it was seen."""
    seen = trouble.evidence or TroubleEvidence()
    detail = plain(words.reason(trouble.detail, trouble.reason_details, lambda ts: clock(ts, now)))
    values = {"detail": detail, **_values(seen, words, now)}
    said = words.unseen.get(trouble.why, "{detail}").format(**values)
    if said:
        yield said
    for part in EVIDENCE.get(trouble.why, ()):
        name = _template(part, seen)
        if name:
            yield words.seen[name].format(**values)


def _template(part: str, seen: TroubleEvidence) -> str:
    """The name of the sentence for this part; empty if it is not known."""
    if part == "kafka":
        if seen.kafka_error is None:
            return "kafka_answers" if seen.kafka_ts is not None else ""
        return "kafka_never" if seen.kafka_ts is None else "kafka_error"
    if part == "unread" and seen.unread == 0:
        return "nothing_unread"
    known = {
        "newest_round": seen.newest_round_ts,
        "batch_ended": seen.batch_ended_ts,
        "working": seen.working_ms,
        "unread": seen.unread,
        "quiet": seen.quiet_since_ts,
        "contradiction": seen.contradiction,
        "broker": seen.contradiction,
    }
    return part if known[part] is not None else ""


def _values(seen: TroubleEvidence, words: Language, now: int) -> dict[str, str]:
    def time(ts: int | None) -> str:
        return "?" if ts is None else clock(ts, now)

    return {
        "heard": time(seen.heard_ts),
        "error_time": time(seen.error_ts),
        "error": plain(seen.error),
        "newest_round": time(seen.newest_round_ts),
        "behind": words.lasting((seen.heard_ts or 0) - (seen.newest_round_ts or 0)),
        "batch_ended": time(seen.batch_ended_ts),
        "took": words.lasting(seen.batch_ms or 0),
        "working": words.lasting(seen.working_ms or 0),
        "unread": words.records(seen.unread or 0),
        "quiet": time(seen.quiet_since_ts),
        "kafka": time(seen.kafka_ts),
        "kafka_error": plain(seen.kafka_error or ""),
        **_contradiction_values(seen.contradiction, words),
    }


def _contradiction_values(found: Contradiction | None, words: Language) -> dict[str, str]:
    found = found or Contradiction("", "", "")
    return {
        "of_group": plain(found.group),
        "followed": plain(found.followed),
        "source": plain(found.source),
        "broker": plain(found.broker_name),
        "apart": words.lasting(abs(found.ahead_ms) or found.both_ms),
    }
