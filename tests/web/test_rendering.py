"""No name can act in a page: whatever RocketMQ calls a group, a topic or a client."""

import re

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings
from msgspec.structs import replace

from schemas.facts import AlertChange, AlertClient, Fact, MemberFact
from schemas.observed import NotSubscribed, clients, observed
from schemas.reasons import ReasonDetails
from streaming.notices.notice import Site
from streaming.web.rendering import read_static, renderer, visible
from streaming.web.views.group import Asked, group_view
from streaming.web.views.known import Freshness, Known
from streaming.web.views.overview import SORTS, RankedGroups, Wanted
from streaming.web.views.timeline import MINUTES
from streaming.web.words import words_in
from tests.explain.facts import T0, Teller
from tests.web.test_overview import NOW, alert, status

RENDER = renderer(read_static())
FRAME = {
    "back": "/", "pages": (), "live_from": "", "live_number": 1, "fresh": Freshness("ok", T0), "really_now": T0,
    "late_after_ms": 60_000, "blind_after_ms": 120_000, "own_zone": "", "zone_now": "UTC", "silenced": {},
}  # fmt: skip
HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onmouseover='x", "{{ 7*7 }}", "{% include 'x' %}",
    "a\x00b\x1b[2Jc\x07", "abc\u202egnp.exe", "\u2066x\u2069", "a\r\nSet-Cookie: x", "\ufeff", "\ud800", "🙂" * 300,
    "javascript:alert(1)", "&lt;b&gt;", "]]>", "--><script>", "x" * 5000,
]  # fmt: skip


def page(name: str, *facts: Fact, language: str = "en") -> str:
    known = Known()
    # the alert is of another cluster, so there are two rows: also for a group that is named as the alert's cluster is
    cluster = name if name != "c" else "d"
    known.take(facts or [status(name, "findings", cluster=cluster, ORPHANED=1), alert(name, "firing", "critical", 1)])
    view = RankedGroups(known, NOW).overview(Wanted(search=name), NOW)
    view = view._replace(rows=RankedGroups(known, NOW).overview(Wanted(), NOW).rows)
    return RENDER(
        "overview.html", t=words_in(language), now=NOW, here="overview", error=name, is_past=True, view=view,
        sorts=SORTS, **FRAME,
    )  # fmt: skip


def test_why_a_group_is_not_judged_is_a_sentence_of_the_language() -> None:
    unknown = status("g", "unknown", UNKNOWN=1)
    why = ReasonDetails(broker_names=("broker-b<",))
    fact = replace(unknown, payload=replace(unknown.payload, reason="NO_ANSWER", reason_details=why))
    assert "no answer from broker-b&lt;" in page("g", fact)
    assert "broker-b&lt; 没有应答" in page("g", fact, language="zh")


def group_page(name: str) -> str:
    """Everything that RocketMQ names is called so."""
    g = Teller(name, name)
    broker = {"broker_name": name, "cause": name, "reason": name}
    g.queue(0, 0, "DUPLICATED", topic=name, owners=(name, name), expected=(name,), **broker)
    g.queue(0, 1, "ORPHANED", topic=name, owners=(), expected=(name,), **broker)
    g.queue(0, 2, "UNKNOWN", topic=name, owners=(), expected=None, **broker)
    g.listed(0, name, name, 2)
    g.tell(
        MemberFact(
            client_id=name, present=True, since_ts=T0, brokers=(name,), addresses=(name,), version=name, language=name,
            strategy=name, subscriptions=(name,), instances=2,
        ),
        0,
    )  # fmt: skip
    g.status(0, "findings", DUPLICATED=1, ORPHANED=1)
    about = {"clients": (AlertClient(name, (name,), (name,), name, name, (name,)),), "cause": name, "kind": name}
    evidence = observed(NotSubscribed(clients=clients(name), topic=name))
    g.alert(1, "firing", "found", changes=(AlertChange(T0, "joined", name),), observed=evidence, **about)
    view = group_view(g.facts, None, None, Asked(T0 + 9_000, None, 30, True), words_in("en").of_pages, Site())
    return RENDER(
        "group.html", t=words_in("en"), now=T0 + 9_000, here="", error=None, is_past=False, view=view,
        asked=Asked(T0, None, 30, True), minutes_known=MINUTES, **FRAME,
    )  # fmt: skip


TAGS = re.findall(r"<[a-zA-Z!/][^>]*>", page("harmless"))


@given(st.one_of(st.text(max_size=80), st.sampled_from(HOSTILE)))
@example("<b>")
@example("c")
def test_a_name_adds_no_tag_and_no_attribute(name: str) -> None:
    html = page(name or "x")
    tags = re.findall(r"<[a-zA-Z!/][^>]*>", html)
    assert [re.split(r"[\s>]", tag)[0] for tag in tags] == [re.split(r"[\s>]", tag)[0] for tag in TAGS]
    assert [re.findall(r' ([a-z-]+)="', tag) for tag in tags] == [re.findall(r' ([a-z-]+)="', tag) for tag in TAGS]


GROUP_TAGS = re.findall(r"<[a-zA-Z!/][^>]*>", group_page("harmless"))


@pytest.mark.slow("a page of a day")
@settings(max_examples=30)
@given(st.one_of(st.text(min_size=1, max_size=80), st.sampled_from(HOSTILE)))
def test_a_name_adds_nothing_to_a_group_either(name: str) -> None:
    html = group_page(name)
    tags = re.findall(r"<[a-zA-Z!/][^>]*>", html)
    assert [re.split(r"[\s>]", tag)[0] for tag in tags] == [re.split(r"[\s>]", tag)[0] for tag in GROUP_TAGS]
    assert all(one.isprintable() or one == "\n" for one in html)


@given(st.text())
def test_nothing_that_cannot_be_seen_is_printed(text: str) -> None:
    assert visible(text).isprintable()
    html = page(text[:40] or "x")
    assert all(one.isprintable() or one == "\n" for one in html)
