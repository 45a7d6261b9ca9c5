"""One of these tests starts Spark."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    # pyspark leaves the socket of each collect() to the garbage collector
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")
