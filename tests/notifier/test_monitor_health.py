"""Silence is not health: when evenkeel itself is accused, and what waits meanwhile."""

from typing import Any

import pytest
from msgspec.structs import replace

from schemas.facts import Contradiction, Fact, GroupFact
from streaming.newest_facts import ClusterHealth
from streaming.notices.languages import LANGUAGES
from streaming.notices.trouble_text import EVIDENCE, trouble_said
from streaming.notifier.monitor_health import FactsRead, cluster_trouble
from streaming.notifier.silences import Silence
from streaming.notifier.sink_view import STARTING_MS, Route
from tests.notifier.facts import NOW, S, alert, health
from tests.notifier.receiver import AT_ONCE, LIMITS, Receiver

HEALTH_S = 15


def watching(*clusters: str, routes: tuple[Route, ...] = (Route(("sink",)),)) -> Receiver:
    """It has been running for long."""
    sink = Receiver(AT_ONCE, routes, LIMITS, clusters)
    sink.since = NOW - 10 * STARTING_MS
    return sink


def troubles(sink: Receiver) -> list[tuple[str, str, str]]:
    return [(notice.status, notice.trouble.kind, notice.cluster) for notice in sink.told if notice.trouble]


def first_told(sink: Receiver, facts: dict[int, list], until: int = 120) -> float | None:
    """Seconds after NOW until a trouble is told, polled every second; facts come 2 s after they were told."""
    for at in range(until):
        sink.poll(at, facts.get(at - 2, []))
        if troubles(sink):
            return at
    return None


@pytest.mark.parametrize("stopped_at", range(15))
def test_stopped_job_is_noticed_within_a_minute(stopped_at: int) -> None:
    sink = watching()
    sink.poll(0, [health(at=0)])
    at = first_told(sink, {1: [health(at=1)]} if stopped_at else {})
    assert at is not None
    assert at - min(stopped_at, 1) < 60
    assert troubles(sink) == [("firing", "monitor_blind", "c")]


@pytest.mark.parametrize("status", ["idle", "late"])
@pytest.mark.parametrize("stopped_at", range(15))
def test_collector_or_kafka_that_stops_is_noticed_within_a_minute(stopped_at: int, status: str) -> None:
    """The newest health fact that still tells of a round comes up to 15 s after it."""
    sink = watching()
    sink.poll(0, [health(at=0)])
    facts = {HEALTH_S: [health(at=HEALTH_S, lag=HEALTH_S - stopped_at, rounds=1)]}
    facts |= {at: [health(at=at, rounds=0, lag=at - stopped_at, status=status)] for at in range(30, 120, HEALTH_S)}
    at = first_told(sink, facts)
    assert at is not None
    assert at - stopped_at < 60
    assert troubles(sink) == [("firing", "monitor_blind", "c")]


def test_one_dead_cluster_of_five_is_noticed_and_the_others_go_on() -> None:
    sink = watching()
    names = [f"c{number}" for number in range(5)]
    for at in range(0, 90, HEALTH_S):
        dead = at > 0
        sink.poll(
            at, [health(n, at=at, rounds=0 if dead and n == "c3" else 3, lag=at if n == "c3" else 1) for n in names]
        )
        sink.poll(at + 1, [alert(f"g{at}", cluster="c1", at=at + 1)])
    assert troubles(sink) == [("firing", "monitor_blind", "c3")]
    assert len([notice for notice in sink.told if notice.cluster == "c1"]) == 6


def test_watch_that_goes_on_says_nothing() -> None:
    sink = watching()
    for at in range(0, 600, HEALTH_S):
        sink.poll(at + 2, [health(at=at)])
        sink.poll(at + HEALTH_S, [])
    assert sink.told == []


