"""Whatever an incident holds, its page is short, says whose and why, and nothing in it acts on a terminal."""

import shlex
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import observed as o
from schemas.facts import AlertChange, AlertClient, AlertFact, AlertQueue, Cause, Severity
from streaming.cli import parser_with
from streaming.core.finding_kinds import ALERTING
from streaming.notices.commands import inspect_command
from streaming.notices.fitting import LINES_AT_MOST
from streaming.notices.notice import MonitorTrouble, Notice, OpenAlert, Site
from streaming.notices.page_parts import shown
from streaming.notices.page_text import write
from tests.notices.incidents import NOW, SINCE, alert, client, notice, queues

NAMES = st.text(max_size=12) | st.sampled_from(
    ["a\nb", "\x1b[2J", "x" * 5000, "漢" * 300, "a" + "\u0301" * 5000, "{0} {x}", "; lists nobody", ""]
)
TIMES = st.integers(SINCE - 10**9, NOW) | st.sampled_from([0, -1, 2**62])
MANY = st.lists(NAMES, max_size=4).map(tuple)
QUEUES = st.builds(AlertQueue, NAMES, st.integers(0, 2000), MANY, st.none() | MANY, st.none() | st.integers(0, 9))
CLIENTS = st.builds(
    AlertClient, NAMES, MANY, MANY, st.none() | NAMES, st.none() | NAMES, MANY,
    st.lists(TIMES, max_size=3).map(tuple), st.none() | TIMES,
)  # fmt: skip
FACTS = st.builds(
    AlertFact,
    fingerprint=NAMES,
    state=st.sampled_from(["firing", "resolved"]),
    severity=st.sampled_from([one.value for one in Severity]),
    kind=st.sampled_from([*sorted(ALERTING), "NEW_KIND"]),
    cause=st.none() | st.sampled_from([*Cause, "NEW_CAUSE"]),
    observed=st.none() | st.builds(o.observed, st.builds(o.MemberGone, clients=MANY.map(o.clients))),
    queues=st.lists(QUEUES, max_size=4).map(tuple),
    reason=st.sampled_from(["held_long_enough", "gone"]),
    active_ts=TIMES,
    resolved_ts=st.none() | TIMES,
    stale=st.booleans(),
    clients=st.lists(CLIENTS, max_size=3).map(tuple),
    changes=st.lists(st.builds(AlertChange, TIMES, st.sampled_from(["joined", "odd"]), NAMES), max_size=3).map(tuple),
    waiting=st.none() | st.integers(0, 10**9),
    oldest_ts=st.none() | TIMES,
)
ALERTS = st.builds(OpenAlert, NAMES, NAMES, st.none() | NAMES, TIMES, st.just(1), FACTS)
TROUBLES = st.builds(
    MonitorTrouble, st.sampled_from(["monitor_blind", "monitor_late", "group_blind"]), NAMES, TIMES, NAMES, NAMES
)


@st.composite
def notices(draw: Any) -> Notice:
    alerts = draw(st.lists(ALERTS, max_size=5).map(tuple))
    return Notice(
        key="k",
        status=draw(st.sampled_from(["firing", "resolved"])),
        severity=draw(st.sampled_from(Severity)),
        cluster=draw(NAMES),
        groups=draw(st.lists(NAMES, max_size=30).map(tuple)),
        cause=draw(st.none() | st.sampled_from([one.fact.cause for one in alerts] or ["NEW_CAUSE"])),
        alerts=alerts,
        trouble=draw(st.none() | TROUBLES),
        since_ts=draw(TIMES),
    )


WHATEVER = given(notices(), st.sampled_from(["en", "zh"]), st.none() | st.just("https://evenkeel.example/x"))


@pytest.mark.slow("a tenth of a second of work and more")
@settings(max_examples=8)
@WHATEVER
def test_a_page_is_short_and_plain_and_names_group_and_cause(one: Notice, language: str, link: str | None) -> None:
    check(one, language, link)


@pytest.mark.slow("many texts")
@settings(max_examples=150)
@WHATEVER
def test_the_same_of_many_more_pages(one: Notice, language: str, link: str | None) -> None:
    check(one, language, link)


