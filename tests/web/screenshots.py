"""Makes the pictures of docs/web.md again: a simulated fleet, its tables, the pages, a real Chromium.

make screenshots
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import requests
from msgspec.structs import replace

from schemas.facts import Fact
from streaming.cli import main as evenkeel
from streaming.config.sections import Web
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.loopback.ports import free_port
from streaming.notices.notice import Site
from streaming.projections.projector import run_projections
from streaming.replay.core_engine import core_facts
from streaming.replay.input_file import open_input
from streaming.tables.storage import mark_replayed
from streaming.web.live.watch import Watch
from streaming.web.security.access import AccessRules
from streaming.web.security.users import Users
from streaming.web.server import serve_watched
from streaming.web.settings import WebSettings
from testing.written import commit
from tests.web.browser import MISSING, Look, browser, driver
from tests.web.made_tables import CLUSTER, health_of

PICTURES = Path(__file__).parents[2] / "docs" / "web"
FLEET = (
    "--groups",
    "60",
    "--clients",
    "8",
    "--queues",
    "32",
    "--seconds",
    "1500",
    "--faults",
    "all",
    "--faulty",
    "0.3",
)
WIDE, PHONE = Look(1280, 800), Look(390, 844)


def main() -> int:
    if MISSING:
        print(MISSING, file=sys.stderr)
        return 1
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, served(tables_in(Path(folder))) as address, driver() as chromedriver:
        group, alert = links(address)
        for name, look, path, whole in (
            ("overview", WIDE, "/", False),
            ("group", WIDE._replace(height=1250), group, False),
            ("group-dark-chinese", WIDE._replace(dark=True, language="zh-CN", height=1250), group, False),
            ("alert-phone", PHONE, alert, False),
        ):
            with browser(chromedriver, look) as page:
                page.open(address + path)
                page.wait_for("return document.readyState === 'complete'")
                page.picture(PICTURES / f"{name}.png", whole)
            print(PICTURES / f"{name}.png")
    return 0


def tables_in(folder: Path) -> WebSettings:
    """What a job would have made of a fleet with faults, as it was at the end."""
    events = folder / "events.jsonl"
    evenkeel(["simulate", *FLEET, "--to", str(events)])
    facts = [_in_cluster(fact) for fact in core_facts(open_input(events, print, CLUSTER).records, DEFAULT_SETTINGS)]
    facts = sorted([*facts, *health_of(facts)], key=lambda fact: fact.ts)
    tables = folder / "tables"
    commit(tables / "facts", facts)
    run_projections(str(tables))
    mark_replayed(tables, "make screenshots")
    rules = AccessRules(Users({}, {}), needs_user=False, may_silence=frozenset("*"))
    return WebSettings(str(tables), folder / "notifier", Web(listen="127.0.0.1:0"), rules, Site(), series_limit=20_000)


def _in_cluster(fact: Fact) -> Fact:
    return replace(fact, cluster=CLUSTER)


@contextmanager
def served(settings: WebSettings) -> Iterator[str]:
    port = free_port()  # another test may have the settings' port
    watch, stop = Watch(settings.tables), Event()
    watch.read()
    watch.start_reading(stop)
    thread = Thread(target=serve_watched, args=(settings._replace(web=Web(listen=f"127.0.0.1:{port}")), watch, stop))
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        stop.set()
        thread.join(20)


def links(address: str) -> tuple[str, str]:
    """A group in which two instances share a client id, and its alert; else the first group that alerts."""
    page = when_it_answers(address)
    rows = [row for row in page.split("<tr class=") if "/alert?id=" in row]
    row = next((one for one in rows if "same client id" in one), rows[0])
    group, alert = (re.search(rf'href="({path}\?[^"]*)"', row) for path in ("/group", "/alert"))
    assert group is not None
    assert alert is not None
    return group[1].replace("&amp;", "&"), alert[1].replace("&amp;", "&")


def when_it_answers(address: str) -> str:
    for _ in range(100):
        try:
            return requests.get(address, timeout=30).text
        except requests.ConnectionError:
            Event().wait(0.1)
    raise AssertionError(f"{address} does not answer")


if __name__ == "__main__":
    sys.exit(main())
