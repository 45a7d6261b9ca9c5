"""Evidence as sentences in both languages."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from schemas import observed as o
from schemas.facts import Cause, Kind, Severity
from schemas.reasons import ReasonKind
from streaming import notices
from streaming.core.causes.table import CAUSES, NextStep
from streaming.core.finding_kinds import ALERTING
from streaming.notices.commands import _COMMANDS, _OF_KIND
from streaming.notices.evidence import Sentences, said
from streaming.notices.evidence_chinese import CHINESE_EVIDENCE
from streaming.notices.evidence_english import ENGLISH_EVIDENCE
from streaming.notices.language import Language
from streaming.notices.languages import LANGUAGES
from tests.notices.incidents import INCIDENTS

EIGHT, NINETEEN, ONE, TWO = (o.clients(["x", "y", "z"][:n] + [f"z{i}" for i in range(n - 3)]) for n in (8, 19, 1, 2))
SAID = [
    (o.MemberGone(clients=EIGHT), "x, y, z and 5 more have left, their queues are not taken over",
     "x, y, z 等另外 5 个 已下线，它的队列没有被接管"),
    (o.MemberGone(clients=ONE), "x has left, its queues are not taken over", "x 已下线，它的队列没有被接管"),
    (o.NotSubscribed(clients=NINETEEN, topic="T"), "x, y, z and 16 more are members but do not subscribe to T",
     "x, y, z 等另外 16 个 是成员，但没有订阅 T"),
    (o.NotAnswering(clients=TWO, silent_ms=75_999), "x, y are listed but have not answered for 75 s",
     "x, y 仍在成员列表中，但已 75 秒没有应答"),
    (o.NotLocked(clients=TWO), "orderly: x, y should own them, but do not have the broker's lock",
     "顺序消费：应由 x, y 持有，但没有拿到 Broker 上的锁"),
    (o.OwnersDoNotReport(clients=TWO),
     "x, y should own them, pull by themselves and do not report which queues they own",
     "应由 x, y 持有，它自行拉取，且不上报持有的队列"),
    (o.OwnersBalanceOtherwise(clients=ONE, exclusions=("POP",)),
     "the other members leave them to x, which does not use the same allocation (POP)",
     "其他成员把它们留给 x，而它不按同样的方式分配（POP）"),
    (o.MemberListsDiffer(lists=(o.BrokerList("a", ONE), o.BrokerList("b", o.clients([])))),
     "a lists x; b lists no member", "a 列出 x；b 未列出任何成员"),
    (o.SubscriptionsInTurn(topics=(("T",), ("U",))), "brokers show different subscriptions in turn (T; U):"
    " members overwrite each other's",
     "Broker 交替显示：T; U：成员互相覆盖订阅关系"),
    (o.RoutesDiffer(copies=(o.RouteAtNameServers(("n1:9876",), (o.BrokerQueues("a", 4), o.BrokerQueues("b", 4))),
                            o.RouteAtNameServers(("n2:9876",), ()))),
     "name servers differ on the route: n1:9876 has 4 queues on a, 4 queues on b; n2:9876 has no queue",
     "各 NameServer 上的路由不一致：n1:9876：a 4 个队列, b 4 个队列；n2:9876：没有队列"),
    (o.ClientsStuck(clients=ONE, broker_names=("b",)),
     "every queue of x on b stands still, its others move: can it reach that broker?",
     "x 在 b 上的所有队列都停滞，其余队列正常：它能否连上该 Broker？"),
    (o.ClientsComeAndGo(names=("x",), changes=None, within_ms=3_600_000),
     "for 60 minutes and longer, again and again: x", "持续 60 分钟以上反复上下线：x"),
    (o.Unexplained(reported=3, members=3, changed_ms=5_000, keep=ONE, leave=TWO),
     "x owns queues that others should own; x, y do not own queues that they should; 3 of 3 members reported, the last"
     " change was 5 s ago; no known cause fits",
     "x 持有应由其他成员持有的队列；x, y 没有持有它应持有的队列；3 个成员中有 3 个已上报，"
     "最近一次变更在 5 秒前；不符合任何已知原因"),
    (o.OffsetsBack(queues=(o.OffsetBack("a", 0, 900, 300), o.OffsetBack("a", 1, 9, 8)), messages=601, before_ts=1,
                   seen_ts=2, may_be_reset=False, broker_names=("a",), back_ts=3),
     "at least 601 messages are consumed again: a/0 from 900 to 300; a/1 from 9 to 8; read at 1, and lower at 2; a gave"
     " no list of members in between, until 3",
     "至少 601 条消息会被重复消费：a/0 从 900 退到 300；a/1 从 9 退到 8；1 读取后，2 读到的位点变低；"
     "其间 a 没有给出成员列表，3 才恢复"),
    (o.OffsetsBack(queues=(o.OffsetBack("a", 0, 9, 8),), messages=1, before_ts=1, seen_ts=2, may_be_reset=True,
                   owned_twice=True, changed_ts=3, more=2),
     "at least 1 message is consumed again: a/0 from 9 to 8; and 2 more queues; read at 1, and lower at 2; two clients"
     " may have consumed them at that time; members changed at 3; an operator's reset looks the same, and so does a"
     " pull consumer that seeks",
     "至少 1 条消息会被重复消费：a/0 从 9 退到 8；另有 2 个队列；1 读取后，2 读到的位点变低；"
     "当时可能有两个客户端同时消费；"
     "成员在 3 有变更；人工重置位点看起来也是这样，拉取消费者自行 seek 也是"),
    (o.HeadBlocked(queues=(o.BlockedQueue("a", 0, 67, 9), o.BlockedQueue("a", 1, 70, 1)), waiting=12, stands_ms=95_000,
                   polled_ts=3, more=1),
     "12 messages wait behind the first of a/0 (offset 67), a/1 (offset 70), and of 1 more queue; these were handed out"
     " and have not been acknowledged for 95 s; a client polled meanwhile, at 3, and got none",
     "12 条消息排在 a/0（位点 67）, a/1（位点 70） 和另外 1 个队列 的首条消息之后；首条消息已投递，95 秒未被确认；"
     "其间 3 有客户端轮询，但没有得到消息"),
    (o.ConsumedAgain(again=1, taken=4, counted_ms=400_000, since_ts=2, broker_names=("a", "b"),
                     retry_topics=("%RETRY%g_T",)),
     "1 message came back in 400 s, while clients took 4, on a, b (%RETRY%g_T): refused, or not acknowledged in time;"
     " some have come back since 2",
     "400 秒内有 1 条消息被退回重新投递，同期客户端取走 4 条（a, b；%RETRY%g_T）：处理失败，或未在不可见时间内确认；"
     "自 2 起持续"),
    (o.ReviveBehind(broker_names=("a",), records=1, stands_ms=60_000),
     "a has 1 record of POP left to read: for 60 s more have come and none was read. Until they are read, messages that"
     " clients took and did not acknowledge are not given out again",
     "a 还有 1 条 POP 记录没有读取：记录不断到达，已 60 秒一条也没有读取。读取之前，"
     "客户端取走而未确认的消息不会重新投递"),
    (o.ReviveBehind(broker_names=("a", "b"), records=90, stands_ms=60_000, late_for_ms=125_000),
     "a, b have 90 records of POP left to read: for 60 s more have come and none was read; in other queues for 125 s"
     " they have been read more than a minute late. Until they are read, messages that clients took and did not"
     " acknowledge are not given out again",
     "a, b 还有 90 条 POP 记录没有读取：记录不断到达，已 60 秒一条也没有读取；其他队列已 125 秒读取延迟超过一分钟。"
     "读取之前，客户端取走而未确认的消息不会重新投递"),
    (o.NoMemberListed(waiting=None, at_least=False), "no broker lists a member; how many messages wait is not known",
     "没有任何 Broker 列出成员；堆积的消息数未知"),
    (o.RefusedByBrokers(broker_names=("a",)),
     "a has consumeEnable=false for the group, or has no such group",
     "该消费组在 a 上为 consumeEnable=false，或不存在"),
    (o.RefusedByBrokers(broker_names=("a", "b")),
     "a, b have consumeEnable=false for the group, or have no such group",
     "该消费组在 a, b 上为 consumeEnable=false，或不存在"),
    (o.PolledElsewhere(broker_names=("b", "c")), "clients poll b, c meanwhile", "其间客户端轮询 b, c"),
    (o.PolledElsewhere(broker_names=("b",), proxies=("10.0.0.5:8080",)),
     "clients poll b meanwhile, and are connected to proxy 10.0.0.5:8080",
     "其间客户端轮询 b，它们连接 Proxy 10.0.0.5:8080"),
    (o.NoMemberListed(waiting=9, at_least=False, at_proxies=True, proxies_away=("10.0.0.5:8080",)),
     "no broker and no proxy lists a member; 9 messages wait; proxy 10.0.0.5:8080 did not answer at about the time when"
     " they left: clients may run without being listed",
     "没有任何 Broker 或 Proxy 列出成员；堆积 9 条消息；成员离开前后，Proxy 10.0.0.5:8080 没有应答：客户端可能仍在"
     "运行，只是没有被列出"),
    (o.SameClientId(client_id="x", instances=2, start_ts=(1, 2)), "client id x is used by 2 instances, started at 1, 2",
     "客户端 ID x 被 2 个实例使用，启动于 1, 2"),
]  # fmt: skip


@pytest.mark.parametrize(("part", "english", "chinese"), SAID)
def test_a_kind_of_evidence_in_both_languages(part: o.Part, english: str, chinese: str) -> None:
    assert said(o.observed(part), ENGLISH_EVIDENCE, str) == english
    assert said(o.observed(part), CHINESE_EVIDENCE, str) == chinese


def test_all_that_was_observed_stands_in_one_line() -> None:
    stall = o.Stall(waiting=9, stalled_ms=61_000, by_pull_offset=True)
    both = replace(o.observed(o.ClientsStuck(clients=ONE), stall), fired_times=4, forgotten_by="ann")
    assert said(both, ENGLISH_EVIDENCE, str) == (
        "retired by ann (evenkeel forget); before: 9 messages wait, none pulled for 61 s; every queue of x"
        " stands still;"
        " found 4 times so far"
    )
    assert said(both, CHINESE_EVIDENCE, str) == (
        "已由 ann 下线（evenkeel forget）；此前：9 条消息待拉取，已 61 秒没有拉取；"
        "x 的所有队列都停滞；反复出现，这是第 4 次"
    )


@pytest.mark.parametrize("sentences", [ENGLISH_EVIDENCE, CHINESE_EVIDENCE])
def test_every_kind_of_evidence_has_its_sentence(sentences: Sentences) -> None:
    parts = {kind for kind in vars(o).values() if isinstance(kind, type) and kind.__module__ == o.__name__}
    without = {o.Part, o.Observed, o.Clients}
    assert sentences.of.keys() == (parts - without) | set(ReasonKind)
    assert o.fields_by_type().keys() == set(o.Part.__subclasses__())


def test_both_languages_have_the_same_texts_and_all_that_the_code_asks_for() -> None:
    english, chinese = ({name: type(text) for name, text in vars(one).items()} for one in LANGUAGES.values())
    assert english == chinese
    code = "".join(path.read_text() for path in Path(notices.__file__).parent.glob("*.py"))
    assert english.keys() >= set(re.findall(r"\bwords\.(\w+)", code)) - vars(Language).keys()
    for name, text in vars(LANGUAGES["en"]).items():
        assert not isinstance(text, dict) or text.keys() == vars(LANGUAGES["zh"])[name].keys(), name


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES.keys())
def test_every_cause_and_kind_has_its_words(language: Language) -> None:
    assert language.causes.keys() == {cause.value for cause in Cause}
    assert language.kinds.keys() == {kind.value for kind in ALERTING}
    assert set(language.severities) == set(Severity)
    assert all(advice.brief and advice.sentence and advice.do for advice in language.causes.values())


def test_every_cause_has_its_row_and_every_next_step_its_command() -> None:
    assert CAUSES.keys() == set(Cause)
    assert _COMMANDS.keys() == set(NextStep)
    assert all(kind in {one.value for one in Kind} for kind in _OF_KIND)


def test_evidence_of_an_alert_is_of_a_kind_that_its_cause_knows() -> None:
    for name, notice in INCIDENTS.items():
        for alert in notice.alerts:
            kinds = {type(part) for part in o.parts_of(alert.fact.observed or o.Observed())}
            known = set() if alert.fact.cause is None else set(CAUSES[Cause(alert.fact.cause)].shown_by)
            assert not kinds or not known or kinds & known, name


def test_times_are_those_of_the_reader() -> None:
    evidence = o.observed(o.SameClientId(client_id="x", instances=2, start_ts=(1, 2)))
    assert re.search("at <1>, <2>$", said(evidence, ENGLISH_EVIDENCE, lambda ts: f"<{ts}>"))
