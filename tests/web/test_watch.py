"""What is known grows with the facts, and browsers hear of it."""

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread

import pytest

from schemas.facts import Fact
from streaming.explain.snapshot import ExplainedGroup
from streaming.explain.snapshot_from_facts import snapshot_of
from streaming.projections.progress import read_progress
from streaming.projections.projector import run_projections
from streaming.projections.table import ProjectionTable
from streaming.web.live.first_read import first_facts
from streaming.web.live.group_reader import read_now
from streaming.web.live.watch import Changes, Watch
from streaming.web.settings import WebSettings
from testing.written import commit
from tests.web.browser import MISSING, Browser, browser, driver
from tests.web.made_tables import CLUSTER, facts_named, health_of
from tests.web.screenshots import served
from tests.web.test_overview import status

ORDERS = (CLUSTER, "orders")
REFUSED_ONCE = """
const real = window.fetch;
window.fetch = (...asked) => {
  window.fetch = real;
  window.refused = true;
  return Promise.resolve(new Response("Too many requests at once.", { status: 503 }));
};
"""


def split(facts: list[Fact], seconds: float) -> tuple[list[Fact], list[Fact]]:
    until = facts[0].ts + seconds * 1000
    return [fact for fact in facts if fact.ts <= until], [fact for fact in facts if fact.ts > until]


@pytest.fixture
def begun(tmp_path: Path) -> tuple[Path, list[Fact]]:
    """Tables of the beginning of an incident, and the facts that are yet to come."""
    before, after = split(facts_named("same_client_id", "orders", 150), 50)
    commit(tmp_path / "facts", [*before, *health_of(before)])
    run_projections(str(tmp_path))
    return tmp_path, after


@pytest.mark.slow("a page of a day")
def test_it_begins_with_the_tables_and_follows_the_facts(begun: tuple[Path, list[Fact]]) -> None:
    folder, later = begun
    watch = Watch(str(folder))
    watch.read()
    assert watch.known.groups[ORDERS].status.status == "healthy"
    assert watch.known.open_alerts(ORDERS) == []
    commit(folder / "facts", later)
    watch.read()
    assert {one.fact.kind for one in watch.known.open_alerts(ORDERS)} >= {"DUPLICATED"}
    assert watch.known.groups[ORDERS].status.status == "findings"


@pytest.mark.slow("a page of a day")
def test_facts_that_the_tables_lack_are_read_at_the_start(begun: tuple[Path, list[Fact]]) -> None:
    folder, later = begun
    commit(folder / "facts", later)
    watch = Watch(str(folder))
    watch.read()
    assert {one.fact.kind for one in watch.known.open_alerts(ORDERS)} >= {"DUPLICATED"}


@pytest.mark.slow("a page of a day")
def test_a_group_is_told_once_when_its_facts_are_there(begun: tuple[Path, list[Fact]]) -> None:
    folder, later = begun
    watch = Watch(str(folder))
    watch.read()
    commit(folder / "facts", later)
    numbers = [watch.changes.number(ORDERS)]
    for _ in range(2):
        watch.read()
        numbers.append(watch.changes.number(ORDERS))
    run_projections(str(folder))
    watch.read()
    numbers.append(watch.changes.number(ORDERS))
    assert [after > before for before, after in pairwise(numbers)] == [True, False, False]


