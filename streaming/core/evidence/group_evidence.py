"""The evidence of the whole group, before anything is judged."""

from functools import cached_property

from schemas.facts import Kind, Severity
from schemas.identity import REVIVE_GROUP, host_of, is_retry_topic
from schemas.reasons import ReasonKind
from streaming.core.evidence.broadcasting import BROADCASTING, CLUSTERING, message_model
from streaming.core.evidence.exclusions import POLLING, PUSHES
from streaming.core.evidence.listed_members import ListedMembers
from streaming.core.evidence.member_evidence import MemberEvidence
from streaming.core.state.group import Group
from streaming.core.state.group_state import FlappingClient
from streaming.core.state.members import entries_at, is_listed, missed_since_ts
from streaming.core.state.routes import hosting_brokers

REPORT_MAX_AGE_MS = 90_000  # an older report of a client is no evidence
VIEW_MAX_AGE_MS = 20_000  # a broker that did not answer for longer is not covered
UNRESPONSIVE_CLIENT_MS = 65_000  # a client that did not answer is asked again after 40 s
RESTARTED_LATELY_MS = 600_000  # a client that left longer ago is not restarting any more
RESTARTS_OF_A_DEPLOY = 2  # of a process, with its rollback
Subscriptions = tuple[tuple[str, str | None], ...]


