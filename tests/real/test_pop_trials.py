"""How a trial of POP is judged: by what fired after the fault, with which cause, and whom else it called."""

from tests.notifier.facts import NOW, alert
from tests.real.pop_trials import TRIALS, Found, Trial, found_in, judged

UNPOLLED = Trial(TRIALS["silent"].play, ("UNPOLLED",), frozenset({"PROXY_AWAY"}))
RIGHT = Found("UNPOLLED", "PROXY_AWAY", "g", "critical", 90.0)


def test_an_alert_counts_once_from_the_fault_on() -> None:
    facts = [alert(kind="UNPOLLED", cause="PROXY_AWAY", at=at, seq=at) for at in (100, 130)]
    assert found_in(facts, NOW + 10_000) == [RIGHT]
    assert found_in([alert(kind="UNPOLLED", state="pending", at=5)], NOW) == []


def test_the_right_finding_in_time() -> None:
    line = judged("silent", UNPOLLED, [RIGHT], [("g", "UNPOLLED")])
    assert (line["fired_s"], line["is_right"], line["is_in_time"], line["other_pages"]) == (90.0, True, True, [])


def test_another_cause_a_late_one_an_early_one_and_other_pages() -> None:
    other = RIGHT._replace(cause="UNEXPLAINED", fired_s=121.0)
    line = judged("silent", UNPOLLED, [RIGHT._replace(fired_s=-3.0), other], [("g", "UNPOLLED"), ("h", "STALLED")])
    assert (line["fired_s"], line["is_right"], line["is_in_time"]) == (121.0, False, False)
    assert (line["other_pages"], line["before_the_fault"]) == (["STALLED h"], ["UNPOLLED g"])


def test_nothing_found_is_right_only_where_nothing_is_wrong() -> None:
    assert not judged("silent", UNPOLLED, [], [])["is_right"]
    healthy = judged("restarts", TRIALS["restarts"], [], [("g", "UNPOLLED")])
    assert (healthy["is_right"], healthy["other_pages"]) == (True, ["UNPOLLED g"])
