"""What the run with too many groups makes of what it has seen."""

from collections.abc import Sequence

import pytest

from bench.overload import MONITOR, Seen, changes, figures_of, wrong

OLD = "cluster simulated: the newest round is 75 s old"


def seen(lags_s: Sequence[float], ready: bool = True, trigger_s: float | None = 2.0) -> list[Seen]:
    """A look each second."""
    not_ready = ["" if ready or lag_s <= MONITOR.late_seconds else OLD for lag_s in lags_s]
    return [
        Seen(float(at), trigger_s if at % 2 else None, lag_s, 2_000.0 + at, says)
        for at, (lag_s, says) in enumerate(zip(lags_s, not_ready, strict=True))
    ]


BEHIND = [5.0] * 10 + [float(lag_s) for lag_s in range(5, 105)] + [5.0] * 10
SAID = [{"kind": "monitor_late", "status": "firing"}]


def found(some: list[Seen], notices: list[dict[str, str]], back_s: float | None = 9.0) -> list[str]:
    return list(wrong(some, {"back_s": back_s, "notices": notices}))


def test_a_job_that_says_that_it_is_late_and_comes_back_is_right() -> None:
    assert found(seen(BEHIND, ready=False), SAID) == []
    assert found(seen([5.0] * 100), []) == [], "one that keeps up says nothing"
    assert found(seen([5.0] * 10 + [70.0] * 20 + [5.0] * 10), []) == [], "nor is one late for a moment"


@pytest.mark.parametrize(
    ("ready", "notices", "back_s", "says"),
    [
        (True, SAID, 9.0, "the job was late, and /readyz has not said so"),
        (
            False,
            [{"kind": "monitor_contradicted", "status": "firing"}],
            9.0,
            "the job was late, and no notice has said so",
        ),
        (False, SAID, None, "the job has not come back"),
    ],
)
def test_silence_about_lateness_is_wrong(
    ready: bool, notices: list[dict[str, str]], back_s: float | None, says: str
) -> None:
    assert found(seen(BEHIND, ready), notices, back_s) == [says]


def test_the_figures_are_of_the_looks_of_a_phase() -> None:
    figures = figures_of(seen(BEHIND, ready=False), 10, 109)
    assert (figures["from_s"], figures["to_s"], figures["rss_mb_max"]) == (10, 109, 2_109)
    assert figures["trigger_s"] == {"p50": 2.0, "max": 2.0}
    assert figures["lag_s"]["max"] == 104
    assert 0.4 < figures["not_ready_share"] < 0.5
    assert figures_of(seen([1.0], trigger_s=None), 0, 5)["trigger_s"] == {}


def test_readyz_is_shown_when_it_changes() -> None:
    assert changes(seen(BEHIND, ready=False)) == [
        {"at_s": 0.0, "says": "ok"}, {"at_s": 66.0, "says": OLD}, {"at_s": 110.0, "says": "ok"},
    ]  # fmt: skip
