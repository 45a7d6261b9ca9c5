"""Reasons of queues and groups as sentences in both languages."""

import pytest

from schemas.observed import clients
from schemas.reasons import EXCLUSIONS, ReasonDetails, ReasonKind
from streaming.notices.evidence import Sentences, reason_said
from streaming.notices.evidence_chinese import CHINESE_EVIDENCE
from streaming.notices.evidence_english import ENGLISH_EVIDENCE, reason_in_short

LANGUAGES = [ENGLISH_EVIDENCE, CHINESE_EVIDENCE]
FULL = ReasonDetails(
    broker_names=("broker-a", "broker-b"),
    clients=clients(["w", "x", "y", "z"], 3),
    exclusions=("", "POP"),
    changed_ts=1,
    counts_from_ts=2,
    since_ts=3,
    strategy="AVG",
    refused_as="too_long",
    error="cut short",
)
SAID = [
    (ReasonKind.NO_ANSWER, FULL, "no answer from broker-a, broker-b", "broker-a, broker-b 没有应答"),
    (ReasonKind.NON_REPORTING_MEMBERS, FULL, "w, x, y and 1 more: what they own is not known (pulls by itself, POP)",
     "w, x, y 等另外 1 个 持有哪些队列未知（自行拉取, POP）"),
    (ReasonKind.NON_REPORTING_MEMBERS, ReasonDetails(clients=clients("x"), exclusions=("",)),
     "x: what it owns is not known (pulls by itself)", "x 持有哪些队列未知（自行拉取）"),
    (ReasonKind.MEMBERS_AT_PROXIES, ReasonDetails(clients=clients(("x", "y"))),
     "x, y: what they own is not known, because a proxy lists them", "x, y 由 Proxy 列出，持有哪些队列未知"),
    (ReasonKind.MEMBER_LIST_CHANGED, ReasonDetails(broker_names=("b",), changed_ts=1, counts_from_ts=2),
     "the list of b changed at <1>; evenkeel judges by reports from <2> on",
     "<1> b 的成员列表有变更；evenkeel 只采用 <2>"
     " 之后的上报"),
    (ReasonKind.NO_MEMBERS, FULL, "no broker has listed a member since <3>", "<3> 起没有任何 Broker 列出成员"),
    (ReasonKind.NO_MEMBERS, None, "no broker lists a member", "没有任何 Broker 列出成员"),
    (ReasonKind.EVENTS_REFUSED, FULL, "its events are refused: too_long, cut short",
     "其事件被拒收：too_long, cut short"),
    (ReasonKind.STRATEGY_THROWS, FULL, "AVG throws cut short", "AVG 抛出 cut short"),
]  # fmt: skip


def at(ts: int) -> str:
    return f"<{ts}>"


@pytest.mark.parametrize(("kind", "details", "english", "chinese"), SAID)
def test_a_reason_in_both_languages(kind: str, details: ReasonDetails | None, english: str, chinese: str) -> None:
    assert [reason_said(kind, details, sentences, at) for sentences in LANGUAGES] == [english, chinese]


@pytest.mark.parametrize("sentences", LANGUAGES, ids=["english", "chinese"])
def test_every_kind_has_its_own_sentence_with_and_without_details(sentences: Sentences) -> None:
    for details in (FULL, None):
        said = [reason_said(kind, details, sentences, at) for kind in ReasonKind]
        assert all(said)
        assert len(set(said)) == len(said)


def test_a_kind_of_a_newer_version_is_shown_as_it_is() -> None:
    assert {reason_said("NEW_KIND", None, sentences, at) for sentences in LANGUAGES} == {"NEW_KIND"}
    assert reason_in_short("NEW_KIND", None, at) == "NEW_KIND"


def test_an_exclusion_is_shown_by_its_name() -> None:
    assert all(reason_in_short(kind, None, at) == kind for kind in EXCLUSIONS)
    assert reason_in_short(None, None, at) is None
