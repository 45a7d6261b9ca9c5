"""Alert transitions in words, for someone who was woken by one, and as JSON."""

import pytest
from msgspec.structs import replace

from schemas.facts import AlertFact, AlertQueue, Fact, GroupFact
from schemas.observed import Part, QueueName, SameClientId, Unreadable, UnreadableQueues
from schemas.observed import observed as evidence
from streaming.replay.alert_transitions import as_json, details, headline, transitions


def alert(
    *queues: AlertQueue, state: str = "firing", stale: bool = False, cause: str | None = "SAME_CLIENT_ID"
) -> AlertFact:
    return AlertFact(
        fingerprint="f", state=state, severity="critical", kind="DUPLICATED", cause=cause, queues=queues,
        observed=evidence(SameClientId(client_id="x", instances=2)), reason="held_long_enough", active_ts=1,
        stale=stale,
    )  # fmt: skip


def fact(ts: int, group: str, seq: int, topic: str | None = "T", payload: AlertFact | None = None) -> Fact:
    return Fact(seq, "c", group, topic, ts, payload or alert())


def test_queues_with_equal_owners_share_a_line() -> None:
    (one,) = transitions(
        [fact(1, "g", 0, payload=alert(
            AlertQueue("a", 0, ("x", "y"), ("x",)), AlertQueue("a", 1, ("x", "y"), ("x",)), AlertQueue("b", 0, (), None)
        ))]
    )  # fmt: skip
    assert list(details(one)) == [
        "a 0-1: owned by x, y, expected x",
        "b 0: owner not known",
        "SAME_CLIENT_ID: client id x is used by 2 instances",
    ]


@pytest.mark.parametrize(
    ("kind", "cause", "observed", "text"),
    [
        (
            "UNREADABLE_QUEUES",
            "NO_READ_PERM",
            Unreadable(
                causes=(
                    UnreadableQueues("NO_READ_PERM", (QueueName("a", 0),)),
                    UnreadableQueues("READ_LT_WRITE", (QueueName("a", 5),)),
                )
            ),
            "NO_READ_PERM: a/0; READ_LT_WRITE: a/5",
        ),
        (
            "DUPLICATED",
            "SAME_CLIENT_ID",
            SameClientId(client_id="x", instances=2, start_ts=(1795366683000, 1795366743000)),
            "SAME_CLIENT_ID: client id x is used by 2 instances, started at 16:58:03, 16:59:03",
        ),
        ("NO_MEMBERS", None, None, None),
    ],
)
def test_the_cause_stands_once_and_times_can_be_read(
    kind: str, cause: str | None, observed: Part | None, text: str | None
) -> None:
    told = replace(alert(cause=cause), kind=kind, observed=evidence(observed))
    (one,) = transitions([fact(1795366800000, "g", 0, payload=told)])
    assert list(details(one)) == ([text] if text else [])


@pytest.mark.parametrize(
    ("topic", "stale", "text"),
    [
        ("T", False, "FIRING    critical  DUPLICATED  c/g  topic T  (held long enough)"),
        (None, True, "FIRING (stale)  critical  DUPLICATED  c/g  (held long enough)"),
    ],
)
def test_headline(topic: str | None, stale: bool, text: str) -> None:
    (one,) = transitions([fact(1, "g", 0, topic, alert(stale=stale))])
    assert headline(one) == text


def test_transitions_are_in_the_order_of_time_then_of_the_group() -> None:
    other = Fact(0, "c", "g", None, 0, GroupFact(
        status="healthy", members=0, queues=0, counts={}, brokers_covered=0, brokers_known=0, members_reporting=0
    ))  # fmt: skip
    found = transitions([fact(2, "h", 0), fact(2, "g", 4), other, fact(1, "h", 9), fact(2, "g", 3)])
    in_order = [(one.fact.ts, one.fact.group, one.fact.seq) for one in found]
    assert in_order == [(1, "h", 9), (2, "g", 3), (2, "g", 4), (2, "h", 0)]


def test_json_of_a_transition() -> None:
    (one,) = transitions([fact(61_500, "g", 0, payload=alert(AlertQueue("a", 0, ("x", "x"), ("x",))))])
    assert as_json(one, 1_000) == {
        "ts": 61_500,
        "at_s": 60.5,
        "state": "firing",
        "severity": "critical",
        "kind": "DUPLICATED",
        "cluster": "c",
        "group": "g",
        "topic": "T",
        "queues": [["a", 0]],
        "owners": [("x", "x")],
        "cause": "SAME_CLIENT_ID",
        "evidence": "client id x is used by 2 instances",
        "fingerprint": "f",
        "reason": "held_long_enough",
    }
