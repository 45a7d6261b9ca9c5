"""Incidents as evenkeel tells them, one a cause or kind: what the golden pages are written from."""

from typing import Any

from msgspec.structs import replace

from schemas import observed as o
from schemas.facts import AlertChange, AlertClient, AlertFact, AlertQueue, Contradiction, Severity
from schemas.reasons import ReasonDetails
from streaming.notices.notice import MonitorTrouble, Notice, OpenAlert, TroubleEvidence

SINCE = 1_763_744_283_000  # 2025-11-21 16:58:03 UTC
NOW = SINCE + 300_000
WAITS: dict[str, Any] = {"waiting": 12_345, "read_ts": SINCE + 20_000, "oldest_ts": SINCE - 60_000}
A, B, C = "10.0.0.5@4711#88123", "10.0.0.6@4712#99321", "10.0.0.7@4713#11987"


def queues(
    *ids: int, broker: str = "broker-a", owners: tuple[str, ...] = (), expected: tuple[str, ...] | None = (A,)
) -> tuple[AlertQueue, ...]:
    return tuple(AlertQueue(broker, queue_id, owners, expected) for queue_id in ids)


def client(client_id: str, port: int, **said: Any) -> AlertClient:
    host = client_id.partition("@")[0]
    started = (SINCE - 3_600_000 - port,)
    known: dict[str, Any] = {"addresses": (f"{host}:{port}",), "brokers": ("broker-a", "broker-b"), "version": "V4_9_7"}
    return AlertClient(client_id, **{**known, "start_ts": started, **said})


def some(*client_ids: str) -> o.Clients:
    return o.clients(client_ids)


def alert(kind: str, cause: str | None, *parts: o.Part, group: str = "orders", **more: Any) -> OpenAlert:
    topic = more.pop("topic", "T_ORDER")
    known: dict[str, Any] = {
        "fingerprint": f"{group}/{topic}/{kind}", "state": "firing", "severity": "critical", "queues": (),
        "reason": "held_long_enough", "active_ts": SINCE + 20_000, "fired_ts": SINCE + 25_000, "since_ts": SINCE,
        "seen_ts": SINCE + 25_000,
    }  # fmt: skip
    fact = AlertFact(kind=kind, cause=cause, observed=o.observed(*parts), **{**known, **more})
    return OpenAlert("prod", group, topic, SINCE + 25_000, 17, fact)


def notice(*alerts: OpenAlert, **more: Any) -> Notice:
    causes = {one.fact.cause for one in alerts}
    worst = "critical" if any(one.fact.severity == "critical" for one in alerts) else "warning"
    known: dict[str, Any] = {
        "key": "k", "status": "firing", "severity": Severity(worst), "cluster": "prod",
        "groups": tuple(dict.fromkeys(one.group for one in alerts)),
        "cause": causes.pop() if len(causes) == 1 else None, "alerts": alerts, "since_ts": SINCE,
    }  # fmt: skip
    return Notice(**{**known, **more})


def resolved(one: Notice, reason: str = "right_again") -> Notice:
    until = SINCE + 720_000
    alerts = tuple(
        replace(a, ts=until, fact=replace(a.fact, state="resolved", reason=reason, resolved_ts=until, waiting=0))
        for a in one.alerts
    )
    return replace(one, status="resolved", alerts=alerts)


def unreadable(cause: str, *queue_ids: int) -> o.Unreadable:
    queues = tuple(o.QueueName("broker-a", queue_id) for queue_id in queue_ids)
    numbers = {"waiting": 6_044, "read_ts": SINCE, "at_least": cause == "READ_LT_WRITE"}
    return o.Unreadable(causes=(o.UnreadableQueues(cause, queues, **numbers),))


def _of_client_ids() -> dict[str, Notice]:
    twin = "10.0.0.5@shop"
    twins = client(
        twin, 54078, addresses=("10.0.0.5:54078", "10.0.0.6:57770"), start_ts=(SINCE - 90_000, SINCE - 30_000)
    )
    joined = (AlertChange(SINCE - 30_000, "joined", twin),)
    return {
        "SAME_CLIENT_ID": notice(
            alert("DUPLICATED", "SAME_CLIENT_ID",
                  o.SameClientId(client_id=twin, instances=2, addresses=("10.0.0.5:54078", "10.0.0.6:57770"),
                                 start_ts=(SINCE - 90_000, SINCE - 30_000)),
                  queues=queues(0, 1, 2, 3, 7, owners=(twin, twin), expected=(twin,)),
                  clients=(twins,), changes=joined),
            alert("ORPHANED", "SAME_CLIENT_ID", o.SameClientId(client_id=twin, instances=2),
                  queues=queues(4, 5, 6, owners=(), expected=()), clients=(twins,), changes=joined, **WAITS),
        ),
        "STALE_CONNECTION": notice(
            alert("DUPLICATED", "STALE_CONNECTION",
                  o.ListedTwice(client_id=twin, entries=2, addresses=("10.0.0.5:54078", "10.0.0.5:57770"),
                                gone_within_ms=155_000),
                  queues=queues(0, owners=(twin, B), expected=(twin,)), clients=(client(twin, 54078), client(B, 7))),
        ),
    }  # fmt: skip


