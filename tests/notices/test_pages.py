"""The golden pages: one a cause, kind and turn of an alert's life, in both languages.

After a change of words: ``UPDATE_GOLDEN=1 python -m pytest tests/notices``, then read the difference (``git diff``).
"""

from pathlib import Path

import pytest

from schemas.facts import Cause
from streaming.core.finding_kinds import ALERTING
from streaming.notices.fitting import LINES_AT_MOST
from streaming.notices.languages import LANGUAGES
from streaming.notices.page_text import write
from testing.golden import compare
from tests.notices.incidents import INCIDENTS, NOW

GOLDEN = Path(__file__).parent / "golden"
LINK = "https://evenkeel.example/prod/orders"


@pytest.mark.parametrize("name", INCIDENTS)
def test_page_is_as_expected(name: str) -> None:
    texts = [write(INCIDENTS[name], language, NOW, LINK) for language in LANGUAGES]
    shown = "\n\n".join(f"{text.title}\n{text.body}" for text in texts) + "\n"
    compare(shown, GOLDEN / f"{name}.txt")
    assert all(len(text.body.split("\n")) <= LINES_AT_MOST for text in texts)


def test_there_is_a_page_for_every_cause_and_kind_and_no_other_file() -> None:
    facts = [alert.fact for notice in INCIDENTS.values() for alert in notice.alerts]
    assert {fact.cause for fact in facts} >= set(Cause)
    assert {fact.kind for fact in facts} >= ALERTING
    assert {path.stem for path in GOLDEN.iterdir()} == set(INCIDENTS)


def test_another_language_is_refused() -> None:
    with pytest.raises(ValueError, match="no language 'de': en or zh"):
        write(INCIDENTS["UNEXPLAINED"], "de", NOW)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", INCIDENTS)
@pytest.mark.parametrize("most_bytes", [1_800, 600])
def test_page_fits_the_bytes_that_a_channel_takes_and_says_what_it_leaves_out(
    name: str, language: str, most_bytes: int
) -> None:
    whole = write(INCIDENTS[name], language, NOW, LINK)
    text = write(INCIDENTS[name], language, NOW, LINK, most_bytes)
    assert len("\n".join(text).encode()) <= most_bytes
    assert text.title == whole.title
    words = LANGUAGES[language]
    nouns = (words.more_queues, words.more_clients, words.more_changes, words.more_groups)
    left_out = {f"  {more(count)}" for more in nouns for count in range(1, 40)}
    for row in text.body.split("\n"):
        assert row in whole.body.split("\n") or row in left_out or row.endswith("…")
    if text != whole:
        assert any(row in left_out or row.endswith("…") for row in text.body.split("\n"))


@pytest.mark.slow("a tenth of a second of work and more")
def test_page_is_cut_to_any_number_of_bytes() -> None:
    for most_bytes in range(300, 700):
        text = write(INCIDENTS["SAME_CLIENT_ID"], "zh", NOW, LINK, most_bytes)
        assert len("\n".join(text).encode()) <= most_bytes


def test_page_that_is_cut_keeps_its_command_and_link_whole_as_long_as_it_can() -> None:
    for language in LANGUAGES:
        text = write(INCIDENTS["SAME_CLIENT_ID"], language, NOW, LINK, 1_200)
        assert LINK in text.body
        assert "mqadmin consumerConnection -n NAMESRV -g orders" in text.body
