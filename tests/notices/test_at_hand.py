"""What a page puts into the reader's hand: commands that can be pasted, the readers' own time, where to read on."""

import re
import shlex
from datetime import UTC, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from schemas.facts import Severity
from schemas.observed import Unconsumed
from streaming.cli import parser_with
from streaming.notices.fitting import LINES_AT_MOST
from streaming.notices.languages import LANGUAGES
from streaming.notices.notice import MonitorTrouble, Site
from streaming.notices.page_text import write
from tests.notices.incidents import INCIDENTS, NOW, SINCE, alert, client, notice, queues

A_PART = Unconsumed(unconsumed_ms=9000)
ROOT = Path(__file__).parents[2]
SITE = Site("/etc/even keel/my.toml", {"prod": "10.0.0.1:9876;10.0.0.2:9876"})
TYPED = re.compile(r"^(?:next|silence|下一步|静默)[:：] ?(.+?)(?:   [(（].+)?$", re.MULTILINE)


def commands(name: str, site: Site = SITE) -> list[list[str]]:
    body = write(INCIDENTS[name], "en", NOW, site=site).body
    assert TYPED.findall(body) == TYPED.findall(write(INCIDENTS[name], "zh", NOW, site=site).body)
    return [shlex.split(command) for command in TYPED.findall(body)]


@pytest.mark.parametrize("name", INCIDENTS)
def test_commands_can_be_pasted(name: str) -> None:
    """Nothing is left to the reader but why to silence, and the number of a process whose client does not say it."""
    for words in commands(name):
        assert not {"NAMESRV", "BROKER_ADDR", "GROUP", "TOPIC", "CLUSTER", "CLIENT_ID"} & set(words)
        if words[0] == "mqadmin":
            assert words[2:4] == ["-n", "10.0.0.1:9876;10.0.0.2:9876"]
        if words[0] == "evenkeel":
            arguments = parser_with([words[1]]).parse_args(words[1:])
            assert str(arguments.config) == SITE.config
            assert getattr(arguments, "namesrv", None) in (None, SITE.name_servers["prod"])


def test_what_is_not_configured_is_left_to_the_reader() -> None:
    """Name servers of another cluster are not those of this one."""
    others = Site(name_servers={"other": "10.9.9.9:9876"})
    for site in (Site(), others):
        assert commands("SAME_CLIENT_ID", site)[0][:4] == ["mqadmin", "consumerConnection", "-n", "NAMESRV"]
    assert commands("UNEXPLAINED", Site())[0] == ["evenkeel", "explain", "orders", "--cluster", "prod"]


def test_folders_are_named_where_no_file_names_them() -> None:
    site = Site(tables="/data/my tables", state="/data/notifier", program="/opt/evenkeel/bin/evenkeel")
    explain = commands("UNEXPLAINED", site)[0]
    assert explain == [site.program, "explain", "orders", "--cluster", "prod", "--tables", "/data/my tables"]
    silence = commands("UNEXPLAINED", site)[-1]
    assert silence[:3] == ["EVENKEEL__NOTIFY__STATE=/data/notifier", site.program, "silence"]


@pytest.mark.parametrize("name", ["SAME_CLIENT_ID", "CLIENT_STALLED", "ROUTE_LAG"])
def test_nobody_is_sent_to_a_cluster_that_was_only_played(name: str) -> None:
    assert commands(name, Site(is_played=True))[0] == ["evenkeel", "explain", "orders", "--cluster", "prod"]


@pytest.mark.parametrize(
    ("name", "matchers"),
    [
        ("SAME_CLIENT_ID", ["--group", "orders", "--cluster", "prod"]),
        ("monitor_blind", ["--cluster", "prod", "--kind", "monitor_blind"]),
        ("group_blind", ["--group", "orders", "--cluster", "prod", "--kind", "group_blind"]),
        ("storm", ["--cluster", "prod"]),
    ],
)
def test_silence_is_for_what_the_page_is_about(name: str, matchers: list[str]) -> None:
    words = commands(name)[-1]
    assert words[:2] == ["evenkeel", "silence"]
    assert words[2 : words.index("--for")] == matchers


