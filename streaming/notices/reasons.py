"""The reason of a queue or a group as a sentence: the part that is common to all languages."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from schemas.reasons import KINDS, ReasonDetails, ReasonKind
from streaming.notices.evidence import Clock

ReasonSentences: TypeAlias = Mapping[ReasonKind, Callable[[ReasonDetails, Clock], str]]

_NO_DETAILS = ReasonDetails()


def reason_said(kind: str, details: ReasonDetails | None, sentences: ReasonSentences, clock: Clock) -> str:
    """The reason. Facts of evenkeel 0.1 have an English sentence instead of the kind; it is shown unchanged."""
    return sentences[ReasonKind(kind)](details or _NO_DETAILS, clock) if kind in KINDS else kind
