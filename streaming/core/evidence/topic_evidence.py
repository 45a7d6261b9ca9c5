"""One topic of a group as rules see it: its members, its route, its grace, and who should own what."""

from collections.abc import Collection, Iterable
from functools import cached_property

from schemas import observed
from schemas.facts import Kind
from schemas.identity import is_retry_topic
from schemas.reasons import Reason, ReasonDetails, ReasonKind
from streaming.core.evidence.exclusions import OF_WHOLE_GROUPS, PERMANENT_EXCLUSIONS, POLLING
from streaming.core.evidence.expected_owners import NotKnown
from streaming.core.evidence.grace import grace_of, last_change
from streaming.core.evidence.group_evidence import GroupEvidence
from streaming.core.evidence.topic_shares import TopicShares
from streaming.core.state.group_state import Alert, Broker, Polls, Topic
from streaming.core.state.offsets import is_seen_to_move
from streaming.core.state.queue_state import Queue
from streaming.core.state.routes import is_known, readable

_NAMED_CLIENTS = 3  # a reason stands in the fact of every queue of the topic


class TopicEvidence(TopicShares):
    """One topic: its members, from when on evidence counts, and who should own what. Read only.

    ``queues`` are the indices of the queues that the route says can be read.
    """

    def __init__(self, of_group: GroupEvidence, index: int, topic: Topic, queues: list[int]) -> None:
        group, state = of_group.group, of_group.group.state
        self.of_group = of_group
        self.group = group
        self.now = of_group.now
        self.index = index
        self.topic = topic
        self.name = topic.name
        self.queues = queues
        self.timing = group.timing
        self.rule = group.rule
        self.is_retry = is_retry_topic(topic.name)
        self.broadcasts = of_group.broadcasts
        self.confirmed_ts = topic.confirmed_ts
        self.route_changed_ts = topic.changed_ts
        self.previous_hosts = topic.previous_hosts
        self.route_known = is_known(state, topic, group.timing) and not self._went_with_brokers()
        self.hosts = [hosted.broker for hosted in topic.hosts]
        self.uncovered = [broker for broker in self.hosts if broker in of_group.uncovered]
        self.silent = [b for b in self.hosts if state.brokers[b].lost_ts and b not in of_group.uncovered]
        self.listed = of_group.listed_by((*self.hosts, *of_group.proxies))
        self.members = self.listed.members
        self.non_reporting = self.listed.non_reporting
        self.grace = grace_of(topic, self._listing_brokers(), group.timing, of_group.orderly)
        self.recent_ts = self.now - group.timing.report_max_age_ms
        self.counts_from_ts = max(self.grace.ready_ts, self.recent_ts)
        self.reports_as_of = self.listed.reports_as_of
        self.is_fresh = self.reports_as_of > 0 and self.now - self.reports_as_of <= group.timing.report_max_age_ms
        self.is_complete = self.is_fresh and self.reports_as_of >= self.grace.ready_ts
        self.is_since_change = self.is_fresh and self.reports_as_of > self.grace.change_ts

    def queue(self, index: int) -> Queue:
        return self.group.state.queues[index]

    def broker(self, index: int) -> Broker:
        return self.group.state.brokers[index]

    def broker_name(self, index: int) -> str:
        return self.group.state.brokers[index].name

    def clients(self, indices: Iterable[int]) -> observed.Clients:
        return observed.clients(self.group.client_ids(indices))

    @cached_property
    def is_heard(self) -> bool:
        """True if all evidence about owners of its queues is there."""
        is_reported = self.is_complete and self.is_since_change
        return is_reported and self.of_group.message_model is not None and not self.uncovered and not self.silent

    @property
    def known_queues(self) -> Collection[int]:
        """Indices of all its queues of which anything was known, whether the route has them or not."""
        return self.of_group.known_queues.get(self.index, ())

    @property
    def last_known_queues(self) -> Collection[int]:
        """Indices of the queues that the last route which named any had."""
        queues = self.group.state.queues
        return self.queues or [index for index in self.known_queues if queues[index].publish_delay_ms >= 0]

    @cached_property
    def fired_alerts(self) -> dict[int, list[Alert]]:
        """Index of a queue -> alerts that name it, that people were called for, and that are open."""
        naming: dict[int, list[Alert]] = {}
        for alert in self.group.state.alerts:
            if alert.fired_ts and alert.topic == self.name:
                for queue in alert.queues:
                    naming.setdefault(queue, []).append(alert)
        return naming

    @cached_property
    def readable_before(self) -> dict[int, int]:
        """Index of a broker -> how many of its queues could be read by the route before the last change."""
        return dict(readable(self.previous_hosts))

    @cached_property
    def at_work(self) -> frozenset[tuple[int, int]]:
        """(member, broker): members that consume queues of the broker, because these are seen to move.

        Offsets that were read before a change of members was over may show the owner before. So they count for an owner
        that had the queue already when all was right last.
        """
        not_before = self.grace.listed_ts + self.timing.grace_membership_ms
        queues = [(index, self.group.state.queues[index]) for index in self.queues]
        return frozenset(
            (owner, queue.broker)
            for index, queue in queues
            if is_seen_to_move(self.group, queue)
            for owner in self.owners(index)
            if queue.progress_ts >= not_before or owner in queue.last_stable_owners
        )

    @cached_property
    def pulls_nothing(self) -> frozenset[tuple[int, int]]:
        """(member, broker): messages wait in some queue that the member owns on the broker, and none of those moves."""
        owned = [(owner, self.group.state.queues[index]) for index in self.queues for owner in self.owners(index)]
        waiting = {(owner, q.broker) for owner, q in owned if q.stalled_ms > 0 and q.pull_lag > 0}
        return frozenset(waiting - {(owner, q.broker) for owner, q in owned if is_seen_to_move(self.group, q)})

    def left_to_non_reporting(self, queues: Iterable[int], excluded: bool) -> dict[int, set[int]]:
        """Queue -> members that should own it and do not say what they own, of queues that nobody says to own.

        ``excluded``: those that are excluded, else those that are not.
        """
        such = {member.index for member in self.non_reporting if (member.exclusion is not None) is excluded}
        if self.expected is None or not such:
            return {}
        owners = {q: such & set(self.expected.get(q, ())) for q in queues if not self.owners(q)}
        return {queue: indices for queue, indices in owners.items() if indices}

    def _went_with_brokers(self) -> bool:
        """True if the route is empty because the topic's brokers are away, and not because it was deleted."""
        state, oldest = self.group.state, self.now - self.group.timing.view_max_age_ms
        hosts = () if self.topic.hosts else self.topic.previous_hosts
        return any(state.brokers[hosted.broker].answered_ts < oldest for hosted in hosts)

    def host_brokers(self) -> list[Broker]:
        return [self.group.state.brokers[index] for index in self.hosts]

    def _listing_brokers(self) -> list[Broker]:
        return [self.group.state.brokers[index] for index in (*self.hosts, *self.of_group.proxies)]

    def is_doubtful(self, queue: Queue) -> bool:
        """True if some name server's copy lacks the queue: then a client may be right to own it, or not to."""
        return bool(self.copies) and queue.queue_id >= self._in_every_copy.get(queue.broker, 0)

    @cached_property
    def follows_another_route(self) -> bool:
        """True if all members share out exactly some other route, and not the one before: they may know a newer one.

        False where every name server has given the known route.
        """
        if self.topic.all_asked or not self.is_fresh or self.expected is None:
            return False
        owned = {
            (queue.broker, queue.queue_id): sorted(
                member.index for member, _ in self.of_group.holders[index] if member.index in self.members
            )
            for index in self.of_group.held.get(self.index, ())
            if (queue := self.group.state.queues[index])
        }
        route = sorted(dict(sorted((broker, queue_id + 1) for broker, queue_id in owned)).items())
        if sum(count for _, count in route) != len(owned):  # some of its queues have no owner; their ids may be any
            return False
        if not route or route in (sorted(self.readable), sorted(self.readable_before.items())):
            return False
        try:
            return {key: sorted(owners) for key, owners in self.share_out(route).items()} == owned
        except NotKnown:
            return False

    @cached_property
    def no_report_since_change(self) -> Reason:
        """Names members that have not reported what they own, recently and since the last change."""
        oldest = max(self.grace.change_ts + 1, self.now - self.group.timing.report_max_age_ms)
        clients = self._first_of(self.listed.silent_since(oldest))
        return Reason(ReasonKind.NO_REPORT_SINCE_CHANGE, ReasonDetails(clients=clients))

    @cached_property
    def has_non_reporting_members(self) -> Reason:
        """Names members that never report what they own, or that are excluded."""
        exclusions = tuple(sorted({member.exclusion or "" for member in self.non_reporting}))
        clients = self._first_of([member.index for member in self.non_reporting])
        return Reason(ReasonKind.NON_REPORTING_MEMBERS, ReasonDetails(clients=clients, exclusions=exclusions))

    def _first_of(self, indices: list[int]) -> observed.Clients:
        return observed.clients(self.group.client_ids(indices), _NAMED_CLIENTS)

    @cached_property
    def may_own_unsaid(self) -> bool:
        """True if a queue that nobody reports may be a member's that has not said what it owns, and not just joined."""
        return self.listed.may_own_unsaid(self.now - self.timing.report_max_age_ms)

    @property
    def unreported(self) -> int:
        """How many members do not report what they own; -1: the group's message model is not known."""
        return -1 if self.of_group.message_model is None else len(self.non_reporting)

    def is_left_to_non_reporting(self, queue: int) -> bool:
        """True if no member reports to own the queue, and a non-reporting member may own it."""
        if not self.non_reporting or self.owners(queue):
            return False
        return self.expected is None or any(
            self.members[index].is_non_reporting for index in self.expected.get(queue, ())
        )

    @cached_property
    def why_settling(self) -> Reason:
        return last_change(self.topic, self._listing_brokers(), self.grace)

    def is_left_to_a_second_entry(self, queue: int) -> bool:
        """True if members leave the queue to the second entry of an id that is listed twice: no client takes it.

        While other brokers list the id once, no client may take what these lists give to different members. Where it is
        not known what members share out, it may be any queue that nobody has reported to own since the last change.
        """
        if not self.listed.listed_twice:
            return False
        if self.shares_by_list is None:
            return not self.owners(queue, self.grace.change_ts + 1)
        return queue in self.of_second_entries or (self.listed.views_differ and queue in self.moved_by_second_entries)

    @cached_property
    def waits_for_a_second_instance(self) -> bool:
        """True if only reports of second instances are missing, under ids that are listed twice."""
        lacking = [member for member in self.members.values() if not member.as_of and not member.is_non_reporting]
        return bool(lacking) and all(member.entries > len(member.reports) > 0 for member in lacking)

    @cached_property
    def not_subscribers(self) -> list[int]:
        """Members that have reported their subscriptions, without this topic."""
        subscribers = self.of_group.subscribed.get(self.topic.name, set())
        return sorted((self.of_group.told & self.members.keys()) - subscribers)

    @property
    def is_polled(self) -> bool:
        """True if no member owns a queue, as all are gRPC clients or all pop, and brokers say how many polls wait."""
        return self.of_group.exclusion in POLLING and bool(self.topic.polls)

    @cached_property
    def polls(self) -> dict[tuple[int, int], Polls]:
        """(index of the broker, queue id or ANY_QUEUE) -> polls there."""
        return {(one.broker, one.queue_id): one for one in self.topic.polls}

    @cached_property
    def popped(self) -> frozenset[int] | None:
        """Queues that some member pops, where each pops single ones; None: some has not said it since the last change.

        A connection that has died keeps an id in the list for a while. It does not report, and a broker leaves the id's
        second share to nobody meanwhile.
        """
        if not self.members or self.uncovered or self.silent:
            return None
        found = set[int]()
        for member in self.members.values():
            if member.as_of < self.counts_from_ts:
                return None
            for report in member.reports:
                if report.popped is None:
                    return None
                found.update(report.popped)
        return frozenset(found)

    @cached_property
    def exclusion(self) -> ReasonKind | None:
        if self.topic.is_static and self.of_group.exclusion not in OF_WHOLE_GROUPS:
            return ReasonKind.STATIC_TOPIC  # whatever its members run: its offsets say nothing
        if self.of_group.exclusion is not None and not self.is_polled:
            return self.of_group.exclusion
        if self.topic.name in self.group.state.pop_topics and not self._shares_out_itself() and not self.is_polled:
            return ReasonKind.POP
        if self.members and not self.of_group.subscribed.get(self.topic.name):
            everybody_told = self.of_group.untold.isdisjoint(self.members)
            return ReasonKind.NOT_SUBSCRIBED if everybody_told or self.group.has_given_up(self.topic) else None
        return None

    def _shares_out_itself(self) -> bool:
        """True if a member reports that it shares out queues itself: this counts more than the broker's setting."""
        return any(m.running is not None and m.running.client_rebalance for m in self.of_group.members.values())

    @property
    def is_unwanted(self) -> bool:
        """True if the group does not consume it, as it is configured or as its members intend."""
        return self.of_group.consume_enable is False or self.exclusion in PERMANENT_EXCLUSIONS

    @cached_property
    def finding_of_all(self) -> tuple[Kind, Reason] | None:
        """The finding of every queue of the topic, with its reason; None: each queue is judged by itself."""
        if self.exclusion is not None:
            return Kind.EXCLUDED, Reason(self.exclusion)
        if not self.route_known:
            return Kind.UNKNOWN, Reason(ReasonKind.ROUTE_NOT_KNOWN)
        if self.members or self.uncovered:
            return None
        if self.now < self.grace.ready_ts:
            return Kind.SETTLING, Reason(ReasonKind.NO_MEMBER_YET)
        if self.of_group.at_proxies and self.of_group.may_subscribe(self.name):
            details = ReasonDetails(clients=self._first_of(self.of_group.at_proxies))
            return Kind.UNKNOWN, Reason(ReasonKind.MEMBERS_AT_PROXIES, details)
        return Kind.NO_MEMBERS, Reason(ReasonKind.NO_CONSUMER)

    @cached_property
    def unreadable(self) -> frozenset[int]:
        """Indices of the known queues that the route has and that no client can read. Nobody should own them."""
        hosts = {h.broker: h for h in self.topic.hosts if h.write > h.read or not h.is_readable}
        if not hosts or self.topic.is_static:
            return frozenset()
        return frozenset(
            index
            for index in self.known_queues
            if (host := hosts.get((queue := self.queue(index)).broker)) is not None
            and host.has(queue.broker, queue.queue_id)
            and not host.lets_read(queue.broker, queue.queue_id)
        )

    def owners(self, queue: int, since: int = 0) -> list[int]:
        """Members that own the queue by reports answered at ``since`` or later; two instances are listed twice."""
        return [
            member.index
            for member, answered_ts in self.of_group.holders.get(queue, ())
            if answered_ts >= since and member.index in self.members
        ]

    def proven_owners(self, queue: int, since: int) -> list[int]:
        """Owners by reports answered at ``since`` or later, without excluded members."""
        owners = self.owners(queue, since)
        return [index for index in owners if self.members[index].exclusion is None] if self.non_reporting else owners