def test_trouble_ends_when_rounds_are_covered_again_and_the_next_one_has_another_key() -> None:
    sink = watching()
    sink.poll(0, [health(at=0)])
    sink.poll(50)
    sink.poll(51, [health(at=51, rounds=0, lag=51)])
    sink.poll(60, [health(at=60)])
    sink.poll(120)
    assert [status for status, _, _ in troubles(sink)] == ["firing", "resolved", "firing"]
    assert [notice.key == sink.told[0].key for notice in sink.told] == [True, True, False]
    assert sink.told[0].since_ts == NOW


def test_cluster_that_is_configured_must_be_heard_of_and_a_notifier_that_starts_accuses_nobody() -> None:
    sink = watching("c", "d")
    sink.since = NOW
    sink.poll(1, [health("c", at=1)])
    sink.poll(89, [health("c", at=89)])
    assert sink.told == []
    sink.poll(90)
    assert troubles(sink) == [("firing", "monitor_blind", "d")]


def test_job_that_tells_of_no_cluster_at_all_is_blind() -> None:
    sink = watching()
    sink.poll(0)
    assert troubles(sink) == [("firing", "monitor_blind", "")]


def test_restart_in_the_middle_of_a_trouble_ends_nothing() -> None:
    sink = watching()
    sink.poll(0, [health(at=0)])
    sink.poll(40)
    sink.since = NOW + 41 * S
    sink.restart()
    sink.poll(42)
    assert troubles(sink) == [("firing", "monitor_blind", "c")]


def test_cluster_that_was_not_heard_of_for_a_week_is_forgotten_unless_it_is_configured() -> None:
    sink = watching()
    sink.poll(0, [health("gone", at=0), health("here", at=0)])
    sink.poll(7 * 86_400, [health("here", at=7 * 86_400)])
    assert sink.told == []


def test_while_the_job_is_late_only_that_is_told_and_then_what_still_fires() -> None:
    sink = watching()
    sink.poll(0, [health(at=0), alert("open", at=0)])
    sink.poll(100, [health(at=100, lag=90, status="late")])
    sink.poll(
        101, [alert("came", at=20), alert("came and went", at=21), alert("open", "resolved", at=30, fired=0, seq=2)]
    )
    sink.poll(110, [alert("came and went", "resolved", at=40, fired=21, seq=2), health(at=110, lag=70, status="late")])
    assert [(notice.status, notice.trouble.kind if notice.trouble else notice.groups) for notice in sink.told] == [
        ("firing", ("open",)),
        ("firing", "monitor_late"),
    ]
    sink.poll(120, [health(at=120)])
    assert sorted(sink.says()[2:]) == [("firing", ("came",)), ("resolved", ()), ("resolved", ("open",))]
    assert sink.ended_unsent == [], "what came and went while nobody was told is nobody's page"


def test_alerts_told_before_any_health_wait_until_it_is_known_that_they_are_news() -> None:
    sink = watching()
    sink.since = NOW
    sink.poll(0, [alert(at=-500)])
    assert sink.told == []
    sink.poll(15, [health(at=14)])
    assert sink.says() == [("firing", ("g",))]


def test_trouble_is_critical_and_of_no_group() -> None:
    sink = watching(routes=(Route((), group="orders-*"), Route(("sink",), severities=frozenset({"critical"}))))
    sink.poll(0)
    assert len(sink.told) == 1
    assert sink.told[0].severity == "critical"


def test_trouble_can_be_silenced() -> None:
    sink = watching("c", "d")
    sink.silences = [
        Silence(id="1", cluster="c", kind="monitor_*", from_ts=NOW, until_ts=NOW + 60 * S, by="me", why="moving"),
        Silence(id="2", cluster="d", group="orders-*", from_ts=NOW, until_ts=NOW + 60 * S, by="me", why="deploy"),
    ]
    sink.poll(0)
    assert troubles(sink) == [("firing", "monitor_blind", "d")]
    sink.poll(60)
    assert troubles(sink)[1:] == [("firing", "monitor_blind", "c")]


