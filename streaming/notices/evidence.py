"""Evidence and reasons as sentences, by the table of sentences of a language.

A sentence names fields of its evidence. Clients are shown as the first of them and how many more there are, times by
the reader's clock, and lists with separators. ``{silent_ms:s}`` and ``{silent_ms:min}`` are rounded down,
``{silent_ms:min_up}`` is rounded up. ``{pulled:?A|B}`` is A if the field has a value, else B; ``{clients:#A|B}`` is A
for a single one, else B. A and B may name fields.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from schemas.facts import AlertFact
from schemas.observed import BlockedQueue, BrokerQueues, Clients, Observed, QueueName, parts_of
from schemas.reasons import KINDS, ReasonDetails, ReasonKind

Clock = Callable[[int], str]  # epoch milliseconds to text in the reader's zone
NAMES_AT_MOST = 3
_WITH_COMMAS = (QueueName, BlockedQueue, BrokerQueues)  # a list of others has the separator of the language
_UNITS: dict[str, Callable[[int], int]] = {
    "s": lambda ms: ms // 1000,
    "min": lambda ms: ms // 60_000,
    "min_up": lambda ms: -(-ms // 60_000),
}


class Sentences(NamedTuple):
    """The sentences of a language: ``of`` each kind of evidence, its parts, and each reason.

    ``and_more`` takes ``{n}``. ``empty``: the words for an empty item in the list of this name. ``again`` takes
    ``{said}`` and ``{n}``, how often an alert has fired; ``forgotten`` takes ``{said}`` and ``{who}``.
    """

    of: Mapping[type[Struct] | ReasonKind, str]
    and_more: str
    empty: Mapping[str, str]
    separator: str
    again: str
    forgotten: str


class _Field(NamedTuple):
    """A field in a sentence: its value, and its text."""

    name: str
    value: Any
    text: str

    def __format__(self, spec: str) -> str:
        first, _, last = spec[1:].rpartition("|")
        if spec.startswith("?"):
            is_amount = type(self.value) is int and not self.name.endswith("_ts")
            return first if is_amount or self._number() else last
        if spec.startswith("#"):
            return first if self._number() == 1 else last
        return str(_UNITS[spec](self.value)) if spec and self.value is not None else self.text

    def _number(self) -> Any:
        """The number of clients or of a list's items; any other value itself."""
        if isinstance(self.value, Clients):
            return self.value.count
        return len(self.value) if isinstance(self.value, tuple) else self.value


def said(evidence: Observed, sentences: Sentences, clock: Clock) -> str:
    """All evidence in one line."""
    text = sentences.separator.join(_sentence(type(part), part, sentences, clock) for part in parts_of(evidence))
    if evidence.fired_times is not None:
        text = sentences.again.format(said=text, n=evidence.fired_times)
    if evidence.forgotten_by is not None:
        text = sentences.forgotten.format(said=text, who=evidence.forgotten_by)
    return text


def evidence_of(alert: AlertFact, sentences: Sentences, clock: Clock) -> str:
    """The evidence of an alert; empty if it has none."""
    return "" if alert.observed is None else said(alert.observed, sentences, clock)


def reason_said(kind: str, details: ReasonDetails | None, sentences: Sentences, clock: Clock) -> str:
    """The reason. A kind of a newer evenkeel is shown unchanged."""
    return _sentence(ReasonKind(kind), details or ReasonDetails(), sentences, clock) if kind in KINDS else kind


def _sentence(kind: type[Struct] | ReasonKind, it: Struct, sentences: Sentences, clock: Clock) -> str:
    fields = {name: _Field(name, value, _text(name, value, sentences, clock)) for name, value in asdict(it).items()}
    return sentences.of[kind].format(**fields)


def _text(name: str, value: Any, sentences: Sentences, clock: Clock) -> str:
    if isinstance(value, Clients):
        more = value.count - NAMES_AT_MOST
        names = ", ".join(value.client_ids[:NAMES_AT_MOST])
        return names + sentences.and_more.format(n=more) if more > 0 else names
    if isinstance(value, Struct):
        return _sentence(type(value), value, sentences, clock)
    if isinstance(value, tuple):
        texts = [_text(name, one, sentences, clock) or sentences.empty.get(name, "") for one in value]
        return _separator(value, sentences).join(texts)
    return clock(value) if name.endswith("_ts") and value is not None else str(value)


def _separator(items: tuple[Any, ...], sentences: Sentences) -> str:
    """The separator of a list: a semicolon if its items are lists or sentences."""
    if any(isinstance(one, Struct) and not isinstance(one, _WITH_COMMAS) for one in items):
        return sentences.separator
    return "; " if any(isinstance(one, tuple) for one in items) else ", "
