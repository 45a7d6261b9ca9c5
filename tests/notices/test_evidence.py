"""The core's evidence in Chinese, and its times in both languages."""

import re
from pathlib import Path

import pytest

from schemas.facts import AlertFact
from streaming.notices.evidence import in_chinese, in_english
from tests.notices.incidents import INCIDENTS, NOW, SINCE
from tests.scenarios.scenario import FILES, play, read


@pytest.mark.parametrize(
    ("said", "chinese"),
    [
        ("x and 7 more have left, their queues are not taken over", "x 等另外 7 个 已下线，它的队列没有被接管"),
        ("x, y and 17 more are members but do not subscribe to T", "x, y 等另外 17 个 是成员，但没有订阅 T"),
        ("x, y are listed but have not answered for 75 s", "x, y 仍在成员列表中，但已 75 秒没有应答"),
        ("orderly: x, y should own them, and have not got the broker's lock",
         "顺序消费：应由 x, y 持有，但没有拿到 Broker 上的锁"),
        ("x, y should own them, pull by themselves and do not say which queues they own",
         "应由 x, y 持有，它自行拉取，且不上报持有的队列"),
        ("the others leave them to x, y, which do not share out as they do (POP)",
         "其他成员把它们留给 x, y，而它不按同样的方式分配（POP）"),
        ("a lists x; b lists nobody", "a 列出 x；b 未列出任何成员"),
        ("brokers show in turn: T; U: members overwrite each other's", "Broker 交替显示：T; U：成员互相覆盖订阅关系"),
        ("9 messages wait, none pulled for 61 s; every queue of x stands still",
         "9 条消息待拉取，已 61 秒没有拉取；x 的所有队列都停滞"),
        ("9 messages wait, none pulled for 61 s; ", "9 条消息待拉取，已 61 秒没有拉取"),
        ("name servers differ on the route: 10.0.0.1:9876 has 4 queues on a, 4 queues on b; 10.0.0.2:9876 has no queue",
         "各 NameServer 上的路由不一致：10.0.0.1:9876：a 4 个队列, b 4 个队列；10.0.0.2:9876：没有队列"),
        ("not consumed by x", "x 没有消费"),
        ("2 of 3 members reported; no known cause fits", "3 个成员中有 2 个已上报；不符合任何已知原因"),
        ("2 of 3 members reported, the last change was 90 s ago; no known cause fits",
         "3 个成员中有 2 个已上报，最近一次变更在 90 秒前；不符合任何已知原因"),
        ("2 of 3 members reported, nothing has changed since the first round; no known cause fits",
         "3 个成员中有 2 个已上报，开始监控以来没有变更；不符合任何已知原因"),
        ("client id x is listed 2 times; a second instance is not proven: a connection that has died is gone "
         "within 155 s",
         "客户端 ID x 被列出 2 次；尚未证实有第二个实例：已断开的连接会在 155 秒内消失"),
        ("forgotten by ann; it was: x has left, its queues are not taken over",
         "由 ann 忘记；此前：x 已下线，它的队列没有被接管"),
        ("GO: x own other queues than the strategy gives them, all members of other SDKs own theirs",
         "GO: x 持有的队列与分配策略不符，其他 SDK 的成员都相符"),
        ("x should own them, pulls by itself and does not say which queues it owns",
         "应由 x 持有，它自行拉取，且不上报持有的队列"),
        ("the others leave them to x, which does not share out as they do (POP)",
         "其他成员把它们留给 x，而它不按同样的方式分配（POP）"),
        ("what nobody has said before", "what nobody has said before"),
    ],
)  # fmt: skip
def test_in_chinese(said: str, chinese: str) -> None:
    assert in_chinese(said, NOW) == chinese


def test_times_can_be_read() -> None:
    said = f"client id x is used by 2 instances, started at [{SINCE - 86_400_000}, {SINCE}]"
    assert in_english(said, NOW) == "client id x is used by 2 instances, started at 11-20 16:58:03, 16:58:03"
    assert in_chinese(said, NOW) == "客户端 ID x 被 2 个实例使用，启动于 11-20 16:58:03, 16:58:03"


def assert_chinese(fact: AlertFact) -> None:
    """Some evidence is but names: of strategies with their members, of causes with their queues."""
    is_but_names = fact.cause == "STRATEGY_MISMATCH" or fact.kind in ("INCONSISTENT_SUBSCRIPTION", "UNREADABLE_QUEUES")
    if fact.evidence != "-" and not (is_but_names and not re.search("show in turn", fact.evidence)):
        assert re.search("[一-鿿]", in_chinese(fact.evidence, NOW)), fact.evidence


def test_all_that_incidents_say_is_said_in_chinese() -> None:
    for notice in INCIDENTS.values():
        for alert in notice.alerts:
            assert_chinese(alert.fact)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_all_that_the_core_says_is_said_in_chinese(path: Path) -> None:
    """A new sentence of the core wants one in Chinese."""
    for fact in play(read(path)).facts:
        if isinstance(fact.payload, AlertFact):
            assert_chinese(fact.payload)
