"""What counts the answers of a server that gets more requests than it takes."""

import psutil
import pytest

from bench.flood import flood
from testing.http_server import Answer, Server

pytestmark = [pytest.mark.slow("a short measurement"), pytest.mark.timeout(300)]  # two seconds


@pytest.mark.deep("a short measurement")
def test_answers_and_refusals_are_counted_and_none_is_missing() -> None:
    with Server(*[Answer(503)] * 5) as server:
        found = flood(server.url, ["/", "/health"], 20, 2, psutil.Process())
        paths = {got.path for got in server.got}
    counted = found["answers"]
    assert sum(counted.values()) == found["asked"] > 10
    assert counted["503"] <= 5
    assert counted["200"] > 5
    assert found["ms"]["200"]["p99"] > 0
    assert paths == {"/", "/health", "/healthz"}
    assert found["first_page_after"] == {"200": 1}