class GroupEvidence:
    """All members, and what they have in common."""

    def __init__(self, group: Group) -> None:
        state = group.state
        self.group = group
        self.now = state.now
        self.interval = state.interval
        self.first_round_ts = state.first_round_ts
        self.consume_enable = state.consume_enable
        self.rival_subscriptions = state.rival_subscriptions
        self.members = {
            index: MemberEvidence(group, index, client)
            for index, client in enumerate(state.clients)
            if is_listed(client)
        }
        hosting = hosting_brokers(state)
        self.uncovered = {
            index
            for index, broker in enumerate(state.brokers)
            if state.now - broker.answered_ts > group.timing.view_max_age_ms
            and (broker.listed if broker.is_proxy else index in hosting or not hosting)
        }
        self.balancing = [member for member in self.members.values() if member.exclusion is None]
        self.classes = frozenset(m.running.strategy for m in self.balancing if m.running is not None)
        self.named_classes = self.classes - {None}  # Go, for one, names none
        self._listed: dict[tuple[int, ...], ListedMembers] = {}
        self._busy: dict[int, frozenset[int] | None] = {}
        self.holders: dict[int, list[tuple[MemberEvidence, int]]] = {}  # queue -> who says so, and when
        for member in self.members.values():
            for report in member.reports:
                for queue in report.owned if report.answered_ts > member.listed_since_ts else ():
                    self.holders.setdefault(queue, []).extend([(member, report.answered_ts)] * member.weight)

    @cached_property
    def proxies(self) -> tuple[int, ...]:
        """Proxies whose lists count for each topic: gRPC clients are members at all of its brokers.

        Where other members share out queues by the lists of brokers, these do not count for what is shared out.
        """
        if self.exclusion is not ReasonKind.PROXY_CLIENT:
            return ()
        return tuple(index for index, broker in enumerate(self.group.state.brokers) if broker.is_proxy)

    @cached_property
    def at_proxies(self) -> list[int]:
        """Members that a proxy lists. They may consume any topic of the group."""
        proxies = [index for index, broker in enumerate(self.group.state.brokers) if broker.is_proxy]
        return [index for index, member in self.members.items() if any(entries_at(member.client, p) for p in proxies)]

    def listed_by(self, hosts: tuple[int, ...]) -> ListedMembers:
        """The members that these brokers list. Most topics of a group are on the same brokers."""
        if hosts not in self._listed:
            covered = tuple(broker for broker in hosts if broker not in self.uncovered)
            self._listed[hosts] = ListedMembers(self.members, hosts, covered)
        return self._listed[hosts]

    @cached_property
    def held(self) -> dict[int, set[int]]:
        held: dict[int, set[int]] = {}
        for index in self.holders:
            held.setdefault(self.group.state.queues[index].topic, set()).add(index)
        return held

    @cached_property
    def known_queues(self) -> dict[int, list[int]]:
        """Topic -> its queues of which anything was known when this evaluation began."""
        known: dict[int, list[int]] = {}
        for index, queue in enumerate(self.group.state.queues):
            known.setdefault(queue.topic, []).append(index)
        return known

    def busy(self, member: MemberEvidence) -> frozenset[int] | None:
        """Queues of which the member has messages in hand, by what it said lately; None: that is not known.

        One request that timed out says nothing; after two it is not known what has become of the messages.
        """
        if member.index not in self._busy:
            oldest = self.now - self.group.timing.report_max_age_ms
            fresh = [report.busy for report in member.reports if report.answered_ts >= oldest]
            is_known = fresh and not self.is_silent(member)
            self._busy[member.index] = frozenset().union(*fresh) if is_known else None
        return self._busy[member.index]

    def is_silent(self, member: MemberEvidence) -> bool:
        """True if the member has answered before, and not two requests that followed."""
        if not member.client.unanswered_since_ts:
            return False
        answered_ts = max((report.answered_ts for report in member.reports), default=self.now)
        return self.now - answered_ts >= UNRESPONSIVE_CLIENT_MS

    @cached_property
    def has_reports(self) -> bool:
        return any(member.reports for member in self.members.values())

    @cached_property
    def is_called_empty(self) -> bool:
        """True if people have been called because the group had no members."""
        alerts = (one for one in self.group.state.alerts if one.kind == Kind.NO_MEMBERS)
        return any(one.fired_ts and one.severity != Severity.INFO for one in alerts)

    def is_heard(self, member: MemberEvidence) -> bool:
        """True if a report says what it owns, and is not too old to count."""
        oldest = self.now - self.group.timing.report_max_age_ms
        return any(report.answered_ts >= oldest for report in member.reports)

    def is_described(self, member: MemberEvidence) -> bool:
        """True if a report says what the member runs: it is of the process that is the member now.

        A process does not change that. But it may have been started again since it was listed anew, or since a dead
        connection keeps its id in the lists.
        """
        has_been_one = member.entries == 1 or self.is_heard(member)
        return has_been_one and any(report.answered_ts > member.listed_since_ts for report in member.reports)

    @cached_property
    def left_lately(self) -> frozenset[int]:
        """Clients that have left and are still remembered; some may have come back."""
        left = {change.client_id for change in self.group.state.membership_changes if not change.joined}
        return frozenset(index for index, client in enumerate(self.group.state.clients) if client.client_id in left)

    @cached_property
    def restarting(self) -> dict[int, FlappingClient]:
        """Members whose process has left more often than a deploy and its rollback make it, and lately again."""
        state, oldest = self.group.state, self.now - RESTARTED_LATELY_MS
        lately = [one for one in state.flapping_clients if one.times > RESTARTS_OF_A_DEPLOY and one.last_ts >= oldest]
        known = {one.who: one for one in lately}
        ids = {index: member.client.client_id for index, member in self.members.items()}
        names = {index: known.get(one) or known.get(host_of(one)) for index, one in ids.items()}
        return {index: one for index, one in names.items() if one is not None}

    @property
    def has_left_lately(self) -> bool:
        """True if the last member left so lately that the group is expected to come back."""
        since_ts = missed_since_ts(self.group)
        return since_ts > 0 and self.now - since_ts <= self.group.timing.gone_after_ms

    @cached_property
    def orderly(self) -> bool:
        """From configuration, else the subscription group's settings, else the reports."""
        configured = self.group.rule.orderly
        if configured is not None:
            return configured
        return bool(self.group.state.orderly) or any(m.running.orderly for m in self.members.values() if m.running)

    @cached_property
    def message_model(self) -> str | None:
        """CLUSTERING or BROADCASTING; None where nothing says."""
        return message_model(self.balancing, self.members.values(), self.group.state.topics)

    @property
    def shares_out(self) -> bool:
        """True if it is known that members share the queues out, and commit their offsets to brokers."""
        return self.message_model == CLUSTERING

    @property
    def broadcasts(self) -> bool:
        """True if every member consumes every queue, and keeps its offsets to itself."""
        return self.message_model == BROADCASTING

    @cached_property
    def consumes(self) -> str | None:
        """CONSUME_PASSIVELY (push) or CONSUME_ACTIVELY (pull), by reports, else by heartbeats; None where nobody says.

        Push if any member does: the others then pull beside it.
        """
        reported = {member.running.consume_type for member in self.balancing if member.running is not None} - {None}
        listed = {member.heartbeat.consume_type for member in self.members.values() if member.heartbeat is not None}
        return max(reported or listed - {None}, default=None, key=lambda kind: kind == PUSHES)

    @cached_property
    def subscribed(self) -> dict[str, set[int]]:
        """Topic -> indices of the members known to subscribe to it."""
        alike: dict[Subscriptions, list[int]] = {}
        for member in self.members.values():
            alike.setdefault(self.subscriptions(member) or (), []).append(member.index)
        topics: dict[str, set[int]] = {}
        for subscription, indices in alike.items():
            for topic, _ in subscription:
                topics.setdefault(topic, set()).update(indices)
        return topics

    @cached_property
    def untold(self) -> frozenset[int]:
        """Indices of the members of which it is not known what they subscribe to."""
        return frozenset(index for index, member in self.members.items() if self.subscriptions(member) is None)

    @cached_property
    def told(self) -> frozenset[int]:
        """Indices of the members of which it is known to what topics they subscribe, or that they subscribe to none."""
        told = (m for m in self.members.values() if self.subscriptions(m) or m.exclusion is ReasonKind.LITE_ASSIGN)
        return frozenset(member.index for member in told)

    def may_subscribe(self, topic: str) -> bool:
        """True if a member is known to subscribe to the topic, or no subscription of the group is known.

        A broker shows one subscription table for each group, that of the last heartbeat. A topic that no broker shows
        now may belong to a member whose heartbeat comes later; then it is seen again.
        """
        return topic in self.subscribed or not (self.subscribed or topic in self._not_shown)

    @cached_property
    def _not_shown(self) -> set[str]:
        """Where brokers show no topic at all, those who subscribed may all have died: that is no intent."""
        topics = [topic for topic in self.group.state.topics if not is_retry_topic(topic.name)]
        not_shown = {topic.name for topic in topics if topic.unsubscribed_ts}
        return not_shown if len(not_shown) < len(topics) else set()

    def subscriptions(self, member: MemberEvidence) -> Subscriptions | None:
        """The subscriptions of a member; None where they are not known. A report that names none does not say."""
        if member.running is not None and member.running.subscriptions:
            return member.running.subscriptions
        if member.exclusion is ReasonKind.LITE_ASSIGN:
            return ()
        return None if member.heartbeat is None else member.heartbeat.subscriptions

    @cached_property
    def exclusion(self) -> ReasonKind | None:
        """Why evenkeel does not judge the group: a rule says so, it consumes lite topics, brokers consume it
        themselves, or every member is excluded.

        What a member runs that was not asked yet is not known. If some members are clients of proxies and others pop
        themselves, the rules for proxies count: otherwise clients that only proxies list would be missed.
        """
        if self.group.rule.excluded:
            return ReasonKind.CONFIGURED
        if self.group.state.lite:
            return ReasonKind.LITE_TOPICS
        if self.group.state.group == REVIVE_GROUP:
            return ReasonKind.SYSTEM_GROUP
        heard = [
            m for m in self.members.values() if m.exclusion or m.running is not None or m.client.unanswered_since_ts
        ]
        if not heard or not all(member.exclusion for member in heard):
            return None
        exclusions = {member.exclusion for member in heard}
        # one that pops may have nothing to pop now
        if ReasonKind.POP in exclusions and exclusions <= POLLING | {ReasonKind.BROKER_ALLOCATED}:
            return next(kind for kind in (ReasonKind.PROXY_CLIENT, ReasonKind.POP) if kind in exclusions)
        return heard[0].exclusion


def shown(pair: tuple[str, str | None]) -> str:
    """A subscription as people write it: the topic, and its filter where it has one."""
    topic, expression = pair
    return topic if expression in (None, "*") else f"{topic} ({expression})"
