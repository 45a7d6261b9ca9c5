"""The pages in a real Chromium over tables that a real job made of a recording of a real RocketMQ."""

import subprocess
import sys
from pathlib import Path

import pytest

from streaming.web.settings import WebSettings
from tests.web.browser import MISSING, browser, driver
from tests.web.screenshots import served

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "streaming" / "demo" / "recordings" / "d_sameid.jsonl.gz"


@pytest.mark.deep("a job of its own, and a browser")
@pytest.mark.spark
@pytest.mark.chromium
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
@pytest.mark.timeout(600)
def test_two_instances_with_one_client_id(tmp_path: Path, settings: WebSettings) -> None:
    tables = tmp_path / "tables"
    replay = [sys.executable, "-m", "streaming", "replay", str(RECORDING), "--tables", str(tables), "--json"]
    subprocess.run(replay, cwd=ROOT, check=True, capture_output=True)
    with (
        served(settings._replace(tables=str(tables))) as address,
        driver() as chromedriver,
        browser(chromedriver) as page,
    ):
        page.open(address)
        page.click("tbody tr:first-child th a")
        page.wait_for("return document.querySelectorAll('.map use').length > 0")
        assert "SAME_CLIENT_ID" in page.text()
        page.open(address + page.run("return document.querySelector('.timeline a').getAttribute('href')"))
        assert "This is what was known at" in page.text()
        assert page.faults() == []
