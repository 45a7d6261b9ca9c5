"""Name servers, brokers, and the requests that they permit."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from streaming.collector.probing.proxies import REMOTING_PORT
from streaming.collector.wire.answers import NO_MESSAGES, REQUEST_CODE_NOT_SUPPORTED, SUCCESS, TOPIC_NOT_EXIST
from streaming.collector.wire.proxy_messages import SYNCER_TOPIC
from streaming.collector.wire.requests import READER, Code
from streaming.doctor.checks import Check, fine, unknown, wrong
from streaming.wording.lists import first_of, grouped
from streaming.wording.numbers import counted

AREA = "rocketmq"
SYSTEM_ERROR, NO_PERMISSION, QUERY_NOT_FOUND, CONSUMER_NOT_ONLINE = 1, 16, 22, 206
# The codes of an answer that the broker gives only to who may ask.
PERMITTED: Mapping[Code, Collection[int]] = {
    Code.PULL_MESSAGE: (SUCCESS, *NO_MESSAGES),
    Code.QUERY_CONSUMER_OFFSET: (SUCCESS, QUERY_NOT_FOUND),
    Code.GET_MAX_OFFSET: (SUCCESS, TOPIC_NOT_EXIST),
    Code.GET_CONSUMER_LIST_BY_GROUP: (SUCCESS,),
    Code.GET_ROUTEINFO_BY_TOPIC: (SUCCESS, TOPIC_NOT_EXIST),
    Code.GET_BROKER_CLUSTER_INFO: (SUCCESS,),
    Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: (SUCCESS,),
    Code.GET_CONSUMER_CONNECTION_LIST: (SUCCESS, CONSUMER_NOT_ONLINE),
    Code.GET_CONSUME_STATS: (SUCCESS,),
    Code.GET_CONSUMER_RUNNING_INFO: (SUCCESS,),
    Code.GET_ALL_PRODUCER_INFO: (SUCCESS,),
    Code.GET_ALL_MESSAGE_REQUEST_MODE: (SUCCESS, REQUEST_CODE_NOT_SUPPORTED),  # the 4.x line does not know it
    Code.POLLING_INFO: (SUCCESS, TOPIC_NOT_EXIST, REQUEST_CODE_NOT_SUPPORTED),
}
# For an unknown group or client a broker gives the code of any error. Its remark shows that it has looked for them.
LOOKED_FOR: Mapping[Code, str] = {
    Code.GET_CONSUMER_LIST_BY_GROUP: "no consumer for this group",  # ConsumerManageProcessor
    Code.GET_CONSUMER_RUNNING_INFO: "not online",  # AdminBrokerProcessor.callConsumer
}
WRONG_SECRET = "compare collector.access_key and its secret with the user of the broker"
ACL = "docs/collector.md#permissions has the rights that it needs; for ACL 2.0:"
RIGHTS = "-r 'Cluster:*,Topic:*,Group:*' -a 'Get,List' -d Allow"
RIGHTS_FOR_PROXIES = f"-r 'Topic:{SYNCER_TOPIC},Group:{READER}' -a Sub -d Allow"


class Answered(NamedTuple):
    """The answer to one request. ``number``: its code, None: no answer, and ``failure`` says why."""

    code: Code
    number: int | None
    remark: str = ""
    failure: str = ""


class NameServerView(NamedTuple):
    """What one name server answers: the brokers that it knows; None: no answer that can be read, and ``failure``."""

    address: str
    brokers: frozenset[str] | None
    failure: str = ""


def name_servers(cluster: str, views: Sequence[NameServerView]) -> Iterator[Check]:
    every = frozenset[str]().union(*(view.brokers or () for view in views))
    for view in views:
        where = f"{cluster} {view.address}"
        if view.brokers is None:
            mend = f"start it, open the way to it, or mend collector.clusters.{cluster}"
            yield wrong(AREA, "name server", view.failure, mend, where)
        elif not view.brokers:
            yield wrong(AREA, "name server", "it knows no broker", "mqadmin clusterList -n " + view.address, where)
        elif missing := sorted(every - view.brokers):
            found = f"it does not know {first_of(missing)}, which another name server knows"
            yield wrong(AREA, "name server", found, f"name {view.address} in namesrvAddr of these brokers", where)
        else:
            yield fine(AREA, "name server", f"knows {counted(len(view.brokers), 'broker')}", where)


def broker(where: str, version: str, failure: str, is_asked: bool) -> Check:
    """``failure`` empty: it answered. ``is_asked``: the collector asks it; else only when the master is away."""
    if not failure:
        return fine(AREA, "broker", version or "answers", where)
    mend = "start it, open the way to it, or mend brokerIP1 of the broker: name servers give this address to clients"
    return wrong(
        AREA, "broker", failure if is_asked else f"{failure} (a replica, asked when its master is away)", mend, where
    )


def permissions(where: str, answers: Sequence[Answered], key_hint: str) -> Iterator[Check]:
    """``key_hint``: the command that gives rights, with the name of the user."""
    by_verdict = grouped(answers, _permission)
    if permitted := by_verdict.get("permitted"):
        yield fine(AREA, "requests", f"{_numbers(permitted)} permitted", where)
    for words, some in grouped(by_verdict.get("refused", ()), _said).items():
        mend = WRONG_SECRET if "signature" in words else f"{ACL} {key_hint} {RIGHTS}"
        yield wrong(AREA, "requests", f"{_numbers(some)} refused: {words}", mend, where)
    for one in by_verdict.get("does without", ()):
        found = f"{one.code.value} refused: {_said(one)}: proxies on another port than {REMOTING_PORT} are not found"
        mend = f"name them in collector.proxies; or {ACL} {key_hint} {RIGHTS_FOR_PROXIES}"
        yield unknown(AREA, "requests", found, mend, where)
    for why, some in grouped(by_verdict.get("unknown", ()), _why_unknown).items():
        yield unknown(AREA, "requests", f"{_numbers(some)}: {why}", where=where)


def _permission(one: Answered) -> str:
    if one.number is None:
        return "unknown"
    if one.number in PERMITTED[one.code] or _has_looked(one):
        return "permitted"
    if one.number == SYSTEM_ERROR and one.code in LOOKED_FOR and not _is_refused_in_words(one):
        return "unknown"
    return "does without" if one.code is Code.PULL_MESSAGE else "refused"


def _has_looked(one: Answered) -> bool:
    return one.number == SYSTEM_ERROR and one.code in LOOKED_FOR and LOOKED_FOR[one.code] in one.remark


def _is_refused_in_words(one: Answered) -> bool:
    """The 4.x line refuses with the code of any error, and the name of its exception."""
    return "AclException" in one.remark or "signature" in one.remark


def _why_unknown(one: Answered) -> str:
    if one.number is None:
        return one.failure
    return f"code {one.number} may mean that it is refused, or that there is no such client now"


def _said(one: Answered) -> str:
    return f"code {one.number}: {one.remark}" if one.remark else f"code {one.number}"


def _numbers(answers: Sequence[Answered]) -> str:
    return ", ".join(str(number) for number in sorted(one.code.value for one in answers))
