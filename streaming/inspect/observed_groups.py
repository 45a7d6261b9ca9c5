"""The state of each group under inspection: the core's state, and data that the core does not need."""

from collections.abc import Iterable

from schemas.events import AnyEvent, AssignmentReport, BrokerAnswer, ConsumeProgress, Round, TopicRoute
from schemas.records import Rejected
from streaming.core.settings import Settings
from streaming.core.state.group import Group
from streaming.core.state.group_state import new_state
from streaming.core.step import take
from streaming.inspect.message_rates import OffsetHistory


class ObservedGroup:
    """One group. ``brokers`` are the answers of its newest round, ``first_ts`` is when its first round began.

    ``refused``: events of the group that are too large for evenkeel, and why.
    """

    def __init__(self, cluster: str, name: str, settings: Settings) -> None:
        self.name = name
        self.group = Group(new_state(cluster, name), settings)
        self.offsets = OffsetHistory()
        self.brokers: tuple[BrokerAnswer, ...] = ()
        self.refused: dict[str, str] = {}
        self.first_ts = 0
        self._listed: set[str] = set()
        self._reported: set[str] = set()
        self._asked: set[str] = set()
        self._failed: dict[str, str] = {}
        self._not_asked: dict[str, str] = {}

    def take(self, event: AnyEvent) -> None:
        refused = [one.why for one in take(self.group, event)]
        self.group.facts.clear()
        self._note_refused(event, refused)
        if isinstance(event, Round) and self.group.state.now >= event.ts:  # else it waits for the next to confirm it
            self._take_round(event)
        elif isinstance(event, ConsumeProgress):
            self.offsets.take(event)
        elif isinstance(event, AssignmentReport):
            self._take_report(event)

    def _note_refused(self, event: AnyEvent, why: list[Rejected]) -> None:
        """Note a refusal for size. Refusals for other reasons concern times: the next round brings the event again."""
        subject = _subject_of(event)
        detail = next((one.detail for one in why if one.reason == "too_many"), None)
        if detail is None:
            self.refused.pop(subject, None)
        else:
            self.refused[subject] = detail

    def _take_round(self, event: Round) -> None:
        self.first_ts = self.first_ts or event.round
        not_asked = {one.client_id: one.reason for one in event.not_asked}
        if event.part:  # the lists of a long round come in several parts
            self.brokers, self._not_asked = (*self.brokers, *event.brokers), self._not_asked | not_asked
        else:
            self.brokers, self._not_asked = event.brokers, not_asked
        self._asked |= set(event.asked)
        if event.part + 1 == event.parts:
            self._listed = {client_id for answer in self.brokers for client_id in answer.client_ids}
            self._reported &= self._listed
            self._asked &= self._listed

    def _take_report(self, event: AssignmentReport) -> None:
        if event.answered:
            self._reported.add(event.client_id)
            self._failed.pop(event.client_id, None)
        else:
            self._failed[event.client_id] = event.reason or "no answer"

    def why_silent(self, client_id: str) -> str:
        """The reason why there is no report of a client."""
        waits = "asked, no answer yet" if client_id in self._asked else "not asked yet"
        return self._failed.get(client_id) or self._not_asked.get(client_id) or waits

    @property
    def awaits_reports(self) -> bool:
        """True if some listed client has not answered."""
        return bool(self._listed - self._reported - self._failed.keys())


def _subject_of(event: AnyEvent) -> str:
    if isinstance(event, TopicRoute):
        return f"the route of {event.topic}"
    if isinstance(event, AssignmentReport):
        return f"the report of {event.client_id}"
    if isinstance(event, ConsumeProgress):
        return f"the offsets of {event.topic} on {event.broker_name}"
    return "the lists of its members"


class ObservedCluster:
    """All groups of one cluster, from a collector's events."""

    def __init__(self, cluster: str, settings: Settings) -> None:
        self.cluster = cluster
        self.groups: dict[str, ObservedGroup] = {}
        self._settings = settings

    def take(self, events: Iterable[AnyEvent]) -> None:
        for event in events:
            group = self.groups.get(event.group)
            if group is None:
                group = self.groups[event.group] = ObservedGroup(self.cluster, event.group, self._settings)
            group.take(event)
