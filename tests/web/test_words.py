"""Both languages say everything, with the same values; and nothing is said that no page shows."""

import re
from pathlib import Path
from string import Formatter

import pytest

from schemas.facts import Kind
from streaming.core.finding_kinds import KINDS, RIGHT, Scope
from streaming.explain.reasons import WHY
from streaming.web.words import WORDS, preferred, words_in
from streaming.web.words.chinese import CHINESE, STEPS
from streaming.web.words.english import ENGLISH

WEB = Path(__file__).parents[2] / "streaming" / "web"
BUILT = (
    "state_",
    "sort_",
    "severity_",
    "alert_state_",
    "mark_",
    "minutes_",
    "outcome_",
    "sight_",
    "plan_",
    "doubt_",
    "finding_",
    "silence_scope_",
)  # of these the second part is a value


def values_of(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def test_the_languages_have_the_same_sentences() -> None:
    assert list(CHINESE) == list(ENGLISH)
    assert [key for key in ENGLISH if values_of(ENGLISH[key]) != values_of(CHINESE[key])] == []


def test_every_sentence_is_shown() -> None:
    sources = [*(WEB / "templates").glob("*.html"), *WEB.glob("**/*.py")]
    text = "\n".join(path.read_text("utf-8") for path in sources if path.parent.name != "words")
    used = set(re.findall(r"""["']([a-z_]+)["']""", text))
    unused = [key for key in ENGLISH if key not in used and not key.startswith(BUILT)]
    assert unused == []


def test_every_step_of_an_alert_is_said_in_chinese() -> None:
    assert set(STEPS) == set(WHY)


def test_chinese_is_chinese() -> None:
    same = [key for key in ENGLISH if ENGLISH[key] == CHINESE[key]]
    assert same == ["topic"], "RocketMQ's own word"


@pytest.mark.parametrize("language", sorted(WORDS))
@pytest.mark.parametrize("kind", sorted({*Kind} - RIGHT))
def test_what_is_found_of_a_group_is_said_in_plain_words(kind: Kind, language: str) -> None:
    said = words_in(language).finding(kind, 3)
    assert kind not in said
    assert ("3" in said) is (KINDS[kind].scope is Scope.QUEUE), "of topics and groups the number is not that of queues"


def test_a_finding_of_another_version_stands_for_itself() -> None:
    assert words_in("en").finding("NEW_KIND", 3) == "NEW_KIND"


@pytest.mark.parametrize(
    ("header", "chosen", "language"),
    [
        ("", "", "en"), ("zh", "", "zh"), ("zh-TW", "", "zh"), ("de, zh;q=0.5, en;q=0.4", "", "zh"), ("fr", "", "en"),
        ("en;q=0.5, zh;q=0.9", "", "zh"), ("zh;q=0", "", "en"), ("zh", "en", "en"), ("en", "xx", "en"), ("*", "", "en"),
        (",;q=,zh;q=nan," * 50, "", "en"),
    ],
)  # fmt: skip
def test_the_language_of_a_reader(header: str, chosen: str, language: str) -> None:
    assert preferred(header, chosen) == language


def test_there_are_two_languages() -> None:
    assert set(WORDS) == {"en", "zh"}