@pytest.mark.slow("a browser is started")
@pytest.mark.parametrize("cut", ["before it began", "in the middle"])
def test_a_group_is_shown_as_of_one_moment_though_the_tables_lack_facts(
    begun: tuple[Path, list[Fact]], cut: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, later = begun
    commit(folder / "facts", later)
    if cut == "in the middle":
        monkeypatch.setattr(ProjectionTable, "merge", lambda *_: (_ for _ in ()).throw(OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            run_projections(str(folder))
        monkeypatch.undo()
        progress = read_progress(str(folder))
        assert progress is not None
        assert progress.pending is not None
    shown = group_now(folder)
    run_projections(str(folder))
    assert shown == group_now(folder)
    assert any("DUPLICATED" in row for row in map(str, shown.queues))


def group_now(folder: Path) -> ExplainedGroup:
    watch = Watch(str(folder))
    watch.read()
    facts = read_now(str(folder), ORDERS, watch.known, watch.known.newest_ts(), 3)
    return snapshot_of(facts, None)


@pytest.mark.slow("a page of a day")
def test_nothing_new_is_no_change(begun: tuple[Path, list[Fact]]) -> None:
    watch = Watch(str(begun[0]))
    watch.read()
    version, number = watch.known.version, watch.changes.number()
    watch.read()
    assert (watch.known.version, watch.changes.number()) == (version, number)


@pytest.mark.slow("a page of a day")
def test_since_when_a_status_holds_is_read_from_the_tables(tmp_path: Path) -> None:
    ts = facts_named("same_client_id", "orders")[0].ts
    words = ["findings", "healthy", "healthy", "findings", "findings"]
    told = [status("g", word, seq, ts + seq * 60_000) for seq, word in enumerate(words)]
    commit(tmp_path / "facts", told)
    run_projections(str(tmp_path))
    assert [fact.seq for fact in first_facts(str(tmp_path))] == [2, 3, 4]
    watch = Watch(str(tmp_path))
    watch.read()
    group = watch.known.groups["c", "g"]
    assert (group.since_ts, group.since_is_lower_bound, group.seq) == (ts + 3 * 60_000, False, 4)


@pytest.mark.slow("a page of a day")
def test_an_error_is_said_and_what_was_known_stays(begun: tuple[Path, list[Fact]]) -> None:
    folder, _ = begun
    watch, stop = Watch(str(folder)), Event()
    watch.read()
    known = watch.known
    watch.read = lambda: (_ for _ in ()).throw(OSError("the disk is gone"))  # type: ignore[method-assign]
    reader = watch.start_reading(stop)
    while watch.error is None:
        stop.wait(0.01)
    stop.set()
    reader.join(60)
    assert (watch.error, watch.known) == ("the disk is gone", known)


def test_a_folder_without_tables_knows_nothing(tmp_path: Path) -> None:
    watch = Watch(str(tmp_path / "none"))
    watch.read()
    assert watch.known.groups == {}


def test_a_change_wakes_who_waits_for_it() -> None:
    changes = Changes()

    async def waited() -> list[int | None]:
        of_group = asyncio.create_task(changes.next(ORDERS, 0, 5))
        of_any = asyncio.create_task(changes.next(None, 0, 5))
        of_other = asyncio.create_task(changes.next((CLUSTER, "stock"), 0, 0.3))
        await asyncio.sleep(0.05)
        Thread(target=changes.tell, args=({ORDERS},)).start()
        return [await of_group, await of_any, await of_other]

    assert asyncio.run(waited()) == [1, 1, None]
    assert asyncio.run(changes.next(ORDERS, 0, 1)) == 1
    assert asyncio.run(changes.next(ORDERS, 1, 0.05)) is None


@pytest.fixture
def live(begun: tuple[Path, list[Fact]], settings: WebSettings) -> Iterator[tuple[Browser, Path, list[Fact]]]:
    """The page of a group, open in a browser."""
    folder, later = begun
    with (
        served(settings._replace(tables=str(folder))) as address,
        driver() as chromedriver,
        browser(chromedriver) as page,
    ):
        page.open(f"{address}/group?cluster={CLUSTER}&group=orders")
        page.wait_for("return document.getElementById('live') && !document.getElementById('live').hidden")
        yield page, folder, later


@pytest.mark.chromium
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_a_page_that_is_open_shows_what_happens(live: tuple[Browser, Path, list[Fact]]) -> None:
    page, folder, later = live
    assert "consumed twice" not in page.text()
    page.run("window.stayed = true")
    commit(folder / "facts", later)
    page.wait_for("return document.body.innerText.includes('consumed twice')", seconds=30)
    run_projections(str(folder))
    page.wait_for("return document.querySelectorAll('.m-duplicated').length > 0", seconds=30)
    assert page.run("return window.stayed") is True
    assert page.faults() == []


@pytest.mark.chromium
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_a_page_that_was_refused_asks_again(live: tuple[Browser, Path, list[Fact]]) -> None:
    page, folder, later = live
    page.run(REFUSED_ONCE)
    commit(folder / "facts", later)
    page.wait_for("return document.body.innerText.includes('consumed twice')", seconds=30)
    assert page.run("return window.refused") is True