def _of_members_that_differ() -> dict[str, Notice]:
    circle = "AllocateMessageQueueAveragelyByCircle"
    return {
        "SUBSCRIPTION_MISMATCH": notice(
            alert("ORPHANED", "SUBSCRIPTION_MISMATCH", o.NotSubscribed(clients=some(B), topic="T_ORDER"),
                  queues=queues(2, 3, expected=(B,)),
                  clients=(client(B, 7, subscriptions=("T_REFUND",)), client(A, 8, subscriptions=("T_ORDER",))),
                  **WAITS),
        ),
        "INCONSISTENT_SUBSCRIPTION": notice(
            alert("INCONSISTENT_SUBSCRIPTION", "SUBSCRIPTION_MISMATCH",
                  o.SubscriptionsDiffer(members=(o.SubscriptionMembers(("T_ORDER (paid)",), some(A)),
                                                 o.SubscriptionMembers(("T_ORDER",), some(B)))),
                  topic=None, severity="warning",
                  clients=(client(A, 8, subscriptions=("T_ORDER (paid)",)), client(B, 7, subscriptions=("T_ORDER",)))),
        ),
        "STRATEGY_MISMATCH": notice(
            alert("DUPLICATED", "STRATEGY_MISMATCH",
                  o.StrategiesDiffer(members=(o.StrategyMembers("AllocateMessageQueueAveragely", some(A)),
                                              o.StrategyMembers(circle, some(B)))),
                  queues=queues(1, owners=(A, B), expected=None),
                  clients=(client(A, 8, strategy="AllocateMessageQueueAveragely"),
                           client(B, 7, strategy=f"org.apache.rocketmq.client.consumer.rebalance.{circle}"))),
        ),
        "RESTART_LOOP": notice(
            alert("STALLED", "RESTART_LOOP",
                  o.Stall(waiting=9_240, stalled_ms=620_000, by_pull_offset=True),
                  o.ClientsComeAndGo(names=("10.0.0.1", "10.0.0.2"), changes=None, within_ms=640_000),
                  queues=queues(0, owners=(A,), expected=(A,)),
                  clients=(client(A, 8), client(B, 7))),
        ),
        "MESSAGE_MODEL_MISMATCH": notice(
            alert("DUPLICATED", "MESSAGE_MODEL_MISMATCH",
                  o.MessageModelsDiffer(broadcasting=some(A), clustering=some(B)),
                  queues=queues(0, owners=(A, B), expected=(B,)),
                  clients=(client(A, 8), client(B, 7))),
        ),
    }  # fmt: skip


def _of_lists_and_routes() -> dict[str, Notice]:
    return {
        "VIEW_DIVERGENCE": notice(
            alert("DUPLICATED", "VIEW_DIVERGENCE",
                  o.MemberListsDiffer(lists=(o.BrokerList("broker-a", some(A, B)), o.BrokerList("broker-b", some(A)))),
                  queues=(*queues(0, 1, owners=(A, B), expected=None),
                          *queues(0, 1, 2, broker="broker-b", owners=(A, B), expected=None)),
                  clients=(client(A, 8), client(B, 7, brokers=("broker-a",))),
                  changes=(AlertChange(SINCE - 45_000, "broker_lost", "broker-b"),
                           AlertChange(SINCE - 5_000, "broker_returned", "broker-b"))),
        ),
        "ROUTE_LAG": notice(
            alert("ORPHANED", "ROUTE_LAG", o.OldRoute(changed_ms=85_000),
                  queues=queues(8, 9, 10, 11), clients=(client(A, 8),),
                  changes=(AlertChange(SINCE - 5_000, "route_changed", "T_ORDER"),), **WAITS),
        ),
    }  # fmt: skip


