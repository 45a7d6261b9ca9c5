"""The evidence of an alert in the reader's language. The core says it in English, in the words of ``streaming.core``.

What fits none of the patterns is shown as it is: evidence in English is better than none.
"""

import re
from collections.abc import Callable

from streaming.notices.times import clock

_STARTED = re.compile(r", started at \[(\d+(?:, \d+)*)\]")
_AND_MORE = re.compile(r" and (\d+) more\b")


def with_times(evidence: str, told: Callable[[int], str]) -> str:
    """As the core says it, with its times in ``told``'s words."""
    return _STARTED.sub(lambda found: f", started at {', '.join(map(told, map(int, found[1].split(', '))))}", evidence)


def in_english(evidence: str, now: int) -> str:
    """As the core says it, with times that can be read."""
    return with_times(evidence, lambda ts: clock(ts, now))


def in_chinese(evidence: str, now: int) -> str:
    """The same in Chinese."""
    for pattern, say in _CHINESE:
        found = pattern.fullmatch(evidence)
        if found is not None:
            return say(found, now)
    return _AND_MORE.sub(r" 等另外 \1 个", in_english(evidence, now))


def _times(milliseconds: str, now: int) -> str:
    return ", ".join(clock(int(ts), now) for ts in milliseconds.split(", "))


Say = Callable[[re.Match[str], int], str]


def _as(template: str) -> Say:
    """The groups of the match, in the places of the template."""
    return lambda found, now: _AND_MORE.sub(r" 等另外 \1 个", template.format(*found.groups()))


def _same_client_id(found: re.Match[str], now: int) -> str:
    client_id, instances, addresses, started = found.groups()
    where = f"（{addresses}）" if addresses else ""
    when = f"，启动于 {_times(started, now)}" if started else ""
    return f"客户端 ID {client_id} 被 {instances} 个实例使用{where}{when}"


def _listed_twice(found: re.Match[str], now: int) -> str:
    client_id, times, addresses, seconds = found.groups()
    where = f"（{addresses}）" if addresses else ""
    wait = f"：已断开的连接会在 {seconds} 秒内消失" if seconds else ""
    return f"客户端 ID {client_id} 被列出 {times} 次{where}；尚未证实有第二个实例{wait}"


def _stalled(found: re.Match[str], now: int) -> str:
    waiting, seconds, why = found.groups()
    said = f"{waiting} 条消息待拉取，已 {seconds} 秒没有拉取"
    return f"{said}；{in_chinese(why, now)}" if why else said


def _views(found: re.Match[str], now: int) -> str:
    listed = (part.replace(" lists ", " 列出 ", 1) for part in found[0].split("; "))
    return _AND_MORE.sub(r" 等另外 \1 个", "；".join(listed).replace(" 列出 nobody", " 未列出任何成员"))


def _copies(found: re.Match[str], now: int) -> str:
    """``n1 has 4 queues on a, 4 queues on b; n2 has no queue``."""
    copies = (part.replace(" has ", "：", 1).replace("no queue", "没有队列") for part in found[1].split("; "))
    numbers = re.sub(r"(\d+) queues on (\S+?)(,|；|$)", r"\2 \1 个队列\3", "；".join(copies))
    return f"各 NameServer 上的路由不一致：{numbers}"


def _unexplained(found: re.Match[str], now: int) -> str:
    reported, members, when = found.groups()
    changed = re.fullmatch(r"the last change was (\d+) s ago", when or "")
    since = f"，最近一次变更在 {changed[1]} 秒前" if changed else "，开始监控以来没有变更" if when else ""
    return f"{members} 个成员中有 {reported} 个已上报{since}；不符合任何已知原因"


def _comes_and_goes(found: re.Match[str], now: int) -> str:
    return f"{in_chinese(found[1], now)}；反复出现，这是第 {found[2]} 次"


def _forgotten(found: re.Match[str], now: int) -> str:
    return f"由 {found[1]} 忘记；此前：{in_chinese(found[2], now)}"


