"""Generated groups: what is found of them is what is found of the one that was simulated, but for names and times."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from random import Random
from typing import Any

import msgspec
import pytest

from bench.feeder import whole_rounds
from bench.slower_rounds import slower
from schemas.events import AnyEvent, AssignmentReport, ConsumeProgress, Round, decode_event, encode_event
from schemas.facts import AlertFact, Cause, EventsLostFact, Fact, GroupFact, MembershipFact, QueueFact
from schemas.identity import retry_topic
from schemas.records import group_key
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.shard import Record, fold
from streaming.errors import ConfigError
from streaming.simulation.faults import FAULT_NAMED, FAULTS, Fault
from streaming.simulation.load.event_template import CLIENT, HOST, TOPIC
from streaming.simulation.load.fleet_spec import (
    JOIN_AND_LEAVE,
    LAST_CLIENTS_LEAVE,
    FleetSpec,
    disruption_of,
    faults_named,
    templates_for,
)
from streaming.simulation.load.generated_fleet import DAY_MS, GeneratedFleet, generated_fleet
from streaming.simulation.load.generated_group import GeneratedGroup, GroupIdentity, GroupRound, new_names
from streaming.simulation.load.group_template import FIRST_MINUTES, IDLE_MINUTES, GroupTemplate
from streaming.simulation.load.segment import ROUND_MS, WatchedGroup
from streaming.simulation.simulated_group import Shape, SimulatedGroup
from testing.records import accepted

START_TS = 1_790_000_000_000
PART = GroupIdentity("other-cluster", "other-source", "orders-consumer", "orders-events")
SMALL = Shape(3, 2, 2, "AVG", False, 5, 20)
USUAL = Shape(20, 2, 16, "AVG", False, 5, 20)
FAULT = FAULT_NAMED["mixed_strategies"]
ROUNDS_A_MINUTE = 60_000 // ROUND_MS
HALF_A_MINUTE_MS = 30_000


@pytest.fixture(scope="module")
def template() -> GroupTemplate:
    return GroupTemplate(SMALL, "m", [JOIN_AND_LEAVE, disruption_of(FAULT)])


def fleet_of(template: GroupTemplate, groups: int, **expected: Any) -> GeneratedFleet:
    return generated_fleet(FleetSpec(groups, **expected), [template], START_TS)


def lives(template: GroupTemplate, plan: Iterable[str | None], ts: int = START_TS) -> Iterator[bytes]:
    """What is told of a group to which this happens, one after each minute at rest."""
    remaining = iter(plan)

    def next_disruption(_: GeneratedGroup, _ts: int) -> Any:
        name = next(remaining)
        return None if name is None else template.disruptions[name]

    group = GeneratedGroup(template, PART, Random(1), next_disruption)
    group.open(ts)
    try:
        while True:
            yield from group.next_round().events
    except StopIteration:
        return


def directly(fault: Fault, seconds: int) -> list[AnyEvent]:
    """The group itself, simulated up to the end of its disruption."""
    watched = WatchedGroup(SimulatedGroup(SMALL, "m"))
    events = [event for rounds in (FIRST_MINUTES * 12, 12) for told in watched.record(rounds).rounds for event in told]
    watched.group.fleet.clock.after(240_000, fault.inject(watched.group))
    return [*events, *(event for told in watched.record(seconds // 5).rounds for event in told)]


@pytest.mark.slow("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize("later_ms", [0, 86_400_000])
def test_a_generated_group_is_found_as_the_simulated_one_would_be(template: GroupTemplate, later_ms: int) -> None:
    simulated = directly(FAULT, 240)
    began = simulated[0].round
    generated = list(islice(lives(template, [FAULT.name, None], began + later_ms), len(simulated)))
    names = new_names(template.placeholders, PART, Random(1))
    back = {
        new.decode().replace("%%", "%"): old for (_, old), new in zip(template.placeholders.names, names, strict=True)
    }
    direct, ours = folded(None, map(encode_event, simulated))[1], folded(None, generated)[1]
    left_out = {"fingerprint", "start_ts"}
    assert [plain(fact, later_ms, back, left_out) for fact in ours] == [plain(fact, 0, {}, left_out) for fact in direct]
    assert {"DUPLICATED", "MATCH"} <= {fact.payload.finding for fact in ours if isinstance(fact.payload, QueueFact)}


def plain(fact: Fact, later_ms: int, names: dict[str, str], left_out: set[str]) -> Any:
    """Without names and times of its own, and without what is made of them."""
    text = msgspec.json.encode(fact).decode()
    for new in sorted(names, key=len, reverse=True):
        text = text.replace(new, names[new])

    def sooner(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: sooner(one) for key, one in value.items() if key not in left_out}
        if isinstance(value, list):
            return [sooner(one) for one in value]
        return value - later_ms if isinstance(value, int) and value > 10**12 else value

    return sooner(msgspec.json.decode(text))


def test_events_are_what_the_schema_encodes(template: GroupTemplate) -> None:
    fleet = fleet_of(template, 2, churn=0.5)
    for group_round in [*fleet.introduce(2), *whole_rounds(fleet, 500)]:
        for value in group_round.events:
            assert encode_event(decode_event(value)) == value
        for key, value in group_round.records():
            assert {group_key("simulated", event.group).encode() for event in accepted(key, value)} == {key}


@pytest.mark.slow("minutes and hours of a fleet are simulated")
def test_at_rest_the_proportion_is_the_collectors() -> None:
    fleet = fleet_of(GroupTemplate(USUAL, "m"), 1)
    list(fleet.introduce(1))
    for _ in range(2):
        rounds = list(islice(fleet.rounds, IDLE_MINUTES * ROUNDS_A_MINUTE))
        events = [decode_event(value) for group_round in rounds for value in group_round.events]
        assert Counter(type(event).__name__ for event in events) == {
            "Round": 60,
            "AssignmentReport": 20,
            "TopicRoute": 10,
        }
        markers = [event for event in events if isinstance(event, Round)]
        assert sum(len(marker.reports) for marker in markers) == 5 * 40 - 20, "every 30 s, but when told in full"
        assert sum(len(marker.heartbeats) for marker in markers) == 40, "20 clients at two brokers"
        assert sum(len(marker.brokers) for marker in markers) == 2 * 2
        assert 8 * 5 <= sum(len(marker.offsets) for marker in markers) <= 12 * 5, "two topics, two brokers, 20 to 25 s"


def test_five_minutes_at_rest_are_followed_by_others_like_them() -> None:
    watched = WatchedGroup(SimulatedGroup(SMALL, "m"))
    watched.record(FIRST_MINUTES * ROUNDS_A_MINUTE)
    rounds = IDLE_MINUTES * ROUNDS_A_MINUTE
    first, second = ([Counter(map(type, told)) for told in watched.record(rounds).rounds] for _ in range(2))
    for counts in (*first, *second):
        counts.pop(ConsumeProgress, None)  # every 20 to 25 s
    assert first == second


def test_healthy_fleet_is_found_healthy_and_stays_so(template: GroupTemplate) -> None:
    fleet = fleet_of(template, 3, churn=0)
    blob, facts = folded(None, values(fleet.introduce(3)))
    assert {last_status(facts, group) for group in groups_of(facts)} == {"healthy"}
    found = Counter(fact.payload.finding for fact in facts if isinstance(fact.payload, QueueFact))
    assert found == {"UNKNOWN": 3 * 6, "MATCH": 3 * 6}, "as of a collector that begins"
    _, later = folded(blob, values(whole_rounds(fleet, 1_000)))
    assert later == []


def test_a_fleet_that_is_opened_becomes_healthy(template: GroupTemplate) -> None:
    fleet = fleet_of(template, 3, churn=0)
    fleet.open()
    _, facts = folded(None, values(whole_rounds(fleet, 400)))
    assert {last_status(facts, group) for group in groups_of(facts)} == {"healthy"}
    assert not [fact for fact in facts if isinstance(fact.payload, AlertFact)]


def test_groups_introduced_later_lose_no_event(template: GroupTemplate) -> None:
    fleet = fleet_of(template, 4)
    records = [*fleet.introduce(2), *whole_rounds(fleet, 100), *fleet.introduce(4), *whole_rounds(fleet, 300)]
    _, facts = folded(None, values(records))
    assert len(groups_of(facts)) == 4
    assert not [fact for fact in facts if isinstance(fact.payload, EventsLostFact)]


def test_the_groups_of_a_fleet_that_begins_behind_another_have_other_names(template: GroupTemplate) -> None:
    one, other = (fleet_of(template, 30, first=first) for first in (0, 30))
    keys = [{introduced.group.key for introduced in fleet.introduce(30)} for fleet in (one, other)]
    both = {introduced.group.key for introduced in fleet_of(template, 60).introduce(60)}
    assert keys[0] | keys[1] == both
    assert len(both) == 60


def test_churn_changes_members_and_settles_again(template: GroupTemplate) -> None:
    fleet = fleet_of(template, 1, churn=1.0)
    blob, _ = folded(None, values(fleet.introduce(1)))
    _, facts = folded(blob, values(whole_rounds(fleet, 1_200)))
    assert {fact.payload.change for fact in facts if isinstance(fact.payload, MembershipFact)} == {
        "appeared",
        "disappeared",
    }
    assert "healthy" in {fact.payload.status for fact in facts if isinstance(fact.payload, GroupFact)}
    assert not [fact for fact in facts if isinstance(fact.payload, AlertFact) and fact.payload.state == "firing"]


def faulty_twice(fault: Fault) -> tuple[list[Fact], list[AlertFact]]:
    """Facts, and those of alerts, of a group with a fault that comes a second time when the group is well."""
    spec = FleetSpec(1, clients=5, queues=8, faults=(fault,))
    (template,) = [one for one in templates_for(spec) if fault.name in one.disruptions]
    _, facts = folded(None, lives(template, [None, fault.name, None, None, fault.name, None, None]))
    return facts, [fact.payload for fact in facts if isinstance(fact.payload, AlertFact)]


@pytest.mark.slow("minutes and hours of a fleet are simulated")
def test_a_dead_connection_is_found_each_time_and_calls_nobody_since_it_goes_by_itself() -> None:
    facts, alerts = faulty_twice(FAULT_NAMED["half_open"])
    queues = [fact.payload for fact in facts if isinstance(fact.payload, QueueFact)]
    found = [queue for queue in queues if queue.cause == Cause.STALE_CONNECTION]
    assert {queue.finding for queue in found} == {"UNKNOWN"}
    assert len({queue.since_ts for queue in found}) >= 2
    assert alerts == []


@pytest.mark.slow("minutes and hours of a fleet are simulated")
@pytest.mark.parametrize("fault", [one for one in FAULTS if one.name != "half_open"], ids=lambda fault: fault.name)
def test_a_fault_is_found_each_time_that_it_comes_to_a_group_which_gets_well(fault: Fault) -> None:
    facts, alerts = faulty_twice(fault)
    until_mended = [alert for alert in alerts if alert.cause != Cause.LEFT_ROUTE]  # told for an hour: messages are left
    fired, resolved = ({(a.fingerprint, a.fired_ts) for a in until_mended if a.state == state} for state in STATES)
    assert fired
    assert fired == {one for one in resolved if one[1]}
    assert len({fired_ts for _, fired_ts in fired}) >= 2
    assert not [fact for fact in facts if isinstance(fact.payload, EventsLostFact)]


STATES = ("firing", "resolved")


def test_faults_come_to_their_share_of_groups(template: GroupTemplate) -> None:
    fleet = fleet_of(template, 8, churn=0, faulty=0.2)
    fleet.open()
    rounds = list(islice(fleet.rounds, 8 * 12 * 60))[8 * 12 * 10 :]
    events = [[decode_event(value) for value in group_round.events] for group_round in rounds]
    reports = [event for told in events for event in told if isinstance(event, AssignmentReport)]
    rivals = {report.data_version for report in reports if "ByCircle" in (report.strategy or "")}
    disrupted = sum(bool(rivals & _versions_in(told)) for told in events)
    assert disrupted / len(rounds) == pytest.approx(0.2 / 4, rel=0.5)


def _versions_in(told: list[AnyEvent]) -> set[int]:
    """Of the reports that are told or confirmed in a round."""
    confirmed = {report.data_version for event in told if isinstance(event, Round) for report in event.reports}
    return confirmed | {event.data_version for event in told if isinstance(event, AssignmentReport)}


def test_same_order_gives_the_same_bytes(template: GroupTemplate) -> None:
    fleets = [fleet_of(template, 2, churn=0.3, seed=seed) for seed in (7, 7, 8)]
    first, again, other = (list(values([*fleet.introduce(2), *whole_rounds(fleet, 300)])) for fleet in fleets)
    assert first == again
    assert first != other


def test_names_keep_their_order(template: GroupTemplate) -> None:
    places, names = template.placeholders.names, new_names(template.placeholders, PART, Random(5))
    clients = sorted(text for kind, text in places if kind == CLIENT)
    found = [names[places[CLIENT, text]] for text in clients]
    assert found == sorted(set(found))
    assert names[places[TOPIC, retry_topic("G")]] == b"%%RETRY%%orders-consumer"
    assert names[places[HOST, clients[0].partition("@")[0]]] == found[0].partition(b"@")[0]


@pytest.mark.parametrize("round_s", [5, 60])
def test_slower_rounds_are_as_far_apart_as_asked_for(template: GroupTemplate, round_s: float) -> None:
    fleet = fleet_of(slower(template, round_s), 4)
    list(fleet.introduce(4))
    rounds = list(islice(fleet.rounds, 4 * 24))
    seconds = (rounds[-1].ts - rounds[0].ts) / 1000
    assert seconds / (len(rounds) / 4) == pytest.approx(round_s, rel=0.02)
    markers = [event for group_round in rounds if isinstance(event := decode_event(group_round.events[-1]), Round)]
    assert [marker.ts for marker in markers] == [group_round.ts for group_round in rounds]


@pytest.fixture(scope="module")
def ending() -> GroupTemplate:
    return GroupTemplate(SMALL, "m", [JOIN_AND_LEAVE, LAST_CLIENTS_LEAVE], HALF_A_MINUTE_MS)


@pytest.mark.slow("minutes and hours of a fleet are simulated")
def test_rounds_are_those_of_a_collector_with_the_interval(ending: GroupTemplate) -> None:
    fleet = fleet_of(ending, 3)
    fleet.open()
    rounds = list(islice(fleet.rounds, 3 * 100))
    for number in range(3):
        apart = {after.ts - before.ts for before, after in pairwise(rounds[number::3])}
        assert apart <= set(range(HALF_A_MINUTE_MS - 100, HALF_A_MINUTE_MS + 100))
    _, facts = folded(None, values(rounds))
    assert {last_status(facts, group) for group in groups_of(facts)} == {"healthy"}
    assert not [fact for fact in facts if isinstance(fact.payload, AlertFact | EventsLostFact)]


@pytest.mark.slow("minutes and hours of a fleet are simulated")
def test_groups_end_and_new_ones_take_their_places(ending: GroupTemplate) -> None:
    groups, lives_days, days = 4, 0.25, 5
    fleet = fleet_of(ending, groups, lives_days=lives_days)
    fleet.open()
    rounds = list(islice(fleet.rounds, groups * days * DAY_MS // HALF_A_MINUTE_MS))
    late = [one.ts - START_TS - number // groups * HALF_A_MINUTE_MS for number, one in enumerate(rounds)]
    assert 0 <= min(late) <= max(late) < 2 * HALF_A_MINUTE_MS, "no group runs ahead of the others"
    each: dict[str, list[GroupRound]] = {}
    for one in rounds:
        each.setdefault(one.group.identity.group, []).append(one)
    replaced = groups * days / (lives_days + LAST_CLIENTS_LEAVE.lasts_s * 1000 / DAY_MS)
    assert len(each) - groups == pytest.approx(replaced, rel=0.25)
    ended = [of_group for of_group in each.values() if of_group[0].group.has_ended]
    assert len(each) - groups <= len(ended) <= len(each)
    _, facts = folded(None, values(ended[0]))
    assert last_status(facts, ended[0][0].group.identity.group) == "empty"
    alerts = {fact.payload.fingerprint: fact.payload for fact in facts if isinstance(fact.payload, AlertFact)}
    assert alerts
    assert {alert.state for alert in alerts.values()} == {"resolved"}, "an open alert would be kept for ever"


def test_faults_that_cannot_be_had_are_refused() -> None:
    assert faults_named(["all"]) == FAULTS
    with pytest.raises(ConfigError, match="no such fault: rain"):
        faults_named(["stopped", "rain"])
    with pytest.raises(ConfigError, match="takes 2 clients and 2 brokers at least"):
        templates_for(FleetSpec(1, clients=1, faults=faults_named(["cut_from_a_broker"])))


def values(rounds: Iterable[GroupRound]) -> Iterator[bytes]:
    return (event for group_round in rounds for event in group_round.events)


def folded(blob: bytes | None, told: Iterable[bytes]) -> tuple[bytes, list[Fact]]:
    arrived = [Record(None, value, len(value), None, None, "e", None, n) for n, value in enumerate(told)]
    result = fold(blob, arrived, DEFAULT_SETTINGS)
    return result.blob, result.facts


def groups_of(facts: list[Fact]) -> set[str]:
    return {fact.group for fact in facts}


def last_status(facts: list[Fact], group: str) -> str:
    return [f.payload.status for f in facts if f.group == group and isinstance(f.payload, GroupFact)][-1]