def _of_members() -> dict[str, Notice]:
    return {
        "CLIENT_STALLED": notice(
            alert("STALLED", "CLIENT_STALLED",
                  o.Stall(waiting=12345, stalled_ms=61_000, by_pull_offset=True),
                  o.NotAnswering(clients=some(A), silent_ms=75_000),
                  queues=queues(0, 1, 2, 3, owners=(A,)), clients=(client(A, 8, answered_ts=SINCE - 15_000),), **WAITS),
        ),
        "MEMBER_GONE": notice(
            alert("ORPHANED", "MEMBER_GONE", o.MemberGone(clients=some(C)),
                  queues=queues(4, 5, expected=(B,)), clients=(client(C, 9), client(B, 7)),
                  changes=(AlertChange(SINCE - 26_000, "left", C),), **WAITS),
        ),
        "LOCK_STUCK": notice(
            alert("ORPHANED", "LOCK_STUCK", o.NotLocked(clients=some(B)),
                  queues=queues(6, expected=(B,)), clients=(client(B, 7),), **WAITS),
        ),
    }  # fmt: skip


def _of_settings() -> dict[str, Notice]:
    return {
        "ROOM_WITHOUT_CONSUMER": notice(
            alert("ORPHANED", "ROOM_WITHOUT_CONSUMER", o.RoomWithoutConsumer(broker_names=("room2-broker-a",)),
                  queues=queues(0, 1, broker="room2-broker-a", expected=()), **WAITS),
        ),
        "CONFIG_MISSES_QUEUE": notice(
            alert("ORPHANED", "CONFIG_MISSES_QUEUE", o.NotConfigured(members=3),
                  queues=queues(3, expected=()), **WAITS),
        ),
        "configured_client_gone": notice(
            alert("ORPHANED", "CONFIG_MISSES_QUEUE", o.MemberGone(clients=some(C)),
                  queues=queues(4, 5, expected=()), clients=(client(C, 9),),
                  changes=(AlertChange(SINCE - 26_000, "left", C),), **WAITS),
        ),
        "NO_READ_PERM": notice(
            alert("UNREADABLE_QUEUES", "NO_READ_PERM", unreadable("NO_READ_PERM", 0, 1), severity="warning",
                  queues=queues(0, 1, expected=None), **WAITS),
        ),
        "READ_LT_WRITE": notice(
            alert("UNREADABLE_QUEUES", "READ_LT_WRITE", unreadable("READ_LT_WRITE", 6, 7), severity="warning",
                  queues=queues(6, 7, expected=None), **WAITS),
        ),
        "LEFT_ROUTE": notice(
            alert("UNREADABLE_QUEUES", "LEFT_ROUTE", unreadable("LEFT_ROUTE", 4, 5), severity="warning",
                  queues=queues(4, 5, expected=None), **WAITS),
        ),
    }  # fmt: skip


def _of_no_known_cause() -> dict[str, Notice]:
    return {
        "UNEXPLAINED": notice(
            alert("ORPHANED", "UNEXPLAINED", o.Unexplained(reported=3, members=3, changed_ms=90_000, leave=some(A)),
                  queues=queues(1, 3, 5), clients=(client(A, 8),), **WAITS),
        ),
    }  # fmt: skip


def _by_cause() -> dict[str, Notice]:
    first = _of_client_ids() | _of_members_that_differ() | _of_lists_and_routes()
    return first | _of_members() | _of_settings() | _of_no_known_cause()