def check(one: Notice, language: str, link: str | None) -> None:
    title, body = write(one, language, NOW, link)
    lines = body.split("\n")
    assert len(lines) <= LINES_AT_MOST
    assert all(line.isprintable() and len(line) < 1000 for line in [title, *lines])
    assert link is None or link in lines[-1]
    if one.status == "firing" and one.trouble is None:
        assert len(one.groups) != 1 or shown(one.groups[0]) in title
        assert one.cause is None or one.cause in body


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_thousand_queues_and_two_hundred_clients_fit(language: str) -> None:
    owners = [f"10.0.{n // 100}.{n % 100}@{n}" for n in range(200)]
    held = tuple(
        queue for n in range(1000) for queue in queues(2 * n, broker=f"broker-{n % 40}", owners=(owners[n % 200],) * 2)
    )
    clients = tuple(client(owner, 5000, addresses=(f"10.0.0.1:{n}",) * 30) for n, owner in enumerate(owners))
    changes = tuple(AlertChange(SINCE - n, "joined", owner) for n, owner in enumerate(owners))
    one = notice(
        alert(
            "DUPLICATED",
            "SAME_CLIENT_ID",
            o.SameClientId(client_id="e" * 9000, instances=2),
            queues=held,
            clients=clients,
            changes=changes,
        )
    )
    title, body = write(one, language, NOW, "https://evenkeel.example/x")
    assert "1,000" in title
    assert len(body.split("\n")) == LINES_AT_MOST
    assert max(map(len, body.split("\n"))) <= 240
    assert "mqadmin consumerConnection -n NAMESRV -g orders" in body


@pytest.mark.parametrize(
    ("group", "typed"),
    [
        ("orders", "-g orders"),
        ("%RETRY%x|y", "-g '%RETRY%x|y'"),
        ("$(reboot)", "-g '$(reboot)'"),
        ("a'; reboot #", "-g 'a'\"'\"'; reboot #'"),
        ("a\nreboot", "-g GROUP"),
        ("x" * 300, "-g GROUP"),
    ],
)
def test_a_command_may_be_pasted_whatever_the_group_is_called(group: str, typed: str) -> None:
    one = notice(
        alert("ORPHANED", "SUBSCRIPTION_MISMATCH", o.NotSubscribed(clients=o.clients("x"), topic="T"), group=group)
    )
    *_, command, _, silence = write(one, "en", NOW).body.split("\n")
    assert command == f"next: mqadmin consumerStatus -n NAMESRV {typed}"
    assert silence.startswith(f"silence: evenkeel silence -{typed.replace('-g', '-group')} --cluster")


@pytest.mark.parametrize("group", ["*", "[a-z]*?", "orders", "o?ders", "[!x]*", "%RETRY%*"])
def test_silence_that_is_suggested_is_for_this_group_alone(group: str) -> None:
    """Whoever names a group ``*`` would else have the reader silence everything."""
    one = notice(
        alert("ORPHANED", "SUBSCRIPTION_MISMATCH", o.NotSubscribed(clients=o.clients("x"), topic="T"), group=group),
        cluster="[p]*",
    )
    typed = shlex.split(write(one, "en", NOW).body.rsplit("silence: evenkeel silence ", 1)[1])
    words = parser_with(["silence"]).parse_args(["silence", *typed[: typed.index("--for")]])
    for pattern, name in ((words.group, group), (words.cluster, "[p]*")):
        assert fnmatchcase(name, pattern)
        assert not any(fnmatchcase(other, pattern) for other in {"orders", "payments", "a", "%RETRY%x", "p"} - {name})
    looked_at = shlex.split(inspect_command("prod", Site(), group).text)
    assert fnmatchcase(group, looked_at[-1])
    assert not any(fnmatchcase(other, looked_at[-1]) for other in {"orders", "a", "%RETRY%x"} - {group})


@pytest.mark.parametrize("group", ["-x", "--config=/etc/evenkeel.toml"])
def test_name_that_reads_like_an_option_is_left_to_the_reader(group: str) -> None:
    one = notice(
        alert("ORPHANED", "SUBSCRIPTION_MISMATCH", o.NotSubscribed(clients=o.clients("x"), topic="T"), group=group)
    )
    *_, command, _, silence = write(one, "en", NOW).body.split("\n")
    assert command.endswith("-g GROUP")
    assert silence.startswith("silence: evenkeel silence --group GROUP --cluster")
