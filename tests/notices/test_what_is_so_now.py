"""What a page says first is so now: that all is right, what an alert waits for, and who should own its queues."""

from typing import Any

import pytest
from msgspec.structs import replace

from schemas.facts import AlertQueue
from schemas.observed import Unconsumed
from schemas.reasons import ReasonDetails
from streaming.notices.languages import LANGUAGES
from streaming.notices.notice import OpenAlert
from streaming.notices.page_parts import headline, note_on, queue_lines
from streaming.notices.page_text import write
from tests.notices.incidents import NOW, SINCE, A, alert, notice

RIGHT_TS = SINCE + 120_000  # 17:00:03
FLAPS: dict[str, Any] = {"reason": "waiting_changed", "kept_open": "comes_and_goes", "right_since_ts": RIGHT_TS}


def found(kind: str, *ids: int, cause: str | None = "MEMBER_GONE", **more: Any) -> OpenAlert:
    of = tuple(AlertQueue("broker-a", one) for one in ids)
    return alert(kind, cause, Unconsumed(unconsumed_ms=9_000), **{"queues": of, **more})


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_right_for_now_is_not_called_critical(language: str) -> None:
    words = LANGUAGES[language]
    page = write(notice(found("ORPHANED", 0, 1, **FLAPS)), language, NOW)
    assert words.severities["critical"] not in page.title
    assert words.right_for_now in page.title
    assert "17:00:03" in page.title
    line = next(one for one in page.body.split("\n") if one.startswith("ORPHANED"))
    assert words.right_since.format(what=words.kind("ORPHANED", 2), since="17:00:03") in line


def test_a_title_says_what_is_wrong_now_and_not_what_was() -> None:
    page = write(notice(found("ORPHANED", 0, 1, **FLAPS), found("DUPLICATED", 2, 3, 4)), "en", NOW)
    assert page.title.startswith("[CRITICAL] orders: 3 queues consumed twice")
    assert "nobody" not in page.title


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("waits_for", ["time", "deploy"])
def test_an_alert_that_is_pending_says_why_it_waits_and_until_when(waits_for: str, language: str) -> None:
    pending = found("ORPHANED", 0, state="pending", waits_for=waits_for, waits_until_ts=SINCE + 540_000)
    note = note_on(pending, LANGUAGES[language], NOW)
    assert "17:07:03" in note
    assert note[0] not in " -—"


def test_one_that_waits_for_a_deploy_names_it() -> None:
    pending = found("ORPHANED", 0, state="pending", waits_for="deploy", waits_until_ts=SINCE + 540_000)
    english = "waiting for a rolling deploy: it fires at 17:07:03 at the latest, if the fault is still there"
    assert note_on(pending, LANGUAGES["en"], NOW) == english


def test_what_another_version_waits_for_breaks_no_page() -> None:
    assert note_on(found("ORPHANED", 0, state="pending", waits_for="moon"), LANGUAGES["zh"], NOW) == ""


def test_a_warning_because_of_a_deploy_says_so() -> None:
    page = write(notice(found("ORPHANED", 0, severity="warning", deploy_since_ts=SINCE)), "en", NOW)
    assert "a rolling deploy has been running since 16:58:03 and may be the reason" in page.body


def lines_of(kind: str, cause: str | None, queue: AlertQueue, language: str = "en") -> str:
    return "\n".join(queue_lines(found(kind, cause=cause, queues=(queue,)), LANGUAGES[language], NOW))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("cause", ["SAME_CLIENT_ID", "STALE_CONNECTION", "CONFIG_MISSES_QUEUE", "UNEXPLAINED"])
def test_a_queue_is_never_expected_to_be_owned_by_nobody(cause: str, language: str) -> None:
    words = LANGUAGES[language]
    said = lines_of("ORPHANED", cause, AlertQueue("broker-a", 1, (), ()), language)
    lacks = words.expected_of_none.get(cause, words.expected_of_none[""])
    assert said.endswith(words.expected.format(owners=lacks))


def test_two_instances_of_one_id_do_not_both_own_a_queue_by_right() -> None:
    said = lines_of("DUPLICATED", "SAME_CLIENT_ID", AlertQueue("broker-a", 1, (A, A), (A, A)))
    assert said.endswith(f"should be owned by one instance of {A}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_why_nobody_knows_who_should_own_a_queue_is_said(language: str) -> None:
    words = LANGUAGES[language]
    queue = AlertQueue("broker-a", 1, (), None, reason="STRATEGIES_DIFFER", reason_details=ReasonDetails())
    why = words.reason("STRATEGIES_DIFFER", None, str)
    assert why in lines_of("ORPHANED", "STRATEGY_MISMATCH", queue, language)


def test_its_owner_is_not_named_twice() -> None:
    assert lines_of("STALLED", "CLIENT_STALLED", AlertQueue("broker-a", 1, (A,), (A,))).endswith(f"owned by {A}")


def test_a_resolved_alert_is_not_right_for_now() -> None:
    over = found("ORPHANED", 0, **FLAPS)
    over = replace(over, fact=replace(over.fact, state="resolved"))
    assert headline(over, LANGUAGES["en"], NOW) == "1 queue consumed by nobody"
