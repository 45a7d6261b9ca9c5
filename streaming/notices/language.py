"""The texts that each language must have. Templates are for :meth:`str.format`; each names its values."""

from typing import NamedTuple

from msgspec import Struct

from schemas.reasons import ReasonDetails
from streaming.notices.evidence import Clock, Sentences, reason_said
from streaming.wording.numbers import age


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


class Language(Struct, frozen=True, kw_only=True):
    """The texts of a language. ``kinds``: findings, with ``{queues}``; ``do`` and ``now``: of kinds without a cause.

    ``unseen``: why evenkeel does not see; ``seen``: the evidence for it; ``trouble_text`` has the values of both.
    ``checks``: what to check, if it is not the same for every trouble of its kind. ``waits``: what a pending alert
    waits for, by ``WaitsFor``. ``expected_of_none``: what is missing if no client should own a queue, by its cause or
    kind, else under "". ``findings_doc``: the file of the docs that explains kinds and causes.
    """

    findings_doc: str
    severities: dict[str, str]
    resolved: str
    kinds: dict[str, str]
    causes: dict[str, Advice]
    do: dict[str, str]
    now: dict[str, str]
    changes: dict[str, str]
    troubles: dict[str, Trouble]
    test: Trouble
    units: dict[str, str]

    queues: Noun
    messages: Noun
    records: Noun
    groups: Noun
    instances: Noun
    more_queues: Noun
    more_clients: Noun
    more_changes: Noun
    more_groups: Noun
    more_alerts: Noun
    more_names: Noun
    any_cluster: str

    evidence: Sentences
    unseen: dict[str, str]
    seen: dict[str, str]
    checks: dict[str, tuple[str, ...]]
    comma: str
    semicolon: str
    title: str
    storm_title: str
    cluster_title: str
    over: str
    stale_title: str
    group_line: str
    cluster_line: str
    cluster_only: str
    since: str
    lasted: str
    alert_line: str
    of_topic: str
    owned_by: str
    owned_by_nobody: str
    owner_not_known: str
    expected: str
    expected_not_known: str
    not_known: str
    one_instance: str
    expected_of_none: dict[str, str]
    nobody: str
    cause_line: str
    cause_was: str
    evidence_line: str
    stale: str
    at_rest: str
    lists_differ: str
    right_for_now: str
    right_since: str
    waits: dict[str, str]
    deploy_goes_on: str
    waiting_line: str
    oldest: str
    client_line: str
    version: str
    listed: str
    subscribes: str
    started: str
    answered: str
    change_line: str
    endings: dict[str, str]
    do_line: str
    now_line: str
    storm_do: str
    next_line: str
    on_host: str
    check_line: str
    silence_line: str
    about_line: str
    link_line: str
    group_in_storm: str
    because: str

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
        """The reason why a queue or a group is not judged."""
        return reason_said(kind, details, self.evidence, clock)

    def advice(self, cause: str) -> Advice:
        """The advice for a cause; a cause without words is shown by its name."""
        return self.causes.get(cause, Advice(cause, "", self.causes["UNEXPLAINED"].do))
