"""The evidence of an alert as a sentence: the part that is common to all languages."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from schemas.facts import AlertFact
from schemas.observed import Clients, Observed, Part, parts_of

Clock = Callable[[int], str]  # epoch milliseconds to text in the reader's zone
NAMES_AT_MOST = 3


class Sentences(NamedTuple):
    """The sentences of a language. ``of``: the function for each kind of evidence; ``and_more`` takes ``{n}``.

    ``again`` takes ``{said}`` and ``{n}``, how often an alert has fired; ``forgotten`` takes ``{said}`` and ``{who}``.
    """

    of: Mapping[type[Part], Callable[[Any, Clock], str]]
    separator: str
    again: str
    forgotten: str


def said(evidence: Observed, sentences: Sentences, clock: Clock) -> str:
    """All evidence in one line."""
    text = sentences.separator.join(sentences.of[type(part)](part, clock) for part in parts_of(evidence))
    if evidence.fired_times is not None:
        text = sentences.again.format(said=text, n=evidence.fired_times)
    if evidence.forgotten_by is not None:
        text = sentences.forgotten.format(said=text, who=evidence.forgotten_by)
    return text


def evidence_of(alert: AlertFact, sentences: Sentences, clock: Clock) -> str:
    """The evidence of an alert. Facts of versions up to 0.1 have an English sentence, which is shown unchanged."""
    return alert.evidence if alert.observed is None else said(alert.observed, sentences, clock)


def first_of(clients: Clients, and_more: str) -> str:
    """The first three client ids, and how many more there are; ``and_more`` takes ``{n}``."""
    more = clients.count - NAMES_AT_MOST
    return ", ".join(clients.client_ids[:NAMES_AT_MOST]) + (and_more.format(n=more) if more > 0 else "")


def seconds(milliseconds: int) -> int:
    return milliseconds // 1000
