"""Evidence in Chinese, one function for each kind."""

from schemas import observed as o
from streaming.notices.evidence import Clock, Sentences, first_of, seconds
from streaming.notices.evidence_english import queue_names


def _names(clients: o.Clients) -> str:
    return first_of(clients, " 等另外 {n} 个")


def _at(addresses: tuple[str, ...]) -> str:
    return f"（{', '.join(addresses)}）" if addresses else ""


def _unconsumed(it: o.Unconsumed, _: Clock) -> str:
    if it.pulled is None:
        return f"持有者手中的消息已 {seconds(it.unconsumed_ms)} 秒没有消费完"
    return f"已拉取 {it.pulled} 条消息，{seconds(it.unconsumed_ms)} 秒内没有消费"


def _subscriptions_in_turn(it: o.SubscriptionsInTurn, _: Clock) -> str:
    sets = "; ".join(", ".join(topics) or "无订阅" for topics in it.topics)
    if it.refused_topic is None:
        return f"Broker 交替显示：{sets}：成员互相覆盖订阅关系"
    return f"Broker 交替显示：{sets}：缺少 {it.refused_topic} 期间，Broker 拒绝对它的拉取"


def _no_member_listed(it: o.NoMemberListed, _: Clock) -> str:
    if it.waiting is None:
        what = "没有任何 Broker 列出成员；堆积的消息数未知"
    else:
        what = f"没有任何 Broker 列出成员；{'至少' if it.at_least else ''}堆积 {it.waiting} 条消息"
    if it.allowed_ms is not None:
        return f"{what}；配置允许没有成员的时间为 {_minutes(it.allowed_ms)} 分钟，现已超过"
    if it.away_before_ms is not None:
        return f"{what}；此前没有成员的时间最长为 {_minutes(it.away_before_ms)} 分钟"
    return what


