"""Tables of a few groups, and pages over them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from streaming.config.sections import Web
from streaming.notices.notice import Site
from streaming.web.live.watch import Watch
from streaming.web.security.access import AccessRules
from streaming.web.security.users import Users
from streaming.web.settings import WebSettings
from tests.web.a_day import a_day
from tests.web.browser import driver
from tests.web.made_tables import make_tables
from tests.web.screenshots import served, when_it_answers

GROUPS = {
    "orders": ("same_client_id", 150.0),
    "invoices": ("rolling_deploy", None),
    "stock": ("not_taken_over", 200.0),
}
NOBODY = Users({}, {})


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tables(tmp_path_factory.mktemp("tables"), GROUPS)


@pytest.fixture(scope="session")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables with a day behind them."""
    return a_day(tmp_path_factory.mktemp("day"))


@pytest.fixture(scope="session")
def watch(tables: Path) -> Watch:
    one = Watch(str(tables))
    one.read()
    return one


@pytest.fixture
def settings(tables: Path, tmp_path: Path) -> WebSettings:
    """Only this machine, without users; everybody may silence."""
    rules = AccessRules(NOBODY, needs_user=False, may_silence=frozenset("*"))
    return WebSettings(
        str(tables), tmp_path / "notifier", Web(listen="127.0.0.1:8400"), rules, Site(), series_limit=20_000
    )


@pytest.fixture(scope="module")
def chromedriver() -> Iterator[str]:
    with driver() as address:
        yield address


@pytest.fixture
def site(settings: WebSettings) -> Iterator[str]:
    """The address of a real server."""
    with served(settings) as address:
        when_it_answers(address)
        yield address
