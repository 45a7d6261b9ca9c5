"""The reason of a queue or a group as a sentence of some language: what is the same in all of them."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from schemas.reasons import KINDS, ReasonDetails, ReasonKind
from streaming.notices.evidence import Clock

ReasonSentences: TypeAlias = Mapping[ReasonKind, Callable[[ReasonDetails, Clock], str]]

_NO_DETAILS = ReasonDetails()


def reason_said(kind: str, details: ReasonDetails | None, sentences: ReasonSentences, clock: Clock) -> str:
    """Facts of evenkeel 0.1 hold an English sentence in place of the kind. It is shown as it is, like a new kind."""
    return sentences[ReasonKind(kind)](details or _NO_DETAILS, clock) if kind in KINDS else kind
