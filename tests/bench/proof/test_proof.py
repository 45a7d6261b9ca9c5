"""The proof itself: it judges by the truth, gives the same figures again, and falls when the detector is broken."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from bench.proof import incidents, runner
from bench.proof.__main__ import main
from bench.proof.detector import Detector
from bench.proof.incidents import Run, play_incident, shape_for
from bench.proof.more_faults import ANY_FAULT_NAMED
from bench.proof.pop_faults import POP_FAULTS
from bench.proof.report import Report, figures
from bench.proof.results import ExpectedPage, Page
from bench.proof.runner import RunCounts, evaluate
from schemas.facts import Cause, Kind
from streaming.core.causes import table as causes
from streaming.core.causes.explanation import Explanation
from streaming.core.default_settings import DEFAULT_SETTINGS, DEFAULT_TIMING
from streaming.core.evidence.topic_evidence import TopicEvidence
from streaming.core.findings import queue_findings as comparison
from streaming.core.findings import queue_rules as findings
from streaming.core.settings import Settings
from streaming.progress import Progress
from streaming.simulation.faults import FAULT_NAMED, FAULTS


def test_every_cause_has_a_fault_that_brings_it_about() -> None:
    faults = (*ANY_FAULT_NAMED.values(), *POP_FAULTS)
    assert {cause for fault in faults for cause in fault.causes} == set(Cause)


def test_every_alerting_kind_is_true_of_some_fault() -> None:
    group_findings = {kind for fault in ANY_FAULT_NAMED.values() for kind, _ in fault.group_findings}
    assert group_findings == {
        Kind.OFFSETS_WENT_BACK,
        Kind.INCONSISTENT_SUBSCRIPTION,
        Kind.UNREADABLE_QUEUES,
        Kind.NO_MEMBERS,
        Kind.REBALANCE_STORM,
    }


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_gets_a_group_that_it_can_strike(fault: Any) -> None:
    for seed in range(20):
        shape = shape_for(fault, Random(seed))
        assert shape.clients >= fault.least_clients
        assert shape.brokers >= fault.least_brokers
        assert all(getattr(shape, name) == value for name, value in fault.needs.items())


SEED = "s5"  # it makes small groups, and faults that last
DEFAULT = DEFAULT_SETTINGS


NO_REPORT_IS_LOST = "s1"  # else a stall counts in place of a queue without an owner


def small(name: str, settings: Settings = DEFAULT, seed: str = SEED) -> Run:
    return play_incident(seed, FAULT_NAMED[name], settings)


@pytest.mark.deep("a short measurement")
def test_the_same_seed_is_the_same_incident() -> None:
    assert small("not_taken_over") == small("not_taken_over")


def test_a_fault_that_lasts_is_found_with_its_cause() -> None:
    run = small("not_taken_over")
    assert run.expected
    assert all(one.found is not None and one.cause_is_right for one in run.expected)
    assert all(page.is_true for page in run.pages)


@pytest.mark.deep("a short measurement")
def test_without_the_rule_that_finds_it_it_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "PROVEN_BY_REPORTS", (findings.duplicated,))
    run = small("not_taken_over", seed=NO_REPORT_IS_LOST)
    assert any(one.found is None for one in run.expected if one.kind is Kind.ORPHANED)


@pytest.mark.deep("a short measurement")
def test_what_is_due_goes_by_the_timers_that_the_detector_is_given() -> None:
    (expected,) = small("stopped").expected
    assert expected.found is not None
    assert small("stopped", Settings(timing=replace(DEFAULT_TIMING, stall_ms=600_000))).expected == []


@pytest.mark.slow("a short measurement")
def test_clients_that_are_replaced_by_others_that_differ_may_be_a_deploy_that_goes_on() -> None:
    no_wait = Settings(timing=replace(DEFAULT_TIMING, deploy_wait_ms=0))
    at_once, later = small("mixed_strategies", no_wait).expected[0], small("mixed_strategies").expected[0]
    assert later.due_ts == at_once.due_ts + DEFAULT.timing.deploy_wait_ms
    assert at_once.found is not None
    assert later.found is not None
    assert at_once.found.fired_ts < later.found.fired_ts


def test_figures_are_none_where_there_is_nothing_to_count() -> None:
    assert figures(0, [], [])["recall"] is None
    assert Report().as_json()["total"]["healthy_pages"] == 0


def test_figures_count() -> None:
    page = Page(Kind.ORPHANED, "T", "MEMBER_GONE", "critical", 90_000, frozenset(), True)
    found = ExpectedPage(Kind.ORPHANED, "T", 30_000, 100_000, ("x",), ("MEMBER_GONE",), page)
    misnamed = ExpectedPage(Kind.ORPHANED, "T", 50_000, 100_000, ("x",), ("ROUTE_LAG",), page)
    missed = ExpectedPage(Kind.STALLED, "T", 30_000, 100_000, ("x",), ("ROUTE_LAG",))
    assert figures(1, [found, misnamed, missed], [page, page._replace(is_true=False)]) == {
        "incidents": 1,
        "wanted": 3,
        "recall": 0.6667,
        "precision": 0.5,
        "cause_right": 0.5,
        "delay_s_p50": 40.0,
        "delay_s_p99": 60.0,
    }


def test_of_a_page_that_was_open_already_the_cause_that_it_names_by_then_counts() -> None:
    """When it fired, what it was to name later had not begun."""
    page = Page(Kind.ORPHANED, "T", "ROUTE_LAG", "critical", 90_000, frozenset(), True)
    page = page._replace(later_causes=((90_000, "ROUTE_LAG"), (150_000, "VIEW_DIVERGENCE"), (300_000, "UNEXPLAINED")))
    later = ExpectedPage(Kind.ORPHANED, "T", 120_000, 200_000, ("x",), ("VIEW_DIVERGENCE",), page)
    assert later.cause == "VIEW_DIVERGENCE"
    assert later.cause_is_right
    from_its_begin = ExpectedPage(Kind.ORPHANED, "T", 80_000, 200_000, ("x",), ("VIEW_DIVERGENCE",), page)
    assert from_its_begin.cause == "ROUTE_LAG"
    assert not from_its_begin.cause_is_right
    too_late = ExpectedPage(Kind.ORPHANED, "T", 120_000, 149_000, ("x",), ("VIEW_DIVERGENCE",), page)
    assert not too_late.cause_is_right


@pytest.mark.deep("a short measurement")
def test_a_queue_that_stands_still_is_told_though_a_page_says_that_it_had_two_owners() -> None:
    """In the same incident, with the right cause."""
    run = play_incident("1/408", FAULT_NAMED["cut_from_a_broker"], DEFAULT)
    (stalled,) = [one for one in run.expected if one.kind is Kind.STALLED]
    assert stalled.found is not None
    assert stalled.found.kind is Kind.STALLED
    assert stalled.cause == "VIEW_DIVERGENCE"


@pytest.mark.deep("a short measurement")
def test_where_rebalance_hangs_what_else_has_changed_is_a_right_name_too() -> None:
    run = play_incident("1/961", FAULT_NAMED["clings"], DEFAULT)  # a client leaves meanwhile
    (orphaned,) = [one for one in run.expected if one.kind is Kind.ORPHANED]
    assert (orphaned.causes, orphaned.cause) == (("MEMBER_GONE", "UNEXPLAINED"), "MEMBER_GONE")


@pytest.mark.slow("a short measurement")
@pytest.mark.timeout(900)
def test_two_owners_need_not_be_found_while_members_change_as_often_as_they_are_asked() -> None:
    """Nor is a page false that says what was so until a moment ago."""
    run = play_incident("1/978", FAULT_NAMED["old_route"], DEFAULT)
    assert {one.kind for one in run.expected} == {Kind.REBALANCE_STORM}
    assert all(page.is_true for page in run.pages)
    assert {Kind.DUPLICATED, Kind.MISPLACED} <= {page.kind for page in run.pages}


def test_an_evaluation_that_is_interrupted_tells_what_was_played(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []

    def play(seed: str, number: int, settings: Settings) -> Run:
        if number == 2:
            raise KeyboardInterrupt
        played.append(number)
        return Run(f"{seed}/{number}", "", ("stopped",), 1.0, 0, [], [])

    monkeypatch.setattr(runner, "play_numbered", play)
    said = io.StringIO()
    report = evaluate(RunCounts(5, 100), "1", DEFAULT, jobs=1, progress=Progress(said))
    assert [run.seed for run in report.incidents] == ["1/0", "1/1"]
    assert said.getvalue().startswith("interrupted")


def test_the_command_prints_figures_and_writes_one_object(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    nothing = [word for kind in ("incidents", "healthy", "perturbed", "pop") for word in (f"--{kind}", "0")]
    assert main([*nothing, "--json", str(path)]) == 0
    assert "0 healthy rebalances, 0 pages" in capsys.readouterr().out
    report = json.loads(path.read_text())
    assert set(report) == {"total", "kinds", "causes", "faults", "missed", "false"}
    assert report["total"]["healthy_rebalances"] == 0


def total_of_some() -> dict[str, Any]:
    """The figures of one seed that makes faults last; all of them are 1.0 as long as nothing is broken."""
    names = ("clings", "same_client_id", "stopped", "not_taken_over", "pull_service_dead")
    runs = [play_incident("broken/1", FAULT_NAMED[name], DEFAULT_SETTINGS) for name in names]
    total: dict[str, Any] = Report(runs).as_json()["total"]
    return total


@pytest.fixture(scope="module")
def unbroken() -> dict[str, Any]:
    return total_of_some()


def two_owners_are_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(findings, "PROVEN_BY_REPORTS", (findings.orphaned,))


def no_owner_is_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(findings, "PROVEN_BY_REPORTS", (findings.duplicated,))


def standing_still_is_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(findings, "PROVEN_BY_OFFSETS", ())


def all_is_waited_for_three_times_as_long(patch: pytest.MonkeyPatch) -> None:
    """The detector takes its time; what is due is due as before."""
    usual = DEFAULT_TIMING
    timers = ("grace_membership", "grace_route", "grace_broker", "stall")
    late = Settings(
        timing=replace(DEFAULT_TIMING, **{f"{name}_ms": 3 * getattr(usual, f"{name}_ms") for name in timers})
    )
    patch.setattr(incidents, "Detector", lambda fleet, _, *rest: Detector(fleet, late, *rest))


def two_causes_are_mixed_up(patch: pytest.MonkeyPatch) -> None:
    other = {Cause.CLIENT_STALLED: Cause.MEMBER_GONE, Cause.MEMBER_GONE: Cause.CLIENT_STALLED}

    def explain(topic: TopicEvidence, kind: Kind, queues: frozenset[int]) -> Explanation | None:
        why = causes.explain(topic, kind, queues)
        return why and replace(why, cause=other.get(why.cause, why.cause))

    patch.setattr(comparison, "explain", explain)


@pytest.mark.slow("a short measurement")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("breaking", "figure"),
    [
        (two_owners_are_nothing, "recall"),
        (no_owner_is_nothing, "recall"),
        (standing_still_is_nothing, "recall"),
        (all_is_waited_for_three_times_as_long, "recall"),
        (two_causes_are_mixed_up, "cause_right"),
    ],
)
def test_with_a_broken_rule_the_figures_fall(
    breaking: Callable[[pytest.MonkeyPatch], None],
    figure: str,
    unbroken: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert unbroken[figure] == 1.0
    breaking(monkeypatch)
    assert total_of_some()[figure] < 0.9