def test_a_late_job_that_then_tells_nothing_is_one_trouble_without_an_all_clear() -> None:
    sink = watching()
    sink.poll(0, [health(at=0)])
    sink.poll(20, [health(at=20, lag=90, status="late")])
    sink.poll(56)
    sink.restart()
    sink.poll(57)
    sink.poll(90, [health(at=90)])
    assert troubles(sink) == [
        ("firing", "monitor_late", "c"), ("firing", "monitor_blind", "c"), ("resolved", "monitor_blind", "c"),
    ]  # fmt: skip
    assert len({notice.key for notice in sink.told}) == 1
    assert [notice.since_ts for notice in sink.told] == [NOW - 70 * S, NOW + 20 * S, NOW + 20 * S]


def test_a_blind_job_that_then_reads_what_has_waited_is_not_well_before_it_has_caught_up() -> None:
    sink = watching()
    sink.poll(0, [health(at=0)])
    sink.poll(300)
    sink.poll(310, [health(at=310, lag=280, status="late")])
    sink.poll(325, [health(at=325, lag=150, status="late")])
    assert troubles(sink) == [("firing", "monitor_blind", "c")], "that it is merely late is not urgent"
    sink.poll(361, [health(at=361, lag=70, status="late")])
    sink.poll(376, [health(at=376)])
    assert troubles(sink)[1:] == [("firing", "monitor_late", "c"), ("resolved", "monitor_late", "c")]
    assert len({notice.key for notice in sink.told}) == 1


def test_a_job_between_late_and_blind_does_not_page_each_time() -> None:
    sink = watching()
    sink.poll(0, [health(at=0)])
    for at in range(20, 620, 60):  # each batch takes a minute
        sink.poll(at, [health(at=at, lag=90, status="late")])
        sink.poll(at + 40)
    assert {status for status, _, _ in troubles(sink)} == {"firing"}
    assert len(sink.told) <= 2 * 10
    assert len({notice.key for notice in sink.told}) == 1


def of_batches(at: int, took: int, lag: int, unread: int, rounds: int = 3) -> Fact:
    """The job's health as a batch ends that took so many seconds, or, without rounds, while the next one is made."""
    fact, ended = health(at=at, lag=lag, rounds=rounds), {"batch_ms": took * S, "batch_ended_ts": NOW + at * S}
    return replace(fact, payload=replace(fact.payload, unread=unread, kafka_ts=fact.ts, **ended))


