"""The sentences in Chinese for each kind of evidence and each reason."""

from schemas import observed as o
from schemas.reasons import ReasonKind
from streaming.notices.evidence import Sentences

_COUNTS_FROM = "；evenkeel 只采用 {counts_from_ts} 之后的上报"

CHINESE_EVIDENCE = Sentences(
    of={
        o.Stall: "{waiting} 条消息待{by_pull_offset:?拉取|消费}，已 {stalled_ms:s} 秒没有{by_pull_offset:?拉取|消费}",
        o.Unconsumed: "{pulled:?已拉取 {pulled} 条消息，{unconsumed_ms:s} 秒内没有消费|持有者手中的消息已 "
        "{unconsumed_ms:s} 秒没有消费完}",
        o.NotConsumedBy: "{clients} 没有消费",
        o.NotInRoute: "Topic 的路由中没有这个队列",
        o.SubscriptionMembers: "{clients}：{subscriptions}",
        o.SubscriptionsDiffer: "{members}",
        o.SubscriptionsInTurn: "Broker 交替显示：{topics}：{refused_topic:?缺少 {refused_topic} 期间，Broker 拒绝对它的"
        "拉取|成员互相覆盖订阅关系}",
        o.QueueName: "{broker_name}/{queue_id}",
        o.UnreadableQueues: "{cause}：{queues}{read_ts:?（{at_least:?至少 |}{waiting} 条消息，读取于 {read_ts}）|}",
        o.Unreadable: "{causes}",
        o.OffsetBack: "{broker_name}/{queue_id} 从 {from_offset} 退到 {to_offset}",
        o.OffsetsBack: "至少 {messages} 条消息会被重复消费：{queues}{more:?；另有 {more} 个队列|}；{before_ts} 读取后，"
        "{seen_ts} 读到的位点变低{broker_names:?；其间 {broker_names} 没有给出成员列表，{back_ts} 才恢复"
        "|}{owned_twice:?；当时可能有两个客户端同时消费|}{changed_ts:?；成员在 {changed_ts} 有变更|}{may_be_reset:?；"
        "人工重置位点看起来也是这样，拉取消费者自行 seek 也是|}",
        o.BlockedQueue: "{broker_name}/{queue_id}（位点 {offset}）",
        o.HeadBlocked: "{waiting} 条消息排在 {queues}{more:? 和另外 {more} 个队列|} 的首条消息之后；首条消息已投递，"
        "{stands_ms:s} 秒未被确认；其间 {polled_ts} 有客户端轮询，但没有得到消息",
        o.ConsumedAgain: "{counted_ms:s} 秒内有 {again} 条消息被退回重新投递，同期客户端取走 {taken} 条"
        "（{broker_names}；{retry_topics}）：处理失败，或未在不可见时间内确认；自 {since_ts} 起持续",
        o.NoMemberListed: "没有任何 Broker {at_proxies:?或 Proxy |}列出成员；{waiting:?{at_least:?至少|}"
        "堆积 {waiting} 条消息|堆积的消息数未知}{allowed_ms:?；配置允许没有成员的时间为 {allowed_ms:min_up} 分钟，"
        "现已超过|}{away_before_ms:?；此前没有成员的时间最长为 {away_before_ms:min_up} 分钟|}"
        "{proxies_away:?；成员离开前后，Proxy {proxies_away} 没有应答：客户端可能仍在运行，只是没有被列出|}",
        o.ClientsComeAndGo: "{changes:?{within_ms:s} 秒内成员变更 {changes} 次；反复上下线的|持续 {within_ms:min} 分钟"
        "以上反复上下线}：{names}",
        o.MoreMembersThanQueues: "{members} 个成员分配 {queues} 个队列",
        o.SameClientId: "客户端 ID {client_id} 被 {instances} 个实例使用{addresses:?（{addresses}）|}{start_ts:#|"
        "{start_ts:?，启动于 |}{start_ts}}",
        o.ListedTwice: "客户端 ID {client_id} 被列出 {entries} 次{addresses:?（{addresses}）|}；尚未证实有第二个实例："
        "已断开的连接会在 {gone_within_ms:s} 秒内消失",
        o.NotSubscribed: "{clients} 是成员，但没有订阅 {topic}",
        o.StrategyMembers: "{strategy}：{clients}",
        o.StrategiesDiffer: "{members}",
        o.SdkMembers: "{language}：{clients}",
        o.SdksDiffer: "{members} 持有的队列与分配策略不符，其他 SDK 的成员都相符",
        o.OwnersBalanceOtherwise: "其他成员把它们留给 {clients}，而它不按同样的方式分配（{exclusions}）",
        o.MessageModelsDiffer: "BROADCASTING：{broadcasting}；CLUSTERING：{clustering}",
        o.BrokerList: "{broker_name} {clients:?列出 {clients}|未列出任何成员}",
        o.MemberListsDiffer: "{lists}",
        o.MembersSplit: "{at_brokers} 连接 Broker，{at_proxies} 连接 Proxy：两边互不知晓，各自消费全部队列",
        o.NotPolled: "{waiting} 条消息待消费，已 {silent_ms:s} 秒没有客户端轮询",
        o.RefusedByBrokers: "该消费组在 {broker_names} 上为 consumeEnable=false，或不存在",
        o.PolledElsewhere: "其间客户端轮询 {broker_names}{proxies:?，它们连接 Proxy {proxies}|}",
        o.SilentSinceProxy: "{clients} 仍在成员列表中；最后一次轮询早于 Proxy {proxies} 停止应答（{away_ms:s} 秒前）",
        o.ReviveBehind: "{broker_names} 还有 {records} 条 POP 记录没有读取："
        "{stands_ms:?记录不断到达，已 {stands_ms:s} 秒一条也没有读取|}{late_for_ms:?{stands_ms:?；其他队列|}"
        "已 {late_for_ms:s} 秒读取延迟超过一分钟|}。读取之前，客户端取走而未确认的消息不会重新投递",
        o.RoomWithoutConsumer: "没有成员消费 {broker_names} 所在机房的队列",
        o.NotConfigured: "没有任何成员的配置包含这些队列",
        o.NotLocked: "顺序消费：应由 {clients} 持有，但没有拿到 Broker 上的锁",
        o.BrokerQueues: "{broker_name} {queues} 个队列",
        o.RouteAtNameServers: "{name_servers:?{name_servers}|其中一个}：{brokers:?{brokers}|没有队列}",
        o.RoutesDiffer: "各 NameServer 上的路由不一致：{copies}",
        o.OldRoute: "路由在 {changed_ms:s} 秒前变更，成员仍按旧路由分配",
        o.NotAnswering: "{clients} 仍在成员列表中，但已 {silent_ms:s} 秒没有应答",
        o.ClientsStuck: "{clients} {broker_names:?在 {broker_names} 上|}的所有队列都停滞"
        "{broker_names:?，其余队列正常：它能否连上该 Broker？|}",
        o.OwnersDoNotReport: "应由 {clients} 持有，它自行拉取，且不上报持有的队列",
        o.MemberGone: "{clients} 已下线，它的队列没有被接管",
        o.Unexplained: "{keep:?{keep} 持有应由其他成员持有的队列；|}{leave:?{leave} 没有持有它应持有的队列；|}{members}"
        " 个成员中有 {reported} 个已上报，{changed_ms:?最近一次变更在 {changed_ms:s} 秒前|开始监控以来没有变更}；不"
        "符合任何已知原因",
        ReasonKind.CONFIGURED: "配置中的规则排除了这个消费组",
        ReasonKind.STATIC_TOPIC: "静态 Topic，其队列只是映射到各 Broker",
        ReasonKind.NOT_SUBSCRIBED: "所有成员都已上报订阅关系，没有成员订阅这个 Topic",
        ReasonKind.POP: "消息由 Broker 下发（POP），不按队列分配",
        ReasonKind.BROKER_ALLOCATED: "有成员的 clientRebalance=false：由 Broker 分配队列",
        ReasonKind.LITE_ASSIGN: "拉取消费者只消费手工指定给它的队列",
        ReasonKind.PROXY_CLIENT: "gRPC 客户端：由它的 Proxy 分配队列",
        ReasonKind.UNREADABLE: "没有客户端能读这个队列：没有读权限，或超出 readQueueNums",
        ReasonKind.LITE_TOPICS: "消费 Lite Topic，不读取其队列和位点",
        ReasonKind.SYSTEM_GROUP: "RocketMQ 自己的消费组：由 Broker 自己消费",
        ReasonKind.NO_ANSWER: "{broker_names} 没有应答",
        ReasonKind.ROUTE_NOT_KNOWN: "Topic 的路由未知",
        ReasonKind.NAME_SERVERS_DIFFER: "各 NameServer 上的路由不一致",
        ReasonKind.NO_MESSAGE_MODEL: "消费组的消费模式（CLUSTERING 或 BROADCASTING）未知",
        ReasonKind.NON_REPORTING_MEMBERS: "{clients} 持有哪些队列未知（{exclusions}）",
        ReasonKind.MEMBERS_AT_PROXIES: "{clients} 由 Proxy 列出，持有哪些队列未知",
        ReasonKind.NO_REPORT_SINCE_CHANGE: "最近一次变更以来 {clients} 没有上报",
        ReasonKind.POLLS_NOT_READ: "所在的 Broker 很久没有给出等待中的轮询数",
        ReasonKind.POPPED_IN_PART: "该 Topic 的 Broker 中只有一部分以 POP 方式下发消息（mqadmin setConsumeMode）："
        "客户端会轮流以 POP 和拉取方式消费它的队列",
        ReasonKind.NO_POLL_SEEN: "没有看到轮询：客户端可能已静默、正忙于已取得的消息，或只在应用调用时才轮询",
        ReasonKind.EVENTS_REFUSED: "其事件被拒收：{refused_as}, {error}",
        ReasonKind.EVALUATION_FAILED: "evenkeel 判断该消费组时出错",
        ReasonKind.ROUTE_CHANGED: f"{{changed_ts}} 路由有变更{_COUNTS_FROM}",
        ReasonKind.BROKERS_CHANGED: f"{{changed_ts}} Topic 所在的 Broker 有变更{_COUNTS_FROM}",
        ReasonKind.MEMBER_LIST_CHANGED: f"{{changed_ts}} {{broker_names}} 的成员列表有变更{_COUNTS_FROM}",
        ReasonKind.BROKER_RETURNED: f"{{changed_ts}} {{broker_names}} 恢复应答{_COUNTS_FROM}",
        ReasonKind.PROXY_AWAY: "{changed_ts} Proxy {broker_names} 中断或恢复；其客户端可能在 {counts_from_ts} 前恢复",
        ReasonKind.OTHER_ROUTE: "所有成员都按另一份路由分配，与已知的路由不同",
        ReasonKind.NOT_IN_ROUTE: "有成员持有，但路由中没有这个队列",
        ReasonKind.NO_MEMBER_YET: "Topic 所在的 Broker 尚未列出任何成员",
        ReasonKind.NO_CONSUMER: "没有成员可以消费它",
        ReasonKind.NO_MEMBERS: "{since_ts:?{since_ts} 起|}没有任何 Broker 列出成员",
        ReasonKind.CONSUME_DISABLED: "消费组配置了 consumeEnable=false",
        ReasonKind.LEFT_ROUTE: "路由中已没有这个队列",
        ReasonKind.BROKERS_NOT_COVERED: "并非 Topic 的每个 Broker 都给出了成员列表",
        ReasonKind.MEMBER_LISTS_DIFFER: "各 Broker 列出的成员不一致",
        ReasonKind.NO_STRATEGY_REPORTED: "没有成员上报分配策略",
        ReasonKind.STRATEGIES_DIFFER: "成员使用不同的分配策略",
        ReasonKind.STRATEGY_NOT_NAMED: "部分成员没有上报分配策略",
        ReasonKind.UNKNOWN_STRATEGY: "策略 {strategy} 不是 RocketMQ 自带的",
        ReasonKind.UNKNOWN_PARAMETERS: "从外部看不到 {strategy} 的参数：请在配置中给出",
        ReasonKind.STRATEGY_THROWS: "{strategy} 抛出 {error}",
    },
    and_more=" 等另外 {n} 个",
    empty={"topics": "无订阅", "exclusions": "自行拉取"},
    separator="；",
    again="{said}；反复出现，这是第 {n} 次",
    forgotten="已由 {who} 下线（evenkeel forget）；此前：{said}",
)
