"""Late rounds are said, not made up for; the load is what the policy comes to."""

from dataclasses import replace

import pytest

from streaming.collector.cluster_collector import WARN_EVERY_S, Pace
from streaming.collector.probing import request_load
from streaming.collector.probing.policy import DEFAULT_POLICY
from streaming.collector.probing.request_load import Footprint


@pytest.mark.parametrize(("took_s", "delay_s"), [(0, 5), (1.5, 3.5), (4.75, 0.25), (5, 5), (7, 3), (11, 4)])
def test_rounds_begin_at_fixed_times(took_s: float, delay_s: float) -> None:
    assert Pace("prod", 5).ended(100, 100 + took_s) == pytest.approx(delay_s)


def test_late_rounds_are_said_at_once_and_then_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    pace = Pace("prod", 5)
    pace.ended(0, 4.9)
    assert caplog.messages == []
    pace.ended(10, 16)
    assert caplog.messages[0].startswith("prod: a round took 6.0 s, longer than the interval of 5 s; 1 left out")
    pace.ended(20, 37)
    pace.ended(40, 46)
    assert len(caplog.messages) == 1
    pace.ended(17 + WARN_EVERY_S - 6, 17 + WARN_EVERY_S)
    assert caplog.messages[1].startswith("prod: a round took 17.0 s")
    assert "; 5 left out" in caplog.messages[1]


def test_load_is_what_the_policy_comes_to() -> None:
    group = Footprint(("a", "b"), {"c1": "a", "c2": "b"}, True, ("T", "%RETRY%g"))
    silent = Footprint(("a",), {"c1": "a"}, False, ("T",))
    found = request_load.estimate([group, silent], {"a": 100, "b": 0}, DEFAULT_POLICY)
    assert found.brokers["b"] == pytest.approx(
        {"groups": 1 / 30, "lists": 0, "connections": 0.2, "offsets": 0.05, "running info": 0.05}
    )
    assert found.brokers["a"] == pytest.approx(
        {"groups": 1 / 30, "lists": 2, "connections": 0.4, "offsets": 0.05, "running info": 0.1}
    )
    assert found.name_servers == pytest.approx(0.2 + 0.1 + 1 / 60)
    assert found.clients == pytest.approx({"c1": 0.1, "c2": 0.05})


def test_client_in_very_many_groups_is_asked_no_faster_than_its_rest_allows() -> None:
    groups = [Footprint(("a",), {"c": "a"}, False, ()) for _ in range(100)]
    assert request_load.estimate(groups, {}, DEFAULT_POLICY).clients == {"c": 0.25}


def test_load_is_told_in_words() -> None:
    group = Footprint(("broker-a",), {"c1": "broker-a"}, True, ("T",))
    told = "\n".join(request_load.lines("prod", 1, 3, request_load.estimate([group], {"broker-a": 3}, DEFAULT_POLICY)))
    assert told.startswith("prod: 1 brokers, 1 groups with members, 3 without, 1 clients to be asked\n")
    assert "broker-a      0.4 requests a second: connections 0.2, groups 0.03, lists 0.06, offsets 0.05" in told
    assert "each client   one running info every 20 s" in told
    silent = request_load.estimate([group], {}, replace(DEFAULT_POLICY, running_info_ms=0))
    assert "client  " not in "\n".join(request_load.lines("prod", 1, 3, silent))
