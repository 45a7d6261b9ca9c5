"""The light in the header: how old the data is, whatever the connection does."""

import pytest

from schemas.facts import Fact
from streaming.web.app import web_app
from streaming.web.live.watch import Watch
from streaming.web.settings import WebSettings
from streaming.web.views.known import Freshness, Known, freshness
from tests.web.asking import ask
from tests.web.made_tables import health_of
from tests.web.test_overview import NOW, known, status

LAG_MS = 1_200  # of the health facts


def seen(*ages_s: int) -> Known:
    """A cluster for each age, ``c0`` and so on, of which the newest round is so old."""
    facts: list[Fact] = []
    for number, age in enumerate(ages_s):
        one = status("g", "healthy", cluster=f"c{number}", ts=NOW - age * 1000 + LAG_MS)
        facts += [one, *health_of([one], f"c{number}")[:1]]
    return known(*facts)


@pytest.mark.parametrize(
    ("ages_s", "cluster", "state", "age_s"),
    [
        ((5,), "", "ok", 5), ((60,), "", "ok", 60), ((61,), "", "late", 61), ((121,), "", "blind", 121),
        ((5, 600), "", "blind", 600), ((5, 600), "c0", "ok", 5), ((5, 600), "c1", "blind", 600),
    ],
)  # fmt: skip
def test_the_light_is_the_age_of_the_newest_round(
    ages_s: tuple[int, ...], cluster: str, state: str, age_s: int
) -> None:
    assert freshness(seen(*ages_s), cluster, NOW) == Freshness(state, NOW - age_s * 1000)


def test_what_nothing_says_is_not_known() -> None:
    assert (
        freshness(known(), "", NOW) == freshness(known(status("g", "healthy")), "", NOW) == Freshness("not_known", None)
    )


def test_a_replay_is_never_green() -> None:
    assert freshness(seen(0), "", NOW, is_past=True).state == "replayed"


@pytest.mark.parametrize(("age_s", "light"), [(5, "is-ok"), (90, "is-late"), (600, "is-blind")])
def test_a_page_says_how_old_its_data_is(
    settings: WebSettings, monkeypatch: pytest.MonkeyPatch, age_s: int, light: str
) -> None:
    watch = Watch("nowhere")
    watch.known = seen(age_s)
    monkeypatch.setattr(watch, "now_ms", lambda: NOW)
    page = ask(web_app(settings, watch), "/").text
    assert f'class="live {light}"' in page
    assert f'data-age="{age_s * 1000}"' in page