def _minutes(ms: int) -> int:
    return -(-ms // 60_000)


def _clients_come_and_go(it: o.ClientsComeAndGo, _: Clock) -> str:
    names = ", ".join(it.names)
    if it.changes is None:
        return f"持续 {seconds(it.within_ms) // 60} 分钟以上反复上下线：{names}"
    return f"{seconds(it.within_ms)} 秒内成员变更 {it.changes} 次；反复上下线的：{names}"


def _same_client_id(it: o.SameClientId, clock: Clock) -> str:
    started = f"，启动于 {', '.join(map(clock, it.start_ts))}" if len(it.start_ts) > 1 else ""
    return f"客户端 ID {it.client_id} 被 {it.instances} 个实例使用{_at(it.addresses)}{started}"


def _listed_twice(it: o.ListedTwice, _: Clock) -> str:
    return (
        f"客户端 ID {it.client_id} 被列出 {it.entries} 次{_at(it.addresses)}；尚未证实有第二个实例："
        f"已断开的连接会在 {seconds(it.gone_within_ms)} 秒内消失"
    )


def _list(one: o.BrokerList) -> str:
    return f"{one.broker_name} 列出 {_names(one.clients)}" if one.clients.count else f"{one.broker_name} 未列出任何成员"


def _copy(copy: o.RouteAtNameServers) -> str:
    sizes = ", ".join(f"{one.broker_name} {one.queues} 个队列" for one in copy.brokers)
    return f"{', '.join(copy.name_servers) or '其中一个'}：{sizes or '没有队列'}"


def _waiting(one: o.UnreadableQueues, clock: Clock) -> str:
    if one.waiting is None or one.read_ts is None:
        return ""
    return f"（{'至少 ' if one.at_least else ''}{one.waiting} 条消息，读取于 {clock(one.read_ts)}）"


def _clients_stuck(it: o.ClientsStuck, _: Clock) -> str:
    if not it.broker_names:
        return f"{_names(it.clients)} 的所有队列都停滞"
    return (
        f"{_names(it.clients)} 在 {', '.join(it.broker_names)} 上的所有队列都停滞，其余队列正常：它能否连上该 Broker？"
    )


def _unexplained(it: o.Unexplained, _: Clock) -> str:
    changed = "开始监控以来没有变更"
    if it.changed_ms is not None:
        changed = f"最近一次变更在 {seconds(it.changed_ms)} 秒前"
    return f"{_culprits(it)}{it.members} 个成员中有 {it.reported} 个已上报，{changed}；不符合任何已知原因"


def _culprits(it: o.Unexplained) -> str:
    keep = it.keep and f"{_names(it.keep)} 持有应由其他成员持有的队列；"
    leave = it.leave and f"{_names(it.leave)} 没有持有它应持有的队列；"
    return (keep or "") + (leave or "")


CHINESE_EVIDENCE = Sentences(
    of={
        o.Stall: lambda it, _: (
            f"{it.waiting} 条消息待{'拉取' if it.by_pull_offset else '消费'}，"
            f"已 {seconds(it.stalled_ms)} 秒没有{'拉取' if it.by_pull_offset else '消费'}"
        ),
        o.Unconsumed: _unconsumed,
        o.NotConsumedBy: lambda it, _: f"{_names(it.clients)} 没有消费",
        o.NotInRoute: lambda it, _: "Topic 的路由中没有这个队列",
        o.SubscriptionsDiffer: lambda it, _: "；".join(
            f"{_names(one.clients)}：{', '.join(one.subscriptions)}" for one in it.members
        ),
        o.SubscriptionsInTurn: _subscriptions_in_turn,
        o.Unreadable: lambda it, clock: "；".join(
            f"{one.cause}：{queue_names(one.queues)}{_waiting(one, clock)}" for one in it.causes
        ),
        o.NoMemberListed: _no_member_listed,
        o.ClientsComeAndGo: _clients_come_and_go,
        o.MoreMembersThanQueues: lambda it, _: f"{it.members} 个成员分配 {it.queues} 个队列",
        o.SameClientId: _same_client_id,
        o.ListedTwice: _listed_twice,
        o.NotSubscribed: lambda it, _: f"{_names(it.clients)} 是成员，但没有订阅 {it.topic}",
        o.StrategiesDiffer: lambda it, _: "；".join(f"{one.strategy}：{_names(one.clients)}" for one in it.members),
        o.SdksDiffer: lambda it, _: (
            f"{'；'.join(f'{one.language}：{_names(one.clients)}' for one in it.members)}"
            " 持有的队列与分配策略不符，其他 SDK 的成员都相符"
        ),
        o.OwnersBalanceOtherwise: lambda it, _: (
            f"其他成员把它们留给 {_names(it.clients)}，而它不按同样的方式分配（{', '.join(it.exclusions)}）"
        ),
        o.MessageModelsDiffer: lambda it, _: (
            f"BROADCASTING：{_names(it.broadcasting)}；CLUSTERING：{_names(it.clustering)}"
        ),
        o.MemberListsDiffer: lambda it, _: "；".join(map(_list, it.lists)),
        o.RoomWithoutConsumer: lambda it, _: f"没有成员消费 {', '.join(it.broker_names)} 所在机房的队列",
        o.NotConfigured: lambda it, _: "没有任何成员的配置包含这些队列",
        o.NotLocked: lambda it, _: f"顺序消费：应由 {_names(it.clients)} 持有，但没有拿到 Broker 上的锁",
        o.RoutesDiffer: lambda it, _: f"各 NameServer 上的路由不一致：{'；'.join(map(_copy, it.copies))}",
        o.OldRoute: lambda it, _: f"路由在 {seconds(it.changed_ms)} 秒前变更，成员仍按旧路由分配",
        o.NotAnswering: lambda it, _: f"{_names(it.clients)} 仍在成员列表中，但已 {seconds(it.silent_ms)} 秒没有应答",
        o.ClientsStuck: _clients_stuck,
        o.OwnersDoNotReport: lambda it, _: f"应由 {_names(it.clients)} 持有，它自行拉取，且不上报持有的队列",
        o.MemberGone: lambda it, _: f"{_names(it.clients)} 已下线，它的队列没有被接管",
        o.Unexplained: _unexplained,
    },
    separator="；",
    again="{said}；反复出现，这是第 {n} 次",
    forgotten="已由 {who} 下线（evenkeel forget）；此前：{said}",
)