@pytest.mark.parametrize("language", LANGUAGES)
def test_job_that_knows_no_cluster_names_none(language: str) -> None:
    trouble = MonitorTrouble("monitor_blind", "", SINCE, "the job has written no facts of this cluster yet")
    for status in ("firing", "resolved"):
        one = notice(trouble=trouble, cluster="", severity=Severity.CRITICAL, status=status)
        title, body = write(one, language, NOW, site=SITE)
        assert LANGUAGES[language].any_cluster in title
        assert LANGUAGES[language].any_cluster in body.split("\n")[0]
        assert "--cluster" not in body
    assert "evenkeel inspect --config" in write(notice(trouble=trouble, cluster=""), language, NOW, site=SITE).body


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        (UTC, "since 2025-11-21 16:58:03 UTC, 5 min ago"),
        (ZoneInfo("Asia/Shanghai"), "since 2025-11-21 16:58:03 UTC (2025-11-22 00:58:03 +08:00), 5 min ago"),
        (ZoneInfo("Europe/Berlin"), "since 2025-11-21 16:58:03 UTC (17:58:03 +01:00), 5 min ago"),
        (timezone(-timedelta(hours=3, minutes=30)), "since 2025-11-21 16:58:03 UTC (13:28:03 -03:30), 5 min ago"),
    ],
)
def test_time_of_the_readers_stands_beside_utc(zone: timezone, expected: str) -> None:
    for name in ("UNEXPLAINED", "storm", "monitor_blind"):
        assert expected in write(INCIDENTS[name], "en", NOW, site=Site(zone=zone)).body
    over = write(INCIDENTS["resolved"], "en", NOW, site=Site(zone=zone)).body
    assert expected.removeprefix("since ").removesuffix(", 5 min ago") in over


@pytest.mark.parametrize("name", INCIDENTS)
def test_page_says_where_to_read_on_and_that_is_there(name: str) -> None:
    body = write(INCIDENTS[name], "en", NOW).body
    found = re.findall(r"^about: (.+)#(.+)$", body, re.MULTILINE)
    is_mixed = len(INCIDENTS[name].groups) > 1 and INCIDENTS[name].cause is None
    assert len(found) == (0 if INCIDENTS[name].status == "resolved" or is_mixed or name == "test" else 1)
    for page, anchor in found:
        headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text("utf-8"), re.MULTILINE)
        assert anchor in [heading.lower().replace(" ", "-") for heading in headings]
        elsewhere = write(INCIDENTS[name], "en", NOW, site=Site(docs="https://x/docs")).body
        assert f"about: https://x/{page}#{anchor}" in elsewhere


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("owners", [1, 2, 3, 20])
def test_nothing_is_more_than_nothing(owners: int, language: str) -> None:
    """Each line that says how many more there are stands under one of its kind."""
    held = [queue for n in range(owners) for queue in queues(n, owners=(f"c{n}", f"d{n}"))]
    kinds = ("DUPLICATED", "ORPHANED", "STALLED", "SLOW_CONSUMER", "MISPLACED")
    clients = tuple(client(f"c{n}", n) for n in range(20))
    alerts = [
        alert(kind, cause, A_PART, queues=tuple(held), clients=clients, waiting=9, topic=f"T{n}")
        for n, (kind, cause) in enumerate(zip(kinds, ["SAME_CLIENT_ID", "UNEXPLAINED"] * 3, strict=False))
    ]
    words = LANGUAGES[language]
    lines = write(notice(*alerts), language, NOW, "https://evenkeel.example").body.split("\n")
    assert len(lines) <= LINES_AT_MOST
    more = {words.more_queues(n): "  broker-a" for n in range(1, 30)}
    more |= {words.more_clients(n): words.client_line.split("{", 1)[0] for n in range(1, 30)}
    for before, row in pairwise(lines):
        if row.strip() in more:
            assert before.startswith(more[row.strip()])


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_are_counted_by_how_many_more_there_are(language: str) -> None:
    many = tuple(f"10.0.0.{n}@{n}" for n in range(20))
    body = write(notice(alert("DUPLICATED", None, A_PART, queues=queues(0, owners=many))), language, NOW).body
    assert {"en": "10.0.0.2@2 and 17 more", "zh": "10.0.0.2@2 另有 17 个"}[language] in body
    assert "..." not in body


def test_both_languages_have_the_same_advice() -> None:
    english, chinese = LANGUAGES["en"], LANGUAGES["zh"]
    for name in english.causes:
        assert bool(english.causes[name].now) == bool(chinese.causes[name].now), name
    assert set(english.do) == set(chinese.do)
    assert set(english.now) == set(chinese.now)
