"""A queue that several findings name is one queue, in titles and in the number of messages that wait."""

from typing import Any

import pytest
from msgspec.structs import replace

from schemas.facts import AlertQueue
from schemas.observed import Unconsumed
from streaming.notices.affected import Waiting, queues_by_kind, waiting_in
from streaming.notices.languages import LANGUAGES
from streaming.notices.notice import OpenAlert
from streaming.notices.page_parts import waiting_line
from streaming.notices.page_text import write
from tests.notices.incidents import NOW, SINCE, alert, notice

PART = Unconsumed(unconsumed_ms=9_000)
READ = SINCE + 20_000


def found(kind: str, *ids: int, severity: str = "critical", **more: Any) -> OpenAlert:
    of = tuple(AlertQueue("broker-a", one, (), None, 10, READ) for one in ids)
    return alert(kind, "SAME_CLIENT_ID", PART, queues=of, severity=severity, waiting=10 * len(ids), **more)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_title_counts_each_queue_once_for_its_worst_finding(language: str) -> None:
    page = notice(found("DUPLICATED", 0, 1), found("ORPHANED", 2, 3), found("STALLED", 0, 1, 2, 3))
    title = write(page, language, NOW).title
    words = LANGUAGES[language]
    assert words.kind("DUPLICATED", 2) in title
    assert words.kind("ORPHANED", 2) in title
    assert "4" not in title
    assert words.kind("STALLED", 4) in write(page, language, NOW).body, "the body names every finding with its queues"


def test_queues_of_several_topics_and_groups_are_different_queues() -> None:
    there = found("STALLED", 0, 1, topic="U")
    assert queues_by_kind([found("STALLED", 0, 1), there, found("STALLED", 0, 1, group="other")]) == {"STALLED": 6}


def test_what_is_left_of_a_milder_finding_is_counted_and_what_has_no_queues_stays() -> None:
    those = [found("STALLED", 0, 1, 2, severity="warning"), found("ORPHANED", 2), found("REBALANCE_STORM")]
    assert queues_by_kind(those) == {"ORPHANED": 1, "REBALANCE_STORM": 0, "STALLED": 2}


def test_messages_are_counted_once_and_have_the_time_of_the_oldest_reading() -> None:
    older = found("STALLED", 0, 1, read_ts=READ - 5_000)
    assert waiting_in([found("DUPLICATED", 0, 1, read_ts=READ), older]) == Waiting(20, READ - 5_000, None)


def test_an_alert_about_the_whole_group_counts_all_of_its_queues() -> None:
    whole = alert("NO_MEMBERS", None, PART, topic=None, waiting=980, read_ts=READ, oldest_ts=SINCE)
    assert waiting_in([whole, found("STALLED", 0, 1, read_ts=READ)]) == Waiting(980, READ, SINCE)


def test_an_old_number_is_not_said_as_if_it_were_of_now() -> None:
    """Nothing of the line depends on when it is written: neither the number nor an age runs on."""
    stands = found("STALLED", 0, read_ts=READ, oldest_ts=READ - 300_000)
    for words in LANGUAGES.values():
        lines = {waiting_line([stands], words, NOW + later) for later in (0, 60_000, 1_140_000)}
        assert len(lines) == 1
        (line,) = lines
        assert "16:58:23" in (line or "")


def test_a_fact_that_does_not_say_when_it_was_read_is_as_of_its_own_time() -> None:
    old = found("STALLED", 0)
    old = replace(old, fact=replace(old.fact, read_ts=None, seen_ts=None, queues=(AlertQueue("broker-a", 0),)))
    assert waiting_in([old]) == Waiting(10, old.ts, None)
    assert "16:58:28" in (waiting_line([old], LANGUAGES["en"], NOW) or "")
