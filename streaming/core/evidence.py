"""What the evidence at hand amounts to, before anything is judged: per member, and of the whole group."""

import re
from functools import cached_property

from streaming.core.group import Group
from streaming.core.losses import reports_count_after
from streaming.core.membership import hosting_brokers, is_listed
from streaming.core.state import Client, ListedAs, Report, RunsAs

BROADCASTING = "BROADCASTING"
PULLS = "CONSUME_ACTIVELY"  # ConsumeType of pull consumers
Subscriptions = tuple[tuple[str, str | None], ...]
_GRPC_CLIENT_ID = re.compile(r"[^@]+@[0-9]+@[0-9]+@[0-9a-z]+")


class MemberEvidence:
    """What one listed client has said. ``as_of``: the moment from which all of its instances have; 0: not all have."""

    __slots__ = ("as_of", "client", "entries", "place", "reports", "runs_as", "twin_proven", "weight")

    def __init__(self, group: Group, place: int, client: Client) -> None:
        state, timing = group.state, group.timing
        self.place = place
        self.client = client
        self.entries = max(client.entries)
        fresh = [r for r in client.reports if r.answered_ts > reports_count_after(state)]
        both_answer = _two_instances_answer(group, client, fresh)
        both_connected = client.double_ts > 0 and state.now - client.double_ts >= timing.second_address_proof
        counts_twice = self.entries > 1 and (both_answer or both_connected)
        self.twin_proven = counts_twice or (self.entries > 1 and _two_instances_at_once(group, fresh))
        only_one_is_heard = counts_twice and not both_answer
        self.reports: list[Report] = fresh[: 1 if only_one_is_heard else self.entries]
        lacking = len(self.reports) < self.entries and not (counts_twice and self.reports)
        self.as_of = 0 if lacking or not self.reports else min(r.answered_ts for r in self.reports)
        self.weight = self.entries if counts_twice and len(self.reports) == 1 else 1  # twins compute the same share
        self.runs_as: RunsAs | None = state.runs_as[fresh[0].runs_as] if fresh else None


def _doubled_since(group: Group, client: Client) -> int:
    """When a list that holds the id twice last changed: what was said before is of no use as proof."""
    brokers = zip(group.state.brokers, client.entries, strict=False)
    return max((broker.changed_ts for broker, entries in brokers if entries > 1), default=0)


def _two_instances_answer(group: Group, client: Client, reports: list[Report]) -> bool:
    """Two start times under one client id, both heard lately: two instances."""
    not_before = max(group.state.now - group.timing.report_max_age, _doubled_since(group, client))
    return len(reports) > 1 and all(report.answered_ts > not_before for report in reports)


def _two_instances_at_once(group: Group, reports: list[Report]) -> bool:
    """Whether the one that started first still answered after the other had started: it was no restart."""
    if len(reports) < 2 or not all(report.start_ts for report in reports):
        return False
    first, second = sorted(reports, key=lambda report: report.start_ts)
    not_before = group.state.now - group.timing.second_address_proof
    return first.answered_ts > max(not_before, second.start_ts + group.timing.ahead_of_clock)