@pytest.mark.parametrize("took", [45, 70])
def test_a_job_with_too_many_groups_is_one_trouble_until_a_batch_is_short_again(took: int) -> None:
    """Each batch shows the cluster, and the next one takes as long again."""
    sink = watching()
    sink.poll(0, [of_batches(0, 1, 1, 5)])
    ends = range(took, 10 * took, took)
    for at in range(1, ends[-1] + 1):
        seen = [of_batches(at, took, took, 400)] if at in ends else []
        sink.poll(at, seen or ([of_batches(at, took, at % took + took, 400, rounds=0)] if at % HEALTH_S == 0 else []))
    assert {status for status, _, _ in troubles(sink)} == {"firing"}
    assert len({notice.key for notice in sink.told}) == 1
    sink.poll(ends[-1] + 2, [alert(at=ends[-1] + 1)])
    assert (("firing", ("g",)) in sink.says()) == (took < LIMITS.late_ms // S), "what it sees in time is sent meanwhile"
    sink.poll(ends[-1] + 5, [of_batches(ends[-1] + 5, 4, 4, 5)])
    assert troubles(sink)[-1][0] == "resolved"


def test_a_job_whose_lag_goes_up_and_down_with_its_batches_is_one_trouble_until_it_has_caught_up() -> None:
    """As with twice the groups that it can take: batches of nine seconds, after each of which the lag is less."""
    sink = watching()
    sink.poll(0, [of_batches(0, 1, 1, 5)])
    for at, lag in ((9, 61), (18, 52), (27, 63), (36, 55), (45, 62), (54, 40)):
        for second in range(8):
            sink.poll(at + second, [of_batches(at, 9, lag, 400)] if second == 0 else [])
    assert [status for status, _, _ in troubles(sink)] == ["firing"]
    sink.poll(63, [of_batches(63, 4, 12, 5)])
    assert [status for status, _, _ in troubles(sink)] == ["firing", "resolved"]


def test_one_long_batch_calls_nobody() -> None:
    sink = watching()
    sink.poll(0, [of_batches(0, 1, 1, 5)])
    for at in range(1, 120):
        took = 33 if at == 33 else 1
        sink.poll(at, [of_batches(at, took, took, 5)] if at >= 33 else [])
    assert troubles(sink) == []


def test_a_notifier_that_starts_while_a_job_is_late_gives_no_all_clear_before_it_has_heard_of_it() -> None:
    sink = watching()
    sink.poll(0, [health(at=0)])
    sink.poll(20, [health(at=20, lag=90, status="late")])
    sink.since = NOW + 100 * S
    sink.restart()
    sink.poll(101)
    assert troubles(sink) == [("firing", "monitor_late", "c")]
    sink.poll(100 + STARTING_MS // S)
    assert troubles(sink)[1:] == [("firing", "monitor_blind", "c")]


def test_what_is_silenced_as_late_is_told_once_it_is_blind() -> None:
    sink = watching()
    sink.silences = [
        Silence(id="1", kind="monitor_late", from_ts=NOW, until_ts=NOW + 9_000 * S, by="me", why="catching up")
    ]
    sink.poll(0, [health(at=0)])
    sink.poll(20, [health(at=20, lag=90, status="late")])
    assert sink.told == []
    sink.poll(60)
    assert troubles(sink) == [("firing", "monitor_blind", "c")]


def test_a_group_that_cannot_be_seen_is_not_seen_again_because_its_whole_cluster_is_blind() -> None:
    sink = watching()
    sink.poll(130, [health(at=130), of_group(at=35, since=0, seq=1)])
    assert told_of_groups(sink) == [("firing", ("g",), "group_blind")]
    sink.poll(200)
    sink.poll(210, [health(at=210)])
    assert told_of_groups(sink)[1:] == [("firing", (), "monitor_blind"), ("resolved", (), "monitor_blind")]


QUICK: dict[str, Any] = {
    "batch_ms": 400, "batch_ended_ts": NOW - 900, "kafka_ts": NOW - 2 * S, "unread": 0, "quiet_since_ts": NOW - 2 * S,
}  # fmt: skip
SLOW = {**QUICK, "batch_ms": 31 * S, "working_ms": 14 * S, "unread": 480}
NO_ANSWER = {"kafka_ts": NOW - 40 * S, "kafka_error": "Kafka at k does not answer: TimeoutException"}


def blind(rounds: int | None = NOW - 60 * S, **seen: Any) -> ClusterHealth:
    """The job has just written a health fact; the newest that counts a round was a minute before."""
    fact = replace(health(at=0, rounds=0, lag=60).payload, **seen)
    return ClusterHealth(NOW, rounds, NOW - 60 * S, fact)


@pytest.mark.parametrize(
    ("known", "why", "in_english", "in_chinese"),
    [
        (None, "nothing_yet", "reported nothing", "尚未报告"),
        (ClusterHealth(NOW - 100 * S), "job_silent", "written nothing since 22:11:40", "自 22:11:40 起没有任何输出"),
        (
            ClusterHealth(NOW - 100 * S, failed_ts=NOW - 90 * S, failure="Kafka at k does not answer: Timeout"),
            "job_failed", "ended with an error at 22:11:50: Kafka at k does not answer: Timeout", "因错误退出",
        ),
        (blind(), "no_rounds", "either it is slow", "尚不清楚"),
        (blind(**SLOW), "job_slow", "its last batch ended at 22:13:19 and took 31 s", "耗时 31 秒"),
        (blind(working_ms=26 * S, batch_ms=1), "job_slow", "worked on the present batch for 26 s", "已处理 26 秒"),
        (blind(**{**QUICK, **NO_ANSWER}), "kafka_silent", "Kafka has not answered it since 22:12:40", "没有应答"),
        (
            blind(**{**SLOW, **NO_ANSWER, "batch_ended_ts": NOW - 35 * S}),
            "slow_or_kafka", "which of the two is not known", "尚无法区分",
        ),
        (blind(**{**SLOW, **NO_ANSWER}), "kafka_silent", "Kafka has not answered it since 22:12:40", "没有应答"),
        (
            blind(**{**QUICK, "quiet_since_ts": NOW - 58 * S}),
            "nothing_sent", "the newest record came to Kafka at about 22:12:22", "约在 22:12:22 到达",
        ),
        (blind(**QUICK), "none_of_it_sent", "none of them is a round of this cluster", "没有该集群的轮次"),
        (
            blind(**{**QUICK, "kafka_ts": NOW - 21 * S}),
            "kafka_silent", "Kafka last answered it at 22:12:59", "最近一次应答在",
        ),
        (blind(**{**QUICK, "unread": 9}), "none_of_it_sent", "9 records waited", "还有 9 条记录"),
        (
            blind(**{**QUICK, "unread": 9, "batch_ended_ts": NOW - 12 * S}),
            "no_rounds", "9 records waited", "还有 9 条记录",
        ),
        (blind(NOW, **SLOW) , "reads_old", "2 min old", "2 分钟前的数据"),
        (blind(NOW, **QUICK), "sent_late", "the newest round was 2 min old", "最新的轮次已是 2 分钟前"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_apart_by_what_is_seen(
    known: ClusterHealth | None, why: str, in_english: str, in_chinese: str
) -> None:
    if why in ("reads_old", "sent_late") and known is not None:
        known = replace(known, newest_round_ts=NOW - 140 * S)
    trouble = cluster_trouble("prod", {"prod": known} if known else {}, NOW, LIMITS)
    assert trouble is not None
    assert trouble.why == why
    assert in_english in trouble_said(trouble, "en", NOW)
    assert in_chinese in trouble_said(trouble, "zh", NOW)


@pytest.mark.parametrize(
    ("unread", "rounds", "of_another_cluster", "why"),
    [
        (300_000, 9_000, 0, "reads_old"),  # an hour without the job, then batches that their limit makes short
        (500, 900, 0, "sent_late"),
        (2_700, 10, 3_000, "sent_late"),  # most records are those of another cluster
        (500, 0, 0, "reads_old"),
    ],
)
def test_a_job_that_reads_a_backlog_by_short_batches_is_not_said_to_keep_up(
    unread: int, rounds: int, of_another_cluster: int, why: str
) -> None:
    def of(rounds: int, newest_round_ts: int) -> ClusterHealth:
        fact = replace(health(rounds=rounds).payload, **{**QUICK, "unread": unread})
        return ClusterHealth(NOW, NOW, newest_round_ts, fact)

    known = {"prod": of(rounds, NOW - 140 * S), "other": of(of_another_cluster, NOW)}
    trouble = cluster_trouble("prod", known, NOW, LIMITS)
    assert trouble is not None
    assert (trouble.kind, trouble.why) == ("monitor_late", why)


def contradicting(at: int, found: Contradiction | None) -> Fact:
    fact = health(at=at)
    return replace(fact, payload=replace(fact.payload, contradicting=int(found is not None), contradiction=found))


AHEAD = Contradiction("g", "one", "other", ahead_ms=7_200 * S)


def test_rounds_that_contradict_one_another_are_a_page_and_alerts_go_on() -> None:
    sink = watching()
    for at in range(0, 90, HEALTH_S):
        sink.poll(at, [contradicting(at, AHEAD)])
    sink.poll(91, [alert(at=91)])
    sink.poll(105, [contradicting(105, None)])
    assert [(status, kind) for status, kind, _ in troubles(sink)] == [("firing", "monitor_contradicted")]
    assert sink.told[0].since_ts == NOW
    assert ("firing", ("g",)) in sink.says()
    for at in range(120, 240, HEALTH_S):
        sink.poll(at, [contradicting(at, None)])
    assert [(status, kind) for status, kind, _ in troubles(sink)][1:] == [("resolved", "monitor_contradicted")]


def test_rounds_that_contradict_one_another_for_a_moment_are_no_page() -> None:
    sink = watching()
    for at in range(0, 300, HEALTH_S):
        sink.poll(at, [contradicting(at, AHEAD if at in (30, 45, 60) else None)])
    assert troubles(sink) == []


def test_a_cluster_that_becomes_blind_while_rounds_contradict_is_one_trouble() -> None:
    sink = watching()
    for at in range(0, 75, HEALTH_S):
        sink.poll(at, [contradicting(at, AHEAD)])
    sink.poll(120)
    assert [(status, kind) for status, kind, _ in troubles(sink)] == [
        ("firing", "monitor_contradicted"), ("firing", "monitor_blind"),
    ]  # fmt: skip
    assert len({notice.key for notice in sink.told}) == 1


@pytest.mark.parametrize(
    ("found", "why", "in_english", "in_chinese"),
    [
        (AHEAD, "times_ahead", "times of one are 2 h ahead", "超前 2 小时"),
        (replace(AHEAD, ahead_ms=-300 * S), "times_behind", "times of one are 5 min behind", "落后 5 分钟"),
        (
            replace(AHEAD, ahead_ms=0, broker_name="broker-a", both_ms=120 * S),
            "lists_contradict", "lists of broker broker-a differ", "Broker broker-a 的成员列表不一致",
        ),
    ],
)  # fmt: skip
def test_it_says_what_contradicts_and_whose_rounds_count(
    found: Contradiction, why: str, in_english: str, in_chinese: str
) -> None:
    known = ClusterHealth(
        NOW, NOW, NOW, health().payload, contradicted_since_ts=NOW - 60 * S, contradicted_ts=NOW, contradiction=found
    )
    trouble = cluster_trouble("prod", {"prod": known}, NOW, LIMITS)
    assert trouble is not None
    assert (trouble.kind, trouble.why) == ("monitor_contradicted", why)
    assert in_english in trouble_said(trouble, "en", NOW)
    assert "group g is judged by rounds of one; those of other are refused" in trouble_said(trouble, "en", NOW)
    assert in_chinese in trouble_said(trouble, "zh", NOW)


def test_a_round_far_ahead_hides_no_lateness() -> None:
    sink = watching()
    sink.poll(0, [health(at=0, lag=-30 * 86_400)])
    sink.poll(61, [health(at=61, lag=None)])
    assert troubles(sink) == [("firing", "monitor_late", "c")]


def test_of_a_cluster_of_which_no_round_ever_came_the_job_is_not_accused() -> None:
    trouble = cluster_trouble("new", {"prod": blind(NOW, **QUICK)}, NOW, LIMITS)
    assert trouble is not None
    assert trouble.why == "none_of_it_sent"
    assert "newest round" not in trouble_said(trouble, "en", NOW)


def test_facts_that_the_notifier_cannot_read_are_no_fault_of_the_job() -> None:
    known = ClusterHealth(NOW - 100 * S)
    trouble = cluster_trouble(
        "prod", {"prod": known} if known else {}, NOW, LIMITS, FactsRead(NOW - 99 * S, "permission denied")
    )
    assert trouble is not None
    assert trouble.why == "facts_unreadable"
    assert "since 22:11:41: permission denied" in trouble_said(trouble, "en", NOW)
    read_again = cluster_trouble("prod", {"prod": known} if known else {}, NOW, LIMITS, FactsRead(NOW - S, None))
    assert read_again is not None
    assert read_again.why == "job_silent"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reason_has_its_sentence_and_what_to_check(language: str) -> None:
    words = LANGUAGES[language]
    told = set(words.unseen)
    assert set(EVIDENCE) < told
    of_their_kind = {"nothing_yet", "reads_old", "events_refused", "times_ahead", "times_behind"}
    assert set(words.checks) | of_their_kind == told


def test_a_trouble_says_what_is_seen_now_and_keeps_its_beginning() -> None:
    sink = watching()
    sink.poll(0, [health(at=0)])
    sink.poll(40)
    sink.poll(41, [health(at=41, rounds=0, lag=41)])
    (trouble,) = sink.open_alerts.troubles
    assert (trouble.why, trouble.since_ts) == ("no_rounds", NOW)
    assert len({notice.key for notice in sink.told}) == 1


def of_group(group: str = "g", *, at: int, since: int | None, seq: int) -> Fact:
    """``since``: seconds after NOW since when its events are refused; None: a round of it was taken."""
    payload = GroupFact(
        status="healthy" if since is None else "unknown", members=0, queues=0, counts={}, brokers_covered=0,
        brokers_known=0, members_reporting=0, reason=None if since is None else "EVENTS_REFUSED",
        refused_since=None if since is None else NOW + since * S,
    )  # fmt: skip
    return Fact(seq, "c", group, None, NOW + at * S, payload)


def told_of_groups(sink: Receiver) -> list[tuple[str, tuple[str, ...], str]]:
    return [(one.status, one.groups, one.trouble.kind) for one in sink.told if one.trouble]


def test_group_whose_events_are_refused_is_told_if_it_lasts_and_ends_with_its_next_round() -> None:
    sink = watching()
    sink.poll(40, [health(at=40), of_group(at=35, since=0, seq=7)])
    sink.poll(119, [health(at=119)])
    assert sink.told == [], "a producer that is restarted meanwhile may mend it"
    sink.poll(121, [health(at=121)])
    sink.restart()
    sink.poll(130, [health(at=130)])
    assert told_of_groups(sink) == [("firing", ("g",), "group_blind")]
    sink.poll(200, [health(at=200), of_group(at=198, since=None, seq=9), of_group(at=35, since=0, seq=7)])
    assert told_of_groups(sink)[1:] == [("resolved", ("g",), "group_blind")]
    assert len({one.key for one in sink.told}) == 1


def test_group_that_cannot_be_seen_holds_up_no_alert_of_others_and_is_told_apart() -> None:
    sink = watching()
    refused = [of_group(name, at=35, since=0, seq=1) for name in ("g", "h")]
    sink.poll(130, [health(at=130), *refused, alert("other", at=129)])
    assert sorted(one.groups for one in sink.told) == [("g",), ("h",), ("other",)]
    assert len({one.key for one in sink.told}) == 3


def test_group_that_cannot_be_seen_is_no_news_while_its_whole_cluster_is_blind() -> None:
    sink = watching()
    sink.poll(0, [health(at=0), of_group(at=35, since=0, seq=1)])
    sink.poll(130)
    assert told_of_groups(sink) == [("firing", (), "monitor_blind")]


def test_group_that_cannot_be_seen_follows_routes_and_silences_of_its_name() -> None:
    routes = (Route(("elsewhere",), group="payments-*"), Route(("sink",)))
    sink = watching(routes=routes)
    facts = [of_group(name, at=35, since=0, seq=1) for name in ("payments-1", "g", "quiet")]
    sink.silences = [Silence(id="1", group="quiet", from_ts=NOW, until_ts=NOW + 9_000_000, by="x", why="y")]
    sink.poll(130, [health(at=130), *facts])
    assert [one.groups for one in sink.told] == [("g",)]
