"""The replacement of a collector in the demo: it counts played events, and exposes a collector's metrics. Pure.

Requests are those of the recordings, with their recorded durations. All else comes from the events.
A round of the cluster ends when each group has had one since the last.
"""

from collections import Counter

from schemas.events import BrokerAnswer, ConsumeProgress, Round, TopicOffsets
from streaming.collector.exposed import ClusterCounts
from streaming.collector.probing.client_schedule import label_of
from streaming.collector.probing.lag import Lags
from streaming.collector.wire import answers
from streaming.collector.wire.requests import Code, Outcome, RequestCounts
from streaming.demo.recording_schedule import CLUSTER, Scheduled

CODES: dict[type[answers.Answer], Code] = {
    answers.ConsumerListAnswer: Code.GET_CONSUMER_LIST_BY_GROUP,
    answers.ConnectionsAnswer: Code.GET_CONSUMER_CONNECTION_LIST,
    answers.HeartbeatsAnswer: Code.GET_ALL_PRODUCER_INFO,
    answers.RouteAnswer: Code.GET_ROUTEINFO_BY_TOPIC,
    answers.RunningInfoAnswer: Code.GET_CONSUMER_RUNNING_INFO,
    answers.ConsumeStatsAnswer: Code.GET_CONSUME_STATS,
    answers.PollsAnswer: Code.POLLING_INFO,
    answers.SubscriptionGroupAnswer: Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
}


class PlayedCollector:
    """The counts of played events. ``groups``: how many are played. One thread plays; any may read ``counts``."""

    def __init__(self, groups: int, interval_ms: int) -> None:
        self._requests, self._lags = RequestCounts(), Lags()
        self.counts = ClusterCounts(CLUSTER, interval_ms, self._requests, self._lags)
        self._groups = groups
        self._offsets: dict[tuple[str, str], dict[tuple[str, int], answers.OffsetRow]] = {}
        self._in_flight: dict[tuple[str, str], tuple[answers.InFlightAnswer, ...]] = {}  # by group and broker
        self._has_members: dict[tuple[str, str], bool] = {}  # by group and broker
        self._answered: dict[str, bool] = {}  # by broker
        self._not_asked: dict[str, Counter[str]] = {}  # by group
        self._told: set[str] = set()  # groups that have had a round since the cluster's last
        self._began_ts: int | None = None

    def take(self, played: Scheduled) -> None:
        if played.answer is not None:
            self._count_request(played.answer)
        for event in played.events:
            if isinstance(event, ConsumeProgress):
                self._take_offsets(event.group, event)
            elif isinstance(event, Round):
                self._take_round(event, played.due_ms)

    def _count_request(self, answer: answers.Answer) -> None:
        if isinstance(answer, answers.InFlightAnswer):
            return  # a page of metrics, and no request to RocketMQ
        if answer.code is None:
            outcome = Outcome.TIMED_OUT
        else:
            outcome = Outcome.ANSWERED if answer.code == answers.SUCCESS else Outcome.REFUSED
        self._requests.add(CODES[type(answer)], outcome, answer.dur_ms / 1000)

    def _take_offsets(self, group: str, said: ConsumeProgress | TopicOffsets) -> None:
        rows = self._offsets.setdefault((group, said.broker_name), {})
        for one in said.queues:
            rows[said.topic, one.queue_id] = answers.OffsetRow(
                topic=said.topic, queue_id=one.queue_id, broker_offset=one.broker_offset,
                consumer_offset=one.consumer_offset, last_timestamp=one.consumed_ts,
            )  # fmt: skip
        in_flight = self._in_flight.get((group, said.broker_name), ())
        self._lags.answered(group, said.broker_name, rows.values(), in_flight)

    def _take_round(self, event: Round, ts: int) -> None:
        for one in event.in_flight:
            known = answers.InFlightAnswer(ts=one.ts, broker=one.broker_name, topic=one.topic, messages=one.messages)
            self._in_flight[event.group, one.broker_name] = (known,)
        for offsets in event.offsets:
            self._take_offsets(event.group, offsets)
        for broker in {one.broker_name for one in event.polls}:
            waiting = {one.topic: one.waiting for one in event.polls if one.broker_name == broker}
            self._lags.polled(event.group, broker, waiting)
        for answer in event.brokers:
            self._take_list(event.group, answer)
        for unchanged in event.unchanged_lists:
            self._answered[unchanged.broker_name] = True
        self._not_asked[event.group] = Counter(label_of(one.reason) for one in event.not_asked)
        self._told.add(event.group)
        if self._began_ts is None:
            self._began_ts = ts
        if len(self._told) == self._groups:
            self._end_round(ts, self._began_ts)

    def _take_list(self, group: str, answer: BrokerAnswer) -> None:
        self._answered[answer.broker_name] = answer.answered
        if answer.answered and not answer.unchanged:
            self._has_members[group, answer.broker_name] = bool(answer.client_ids)

    def _end_round(self, ts: int, began_ts: int) -> None:
        counts = self.counts
        watched = {group for (group, _), has in self._has_members.items() if has}
        counts.rounds.observe((ts - began_ts) / 1000)
        counts.watched, counts.empty = len(watched), len(self._told - watched)
        counts.silent = sum(not answered for answered in self._answered.values())
        counts.brokers_answer = any(self._answered.values())
        counts.not_asked = sum(self._not_asked.values(), Counter())
        counts.round_ts = ts
        self._told, self._began_ts = set(), None