def _by_kind() -> dict[str, Notice]:
    turns = ("joined", "left")
    waits: dict[str, Any] = {"waiting": 980, "read_ts": SINCE + 20_000, "oldest_ts": SINCE - 60_000}
    return {
        "SLOW_CONSUMER": notice(
            alert("SLOW_CONSUMER", None, o.Unconsumed(unconsumed_ms=95_000), severity="warning",
                  queues=queues(0, 1, owners=(A,)), clients=(client(A, 8),), **waits),
        ),
        "MISPLACED": notice(
            alert("MISPLACED", "UNEXPLAINED",
                  o.Unexplained(reported=2, members=2, changed_ms=None, keep=some(B), leave=some(A)),
                  severity="warning", queues=queues(0, owners=(B,)), clients=(client(B, 7), client(A, 8))),
        ),
        "PHANTOM": notice(
            alert("PHANTOM", None, o.NotInRoute(confirmed_ts=SINCE), severity="warning",
                  queues=queues(9, owners=(B,), expected=None), clients=(client(B, 7),)),
        ),
        "UNPOLLED": notice(
            alert("UNPOLLED", "PROXY_AWAY", o.NotPolled(waiting=980, silent_ms=95_000),
                  o.SilentSinceProxy(clients=some(A, B), proxies=("10.0.0.5:8080",), away_ms=130_000),
                  queues=queues(0, 1, expected=None), clients=(client(A, 7, start_ts=()), client(B, 8, start_ts=())),
                  **waits),
        ),
        "BROKER_REFUSES_GROUP": notice(
            alert("UNPOLLED", "BROKER_REFUSES_GROUP", o.NotPolled(waiting=980, silent_ms=95_000),
                  o.RefusedByBrokers(broker_names=("broker-a",)),
                  queues=queues(0, 1, expected=None), **waits),
        ),
        "BROKER_NOT_REACHED": notice(
            alert("UNPOLLED", "BROKER_NOT_REACHED", o.NotPolled(waiting=980, silent_ms=305_000),
                  o.PolledElsewhere(broker_names=("broker-b",), proxies=("10.0.0.5:8080", "10.0.0.6:8080")),
                  queues=queues(0, 1, expected=None), **waits),
        ),
        "HEAD_BLOCKED": notice(
            alert("HEAD_BLOCKED", None,
                  o.HeadBlocked(queues=(o.BlockedQueue("broker-a", 1, 90_400, 712),
                                        o.BlockedQueue("broker-a", 0, 67, 268)),
                                waiting=980, stands_ms=310_000, polled_ts=SINCE + 290_000),
                  severity="warning", queues=queues(0, 1, expected=None), **waits),
        ),
        "CONSUMED_AGAIN": notice(
            alert("CONSUMED_AGAIN", None,
                  o.ConsumedAgain(again=1_340, taken=1_610, counted_ms=560_000, since_ts=SINCE - 300_000,
                                  broker_names=("broker-a", "broker-b"), retry_topics=("%RETRY%orders_T_ORDER",)),
                  severity="warning"),
        ),
        "SHARED_CLIENT_ID": notice(
            alert("SHARED_CLIENT_ID", "SAME_CLIENT_ID",
                  o.SameClientId(client_id=A, instances=2, addresses=("10.0.0.1:5000", "10.0.0.2:5000")),
                  topic=None, severity="warning", clients=(client(A, 7, start_ts=()),)),
        ),
        "MEMBER_LISTS_DIFFER": notice(
            alert("MEMBER_LISTS_DIFFER", "VIEW_DIVERGENCE",
                  o.MemberListsDiffer(lists=(o.BrokerList("broker-a", some(A, B)),
                                             o.BrokerList("broker-b", some(A)))),
                  topic=None, severity="warning", clients=(client(B, 7, start_ts=(), brokers=("broker-a",)),)),
        ),
        "OFFSETS_WENT_BACK": notice(
            alert("OFFSETS_WENT_BACK", None,
                  o.OffsetsBack(queues=(o.OffsetBack("broker-a", 0, 90_000, 88_800),
                                        o.OffsetBack("broker-a", 1, 90_400, 89_600)),
                                messages=2_000, before_ts=SINCE - 300_000, seen_ts=SINCE - 60_000, may_be_reset=False,
                                broker_names=("broker-a",), back_ts=SINCE - 70_000),
                  severity="warning", queues=queues(0, 1),
                  changes=(AlertChange(SINCE - 290_000, "broker_lost", "broker-a"),
                           AlertChange(SINCE - 70_000, "broker_returned", "broker-a"))),
        ),
        "REVIVE_STUCK": notice(
            alert("REVIVE_STUCK", None, o.ReviveBehind(broker_names=("broker-a",), records=412, stands_ms=60_000),
                  group="CID_RMQ_SYS_REVIVE_GROUP", topic="rmq_sys_REVIVE_LOG_DefaultCluster", severity="warning",
                  queues=tuple(AlertQueue("broker-a", queue_id, None) for queue_id in range(8)), waiting=412,
                  read_ts=SINCE + 20_000),
        ),
        "MEMBERS_SPLIT": notice(
            alert("MEMBERS_SPLIT", None, o.MembersSplit(at_brokers=some(A), at_proxies=some(B)), topic=None,
                  severity="critical", clients=(client(A, 7, start_ts=(), brokers=("broker-a",)),
                                                client(B, 8, start_ts=(), brokers=("proxy 10.0.0.5:8080",)))),
        ),
        "NO_MEMBERS": notice(
            alert("NO_MEMBERS", None, o.NoMemberListed(waiting=980, at_least=False), topic=None, severity="warning",
                  changes=(AlertChange(SINCE - 5_000, "left", A), AlertChange(SINCE - 4_000, "left", B)), **waits),
        ),
        "REBALANCE_STORM": notice(
            alert("REBALANCE_STORM", None, o.ClientsComeAndGo(names=(A,), changes=9, within_ms=300_000), topic=None,
                  severity="warning", clients=(client(A, 8),),
                  changes=tuple(AlertChange(SINCE - 200_000 + 20_000 * n, turns[n % 2], A) for n in range(9))),
        ),
    }  # fmt: skip