_PATTERNS: dict[str, Say] = {
    r"(.*); it comes and goes: (\d+) times now": _comes_and_goes,
    r"forgotten by (.+?); it was: (.*)": _forgotten,
    r"client id (.+) is used by (\d+) instances(?: at (.+?))?(?:, started at \[(.+)\])?": _same_client_id,
    r"client id (.+) is listed (\d+) times(?: at (.+?))?; a second instance is not proven"
    r"(?:: a connection that has died is gone within (\d+) s)?": _listed_twice,
    r"(\d+) messages wait, none pulled for (\d+) s(?:; (.*))?": _stalled,
    r"(.+) (?:is a member but does|are members but do) not subscribe to (.+)": _as("{0} 是成员，但没有订阅 {1}"),
    r"no member consumes from the room of (.+)": _as("没有成员消费 {0} 所在机房的队列"),
    r"no member's configured list names these queues": _as("没有任何成员的配置包含这些队列"),
    r"orderly: (.+) should own them, and ha(?:s|ve) not got the broker's lock": _as(
        "顺序消费：应由 {0} 持有，但没有拿到 Broker 上的锁"
    ),
    r"the route changed (\d+) s ago, and members still share out the old one": _as(
        "路由在 {0} 秒前变更，成员仍按旧路由分配"
    ),
    r"name servers differ on the route: (.+)": _copies,
    r"(.+) (?:is listed but has|are listed but have) not answered for (\d+) s": _as(
        "{0} 仍在成员列表中，但已 {1} 秒没有应答"
    ),
    r"(.+) should own them, pulls? by (?:itself|themselves) and do(?:es)? not say which queues \w+ owns?": _as(
        "应由 {0} 持有，它自行拉取，且不上报持有的队列"
    ),
    r"the others leave them to (.+), which do(?:es)? not share out as they do \((.+)\)": _as(
        "其他成员把它们留给 {0}，而它不按同样的方式分配（{1}）"
    ),
    r"every queue of (.+) stands still": _as("{0} 的所有队列都停滞"),
    r"(.+) ha(?:s|ve) left, (?:its|their) queues are not taken over": _as("{0} 已下线，它的队列没有被接管"),
    r"(\d+) of (\d+) members reported(?:, (.+))?; no known cause fits": _unexplained,
    r"(.+) own other queues than the strategy gives them, all members of other SDKs own theirs": _as(
        "{0} 持有的队列与分配策略不符，其他 SDK 的成员都相符"
    ),
    r"its owner has held messages for (\d+) s": _as("持有者手中的消息已 {0} 秒没有消费完"),
    r"not consumed by (.+)": _as("{0} 没有消费"),
    r"the topic's route does not have this queue": _as("Topic 的路由中没有这个队列"),
    r"brokers show in turn: (.+): members overwrite each other's": _as("Broker 交替显示：{0}：成员互相覆盖订阅关系"),
    r"no broker lists a member; how many messages wait is not known": _as("没有任何 Broker 列出成员；积压的消息数未知"),
    r"no broker lists a member; at least (\d+) messages wait": _as("没有任何 Broker 列出成员；至少积压 {0} 条消息"),
    r"no broker lists a member; (\d+) messages wait": _as("没有任何 Broker 列出成员；积压 {0} 条消息"),
    r"(\d+) membership changes in (\d+) s; again and again: (.+)": _as("{1} 秒内成员变更 {0} 次；反复上下线的：{2}"),
    r"for (\d+) minutes and longer, again and again: (.+)": _as("持续 {0} 分钟以上反复上下线：{1}"),
    # What the notifier says of evenkeel itself (``streaming.notifier.monitor_health``).
    r"the job has told nothing of this cluster yet": _as("作业尚未报告过该集群"),
    r"no round of it can be taken, its events are refused: (.*)": _as("收不到它的任何一轮数据，其事件被拒收：{0}"),
    r"the job tells nothing: it does not run, or cannot write its facts": _as(
        "作业没有任何输出：未运行，或无法写入 facts 表"
    ),
    r"the job runs, but no collection round reaches it: look at the collector and at Kafka": _as(
        "作业在运行，但没有收到采集轮次：检查采集器和 Kafka"
    ),
    r"the job reads what is (\d+) s old; pages wait until it has caught up": _as(
        "作业读到的是 {0} 秒前的数据；追上之前不发送告警"
    ),
    r"[^ ;]+ lists [^;]+(?:; [^ ;]+ lists [^;]+)*": _views,
}
_CHINESE = [(re.compile(pattern), say) for pattern, say in _PATTERNS.items()]
