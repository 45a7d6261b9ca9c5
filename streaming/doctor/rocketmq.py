"""RocketMQ, asked with the collector's client, key and networks: each request once, and only such as change nothing.

No client of RocketMQ is asked. The request that would ask one names a client that does not exist.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from uuid import uuid4

from streaming.collector.from_config import credentials_of, tls_of
from streaming.collector.probing.policy import SYNCER_GROUP, policy_of
from streaming.collector.wire import reply_parsing, requests
from streaming.collector.wire.answers import REMARK_CHARACTERS, REQUEST_CODE_NOT_SUPPORTED
from streaming.collector.wire.client import NO_NAME_SERVER, Lane, RemotingClient, Reply
from streaming.collector.wire.proxy_messages import SYNCER_TOPIC
from streaming.collector.wire.requests import Code, Request
from streaming.config.sections import Config
from streaming.config.values import server_list
from streaming.doctor.checks import Check, unknown, wrong
from streaming.doctor.judgement import rocketmq as judge
from streaming.doctor.judgement.clocks import clock
from streaming.errors import CollectorError
from streaming.networks import networks
from streaming.secret_mask import masked

WITHIN_S = 20.0  # for all clusters; the report waits no longer
ANSWER_WITHIN_S = 3.0
TABLES_WITHIN_S = 6.0  # of answers that can be long: of groups, producers and offsets
BROKERS_AT_ONCE = 8
ORDER = {"name server": 0, "broker": 1, "clock": 2, "requests": 3}
ANY_TOPIC = "TBW102"  # TopicValidator.AUTO_CREATE_TOPIC_KEY_TOPIC: each name server has a route of it, or says that not


def checks(config: Config) -> Iterator[Check]:
    if not config.collector.clusters:
        mend = 'clusters = { prod = "HOST:9876" } in [collector]'
        yield unknown(judge.AREA, "clusters", "collector.clusters is empty: there is no cluster to ask", mend)
        return
    try:
        yield from asyncio.run(_all_clusters(config))
    except CollectorError as error:  # the secret or the certificates cannot be read
        yield wrong(judge.AREA, "credentials", str(error), "mend [collector]")


async def _all_clusters(config: Config) -> list[Check]:
    found: list[Check] = []
    looks = [_Look(config, name, servers, found) for name, servers in config.collector.clusters.items()]
    try:
        await asyncio.wait_for(asyncio.gather(*(look.run() for look in looks)), WITHIN_S)
    except TimeoutError:
        found.append(unknown(judge.AREA, "the rest", f"not all had answered after {WITHIN_S:g} s"))
    finally:
        for look in looks:
            await look.client.close()
    return sorted(found, key=lambda check: (ORDER.get(check.what, len(ORDER)), check.where))


class _Look:
    """One look at one cluster."""

    def __init__(self, config: Config, cluster: str, servers: str, found: list[Check]) -> None:
        collector = config.collector
        self._cluster, self._servers, self._found = cluster, server_list(servers), found
        self._policy = policy_of(config, cluster)
        self._clock_limit_ms = self._policy.timing.ahead_of_clock_ms
        self._timeout_s = min(collector.timeout_seconds, ANSWER_WITHIN_S)
        self._user, self._names_proxies = collector.access_key, bool(collector.proxies.get(cluster))
        self._few = asyncio.Semaphore(BROKERS_AT_ONCE)
        self.client = RemotingClient(
            self._timeout_s, tls_of(collector), credentials_of(collector), allowed=networks(collector.networks)
        )

    async def run(self) -> None:
        views = await asyncio.gather(*(self._name_server(address) for address in self._servers))
        self._found += judge.name_servers(
            self._cluster,
            [judge.NameServerView(one, None if known is None else frozenset(known), why) for one, known, why in views],
        )
        replicas: dict[str, dict[str, str]] = {}
        for _, known, _ in views:
            for name, addresses in (known or {}).items():
                replicas.setdefault(name, {}).update(addresses)
        await asyncio.gather(*(self._broker(name, addresses) for name, addresses in sorted(replicas.items())))

    async def _name_server(self, address: str) -> tuple[str, dict[str, dict[str, str]] | None, str]:
        reply = await self._ask(address, requests.cluster_info())
        if reply.frame is None:
            return address, None, reply.error or "no answer"
        if reply.frame.code == REQUEST_CODE_NOT_SUPPORTED:
            return address, None, NO_NAME_SERVER
        route = await self._ask(address, requests.topic_route(ANY_TOPIC))
        self._note_permissions(
            f"{self._cluster} {address}",
            [_answered(Code.GET_BROKER_CLUSTER_INFO, reply), _answered(Code.GET_ROUTEINFO_BY_TOPIC, route)],
        )
        brokers, why = reply_parsing.replica_addresses(reply)
        return address, brokers, why or ""

    async def _broker(self, name: str, replicas: Mapping[str, str]) -> None:
        """Ask its master, or the replica that the collector asks in its place, for all; the others for their time."""
        asked = reply_parsing.foremost(replicas)
        async with self._few:
            for number, address in sorted(replicas.items()):
                where = f"{self._cluster} {name} {address}" + ("" if address == asked else f" (replica {number})")
                if await self._answers(where, address, address == asked) and address == asked:
                    self._note_permissions(where, await self._permissions(address))

    async def _answers(self, where: str, address: str, is_asked: bool) -> bool:
        """Note whether it answers, and what its clock shows."""
        reply = await self._ask(address, requests.broker_runtime_info())
        info, why = reply_parsing.runtime_info(reply)
        failure = (reply.error or "no answer") if reply.frame is None else ""
        self._found.append(judge.broker(where, info.version if info else "", failure, is_asked))
        if reply.frame is None:
            return False
        if info is None or info.ts is None:
            why = f"the broker does not say its time: {why or 'no bootTimestamp or runtime in its answer to 28'}"
            self._found.append(unknown(judge.AREA, "clock", why, where=where))
        else:
            # Its time is cut to the second, and is of some moment between the request and the answer.
            least, most = info.ts - (reply.ts + round(reply.dur_ms)), info.ts + 1000 - reply.ts
            self._found.append(clock(judge.AREA, where, least, most, self._clock_limit_ms))
        return True

    async def _permissions(self, address: str) -> list[judge.Answered]:
        reply = await self._ask(address, requests.subscription_groups(), TABLES_WITHIN_S)
        groups, why = reply_parsing.group_settings(reply)
        found = [_answered(Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, reply)]
        for request, lane in ((requests.message_request_modes(), Lane.LISTS), (requests.producers(), Lane.TABLES)):
            found.append(_answered(request.code, await self._ask(address, request, TABLES_WITHIN_S, lane)))
        if not self._names_proxies and groups and {SYNCER_GROUP, requests.READER} <= groups.keys():
            found.append(await self._permission_to_read(address))
        known = sorted((groups or {}).items())
        # a group that may not consume is refused its polls by the same code as a user without the right
        consuming = (name for name, settings in known if settings.consume_enable is not False)
        group = next(filter(self._policy.covers, consuming), None)
        if group is None:
            why = why or "there is no consumer group to ask about"
            return [*found, *(judge.Answered(code, None, failure=why) for code in OF_A_GROUP)]
        for request, lane in _of_group(group):
            found.append(_answered(request.code, await self._ask(address, request, TABLES_WITHIN_S, lane)))
        return found

    async def _permission_to_read(self, address: str) -> judge.Answered:
        """What proxies write: at its end, where there is nothing yet."""
        end = await self._ask(address, requests.max_offset(SYNCER_TOPIC, 0), TABLES_WITHIN_S, Lane.TABLES)
        request = requests.messages(SYNCER_TOPIC, 0, reply_parsing.offset(end) or 0, 1)
        return _answered(request.code, await self._ask(address, request, TABLES_WITHIN_S, Lane.TABLES))

    def _note_permissions(self, where: str, answers: Sequence[judge.Answered]) -> None:
        user = self._user or "USER (and name it in collector.access_key)"
        given = f"mqadmin createAcl -n {self._servers[0]} -c CLUSTER -s User:{user}"
        self._found += judge.permissions(where, answers, given)

    async def _ask(self, address: str, request: Request, within_s: float = 0, lane: Lane = Lane.LISTS) -> Reply:
        return await self.client.ask(address, request, within_s or self._timeout_s, lane)


OF_A_GROUP = (
    Code.GET_CONSUMER_LIST_BY_GROUP, Code.GET_CONSUMER_CONNECTION_LIST, Code.GET_CONSUME_STATS,
    Code.QUERY_CONSUMER_OFFSET, Code.GET_MAX_OFFSET, Code.POLLING_INFO, Code.GET_CONSUMER_RUNNING_INFO,
)  # fmt: skip


def _of_group(group: str) -> Iterator[tuple[Request, Lane]]:
    topic = f"%RETRY%{group}"
    yield requests.consumer_list(group), Lane.LISTS
    yield requests.connections(group), Lane.LISTS
    yield requests.consume_stats(group), Lane.TABLES
    yield requests.consumer_offset(group, topic, 0), Lane.TABLES
    yield requests.max_offset(topic, 0), Lane.TABLES
    yield requests.polling_info(group, topic), Lane.TABLES
    yield requests.running_info(group, f"evenkeel-doctor-{uuid4().hex[:12]}"), Lane.CLIENTS


def _answered(code: Code, reply: Reply) -> judge.Answered:
    if reply.frame is None:
        return judge.Answered(code, None, failure=reply.error or "no answer")
    words = " ".join(masked(reply.frame.remark or "").partition("\n")[0].split())[:REMARK_CHARACTERS]
    return judge.Answered(code, reply.frame.code, words)
