"""Reasons of queues and groups in Chinese, one function for each kind."""

from schemas.reasons import ReasonDetails, ReasonKind
from streaming.notices.evidence import Clock, first_of
from streaming.notices.reasons import ReasonSentences


def _names(it: ReasonDetails) -> str:
    return first_of(it.clients, " 等另外 {n} 个")


def _brokers(it: ReasonDetails) -> str:
    return ", ".join(it.broker_names)


def _non_reporting(it: ReasonDetails, _: Clock) -> str:
    why = ", ".join(one or "自行拉取" for one in it.exclusions)
    return f"{_names(it)} 持有哪些队列未知（{why}）"


def _changed(what: str, it: ReasonDetails, clock: Clock) -> str:
    return f"{clock(it.changed_ts)} {what}；evenkeel 只采用 {clock(it.counts_from_ts)} 之后的上报"


def _no_members(it: ReasonDetails, clock: Clock) -> str:
    return f"{clock(it.since_ts)} 起没有任何 Broker 列出成员" if it.since_ts else "没有任何 Broker 列出成员"


CHINESE_REASONS: ReasonSentences = {
    ReasonKind.CONFIGURED: lambda *_: "配置中的规则排除了这个消费组",
    ReasonKind.STATIC_TOPIC: lambda *_: "静态 Topic，其队列只是映射到各 Broker",
    ReasonKind.NOT_SUBSCRIBED: lambda *_: "所有成员都已上报订阅关系，没有成员订阅这个 Topic",
    ReasonKind.POP: lambda *_: "消息由 Broker 下发（POP），不按队列分配",
    ReasonKind.BROKER_ALLOCATED: lambda *_: "有成员的 clientRebalance=false：由 Broker 分配队列",
    ReasonKind.LITE_ASSIGN: lambda *_: "拉取消费者只消费手工指定给它的队列",
    ReasonKind.PROXY_CLIENT: lambda *_: "gRPC 客户端：由它的 Proxy 分配队列",
    ReasonKind.UNREADABLE: lambda *_: "没有客户端能读这个队列：没有读权限，或超出 readQueueNums",
    ReasonKind.NO_ANSWER: lambda it, _: f"{_brokers(it)} 没有应答",
    ReasonKind.ROUTE_NOT_KNOWN: lambda *_: "Topic 的路由未知",
    ReasonKind.NAME_SERVERS_DIFFER: lambda *_: "各 NameServer 上的路由不一致",
    ReasonKind.NO_MESSAGE_MODEL: lambda *_: "消费组的消费模式（CLUSTERING 或 BROADCASTING）未知",
    ReasonKind.NON_REPORTING_MEMBERS: _non_reporting,
    ReasonKind.NO_REPORT_SINCE_CHANGE: lambda it, _: f"最近一次变更以来 {_names(it)} 没有上报",
    ReasonKind.EVENTS_REFUSED: lambda it, _: f"其事件被拒收：{it.refused_as}, {it.error}",
    ReasonKind.EVALUATION_FAILED: lambda *_: "evenkeel 判断该消费组时出错",
    ReasonKind.ROUTE_CHANGED: lambda it, clock: _changed("路由有变更", it, clock),
    ReasonKind.BROKERS_CHANGED: lambda it, clock: _changed("Topic 所在的 Broker 有变更", it, clock),
    ReasonKind.MEMBER_LIST_CHANGED: lambda it, clock: _changed(f"{_brokers(it)} 的成员列表有变更", it, clock),
    ReasonKind.BROKER_RETURNED: lambda it, clock: _changed(f"{_brokers(it)} 恢复应答", it, clock),
    ReasonKind.OTHER_ROUTE: lambda *_: "所有成员都按另一份路由分配，与已知的路由不同",
    ReasonKind.NOT_IN_ROUTE: lambda *_: "有成员持有，但路由中没有这个队列",
    ReasonKind.NO_MEMBER_YET: lambda *_: "Topic 所在的 Broker 尚未列出任何成员",
    ReasonKind.NO_CONSUMER: lambda *_: "没有成员可以消费它",
    ReasonKind.NO_MEMBERS: _no_members,
    ReasonKind.CONSUME_DISABLED: lambda *_: "消费组配置了 consumeEnable=false",
    ReasonKind.LEFT_ROUTE: lambda *_: "路由中已没有这个队列",
    ReasonKind.BROKERS_NOT_COVERED: lambda *_: "并非 Topic 的每个 Broker 都给出了成员列表",
    ReasonKind.MEMBER_LISTS_DIFFER: lambda *_: "各 Broker 列出的成员不一致",
    ReasonKind.NO_STRATEGY_REPORTED: lambda *_: "没有成员上报分配策略",
    ReasonKind.STRATEGIES_DIFFER: lambda *_: "成员使用不同的分配策略",
    ReasonKind.STRATEGY_NOT_NAMED: lambda *_: "部分成员没有上报分配策略",
    ReasonKind.UNKNOWN_STRATEGY: lambda it, _: f"策略 {it.strategy} 不是 RocketMQ 自带的",
    ReasonKind.UNKNOWN_PARAMETERS: lambda it, _: f"从外部看不到 {it.strategy} 的参数：请在配置中给出",
    ReasonKind.STRATEGY_THROWS: lambda it, _: f"{it.strategy} 抛出 {it.error}",
}
