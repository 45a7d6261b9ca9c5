"""The texts that each language must have. Templates are for :meth:`str.format`; each names its values."""

from typing import Any, NamedTuple

from schemas.reasons import ReasonDetails
from streaming.notices.evidence import Clock, Sentences, reason_said
from streaming.wording.times import age


class Noun(NamedTuple):
    """A noun with its number. ``{n}`` is the number."""

    one: str
    many: str

    def __call__(self, number: int) -> str:
        return (self.one if number == 1 else self.many).format(n=f"{number:,}")


class Advice(NamedTuple):
    """A cause in a few words, in a sentence, and what to do about it; ``now``: what helps until then, if anything."""

    brief: str
    sentence: str
    do: str
    now: str = ""


class Trouble(NamedTuple):
    """evenkeel's own trouble: its title with ``{since}``, once it is over with ``{age}``, and what to check."""

    title: str
    over: str
    meaning: str
    checks: tuple[str, ...]


class Language:
    """The texts of a language, each under its name; most are templates.

    ``kinds``: findings, with ``{queues}``; ``do`` and ``now``: of kinds without a cause. ``unseen``: why evenkeel does
    not see; ``seen``: the evidence for it; ``trouble_text`` has the values of both. ``checks``: what to check, if it is
    not the same for every trouble of its kind. ``waits``: what a pending alert waits for, by ``WaitsFor``.
    ``expected_of_none``: what is missing if no client should own a queue, by its cause or kind, else under "".
    ``findings_doc``: the file of the docs that explains kinds and causes.
    """

    causes: dict[str, Advice]
    troubles: dict[str, Trouble]
    test: Trouble
    evidence: Sentences
    checks: dict[str, tuple[str, ...]]

    def __init__(self, **texts: Any) -> None:
        vars(self).update(texts)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the language has no text {name!r}")

    def lasting(self, milliseconds: int) -> str:
        """``5 min`` in words of the language."""
        number, unit = age(milliseconds).split(" ")
        return f"{number} {self.units[unit]}"

    def kind(self, kind: str, queues: int) -> str:
        """``4 queues consumed twice``; a kind without words is shown by its name."""
        template = self.kinds.get(kind)
        if template is None:
            return f"{self.queues(queues)} {kind}" if queues else kind
        return template.format(queues=self.queues(queues))

    def trouble(self, kind: str) -> Trouble:
        """The text for evenkeel's own trouble, or for the test of a destination."""
        return self.test if kind == "test" else self.troubles[kind]

    def reason(self, kind: str, details: ReasonDetails | None, clock: Clock) -> str:
        return reason_said(kind, details, self.evidence, clock)

    def advice(self, cause: str) -> Advice:
        """The advice for a cause; a cause without words is shown by its name."""
        return self.causes.get(cause, Advice(cause, "", self.causes["UNEXPLAINED"].do))