class GroupEvidence:
    """All members, and what they have in common."""

    def __init__(self, group: Group) -> None:
        state = group.state
        self.group = group
        self.now = state.now
        self.members = {
            place: MemberEvidence(group, place, client)
            for place, client in enumerate(state.clients)
            if is_listed(client)
        }
        hosting = hosting_brokers(state)
        self.uncovered = {
            place
            for place, broker in enumerate(state.brokers)
            if state.now - broker.answered_ts > group.timing.view_max_age and (place in hosting or not hosting)
        }
        self.classes = frozenset(m.runs_as.strategy for m in self.members.values() if m.runs_as is not None)
        self.named_classes = self.classes - {None}  # Go, for one, names none
        self.holders: dict[int, list[tuple[MemberEvidence, int]]] = {}  # queue -> who says so, and when
        for member in self.members.values():
            for report in member.reports:
                for queue in report.owned:
                    self.holders.setdefault(queue, []).extend([(member, report.answered_ts)] * member.weight)

    @cached_property
    def orderly(self) -> bool:
        """From configuration, else the subscription group's settings, else the reports."""
        configured = self.group.rule.orderly
        if configured is not None:
            return configured
        return bool(self.group.state.orderly) or any(m.runs_as.orderly for m in self.members.values() if m.runs_as)

    @cached_property
    def message_model(self) -> str | None:
        """CLUSTERING or BROADCASTING, by the newest reports, else by heartbeats; None where nobody has said."""
        for member in self.members.values():
            if member.runs_as is not None and member.runs_as.message_model is not None:
                return member.runs_as.message_model
        listed_as = self.group.state.listed_as
        for member in self.members.values():
            if member.client.listed_as >= 0 and listed_as[member.client.listed_as].message_model is not None:
                return listed_as[member.client.listed_as].message_model
        return None

    @cached_property
    def consumes(self) -> str | None:
        """CONSUME_PASSIVELY (push) or CONSUME_ACTIVELY (pull), by heartbeats; None where nobody has said."""
        listed_as = (self._listed_as(member) for member in self.members.values())
        return next((one.consume_type for one in listed_as if one is not None and one.consume_type is not None), None)

    @cached_property
    def subscribed(self) -> dict[str, set[int]]:
        """Topic -> places of the members known to subscribe to it."""
        topics: dict[str, set[int]] = {}
        for member in self.members.values():
            for topic, _ in self.subscriptions(member) or ():
                topics.setdefault(topic, set()).add(member.place)
        return topics

    def may_subscribe(self, topic: str) -> bool:
        """Whether somebody is known to subscribe to the topic, or nobody is known to subscribe to anything.

        A broker shows one table a group, that of the last heartbeat: a topic that is in none of them now may be of a
        member whose turn comes again, but then it is seen again.
        """
        return topic in self.subscribed or not (self.subscribed or topic in self._not_shown)

    @cached_property
    def _not_shown(self) -> set[str]:
        return {topic.name for topic in self.group.state.topics if topic.unsubscribed_ts}

    def subscriptions(self, member: MemberEvidence) -> Subscriptions | None:
        """What a member subscribes to; None where it is not known. A report that names nothing does not say."""
        if member.runs_as is not None and member.runs_as.subscriptions:
            return member.runs_as.subscriptions
        listed_as = self._listed_as(member)
        return None if listed_as is None else listed_as.subscriptions

    def language(self, member: MemberEvidence) -> str | None:
        """JAVA, GO, ...: which SDK the member runs, by its heartbeats."""
        listed_as = self._listed_as(member)
        return None if listed_as is None else listed_as.language

    def _listed_as(self, member: MemberEvidence) -> ListedAs | None:
        place = member.client.listed_as
        return None if place < 0 else self.group.state.listed_as[place]

    @cached_property
    def is_balanced_by_clients(self) -> bool:
        """Whether a member says that it shares out queues itself, which then counts, not what brokers are set to."""
        return any(member.runs_as is not None and member.runs_as.client_rebalance for member in self.members.values())

    @cached_property
    def exclusion(self) -> str | None:
        """Why the whole group is not ours to judge."""
        if self.group.rule.excluded:
            return "CONFIGURED"
        return next((reason for member in self.members.values() if (reason := self._why_excluded(member))), None)

    def _why_excluded(self, member: MemberEvidence) -> str | None:
        """Why one member is enough to say nothing of its group: its queues are not shared out by its own arithmetic."""
        runs_as = member.runs_as
        if runs_as is not None and runs_as.pops:
            return "POP"
        if runs_as is not None and runs_as.client_rebalance is False:
            return "BROKER_ALLOCATED"
        if runs_as is not None and not runs_as.subscriptions:
            listed_as = self._listed_as(member)
            if listed_as is not None and listed_as.consume_type == PULLS and not listed_as.subscriptions:
                return "LITE_ASSIGN"
        return "PROXY_CLIENT" if is_proxy_client(member.client.client_id) else None


def is_proxy_client(client_id: str) -> bool:
    """Whether an id is that of a gRPC client: host@process@index@time, where others have at most host@instance@unit."""
    return client_id.count("@") == 3 and _GRPC_CLIENT_ID.fullmatch(client_id) is not None


def shown(pair: tuple[str, str | None]) -> str:
    """A subscription as people write it: the topic, and its filter where it has one."""
    topic, expression = pair
    return topic if expression in (None, "*") else f"{topic} ({expression})"
