"""Both servers for tests to share; each test has its own folder in the bucket."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from testing.go_programs import missing
from testing.stores.servers import BUCKET, PROGRAMS, LoopbackStore


@pytest.fixture(scope="session", params=PROGRAMS, ids=lambda program: program.name)
def server(request: pytest.FixtureRequest) -> Iterator[LoopbackStore]:
    if reason := missing(request.param):
        pytest.skip(reason)
    with LoopbackStore(request.param) as store:
        yield store


@pytest.fixture
def folder(server: LoopbackStore, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a folder, in the environment that reaches it."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return f"s3a://{BUCKET}/{uuid4()}"