def _lives() -> dict[str, Notice]:
    stuck = _by_cause()["CLIENT_STALLED"]
    lost: dict[str, Any] = {"stale": True, "reason": "evidence_lost"}
    stale = [replace(a, ts=NOW - 60_000, fact=replace(a.fact, **lost)) for a in stuck.alerts]
    flaps: dict[str, Any] = {"reason": "comes_and_goes", "waiting": 0}
    goes_on: dict[str, Any] = {"severity": "warning", "deploy_since_ts": SINCE - 30_000}
    deployed = [replace(a, fact=replace(a.fact, **goes_on)) for a in _by_cause()["SUBSCRIPTION_MISMATCH"].alerts]
    flapping = [
        replace(a, ts=NOW - 60_000, fact=replace(a.fact, observed=replace(a.fact.observed, fired_times=3), **flaps))
        for a in _by_cause()["MEMBER_GONE"].alerts
    ]
    kinds = [("ORPHANED", "MEMBER_GONE"), ("DUPLICATED", "VIEW_DIVERGENCE"), ("STALLED", "CLIENT_STALLED")]
    storm = [
        alert(*kinds[n % 3], group=f"group-{n:02}", queues=queues(*range(n + 1)),
              changes=(AlertChange(SINCE - 9_000, "broker_lost", "broker-b"),))
        for n in range(37)
    ]  # fmt: skip
    seen = TroubleEvidence(
        heard_ts=NOW - 5_000, newest_round_ts=NOW - 145_000, batch_ms=31_000, batch_ended_ts=NOW - 30_000,
        working_ms=25_000, kafka_ts=NOW - 6_000, unread=480, quiet_since_ts=NOW - 6_000,
    )  # fmt: skip
    blind = MonitorTrouble("monitor_blind", "prod", SINCE, why="job_slow", evidence=seen)
    late = MonitorTrouble("monitor_late", "prod", SINCE, why="reads_old", evidence=seen)
    apart = Contradiction(
        "orders", "collector ops-1 4711 1763740000000", "collector ops-7 12 1763740100000", "", 0, 7_200_000
    )
    contradicted = MonitorTrouble(
        "monitor_contradicted", "prod", SINCE, why="times_ahead", evidence=replace(seen, contradiction=apart)
    )
    why_refused = ReasonDetails(refused_as="too_long", error="131073 bytes; the limit is 131072")
    refused = MonitorTrouble(
        "group_blind", "prod", SINCE, "EVENTS_REFUSED", "orders", why="events_refused", reason_details=why_refused
    )
    test = MonitorTrouble("test", "evenkeel", NOW, "from ops-1")
    tried: dict[str, Any] = {"trouble": test, "cluster": "evenkeel", "since_ts": NOW}
    critical = {"severity": Severity.CRITICAL}
    return {
        "stale": notice(*stale),
        "comes_and_goes": notice(*flapping),
        "in_a_deploy": notice(*deployed),
        "resolved": resolved(stuck),
        "gone": resolved(_by_kind()["NO_MEMBERS"], "gone"),
        "excluded": resolved(stuck, "excluded"),
        "storm": notice(*storm, cause=None),
        "storm-resolved": resolved(notice(*storm, cause="VIEW_DIVERGENCE")),
        "monitor_blind": notice(trouble=blind, **critical),
        "monitor_blind-resolved": notice(trouble=blind, status="resolved", **critical),
        "monitor_contradicted": notice(trouble=contradicted, **critical),
        "monitor_contradicted-resolved": notice(trouble=contradicted, status="resolved", **critical),
        "monitor_late": notice(trouble=late, **critical),
        "monitor_late-resolved": notice(trouble=late, status="resolved", **critical),
        "test": notice(**tried),
        "test-resolved": notice(**tried, status="resolved"),
        "group_blind": notice(trouble=refused, groups=("orders",), **critical),
        "group_blind-resolved": notice(trouble=refused, groups=("orders",), status="resolved", **critical),
    }


INCIDENTS: dict[str, Notice] = _by_cause() | _by_kind() | _lives()
