"""Writes under a condition on real servers: of several writers one wins, and a write that comes late is refused."""

from typing import Any
from uuid import uuid4

import obstore
import pytest
from obstore.store import from_url

from streaming.doctor.contest import TRIALS, require_conditions
from streaming.errors import AwayError, SetupError
from streaming.lease_file import HELD_S
from streaming.tables.conditional_file import REPEATED_FOR_S, REQUEST_S, UNSAFE, ConditionalFile, Refused
from streaming.tables.storage import delta_uri
from testing.stores.servers import LoopbackStore

pytestmark = pytest.mark.slow("an object store is started")


@pytest.mark.deep("an object store, which Go builds first")
def test_file_is_made_once_and_replaced_only_as_it_was_read(folder: str) -> None:
    file = ConditionalFile(folder, "one")
    assert file.read() is None
    first = file.write("a", None)
    with pytest.raises(Refused):
        file.write("b", None)
    second = file.write("b", first)
    with pytest.raises(Refused):
        file.write("late", first)
    found = file.read()
    assert found is not None
    assert (found.text, found.version) == ("b", second)
    file.delete()
    with pytest.raises(Refused):
        file.write("c", second)


@pytest.mark.deep("an object store, which Go builds first")
def test_store_that_is_fit_is_accepted_and_left_clean(folder: str) -> None:
    for _ in range(5):
        require_conditions(folder)
    assert files_in(f"{folder}/{TRIALS}") == []


def files_in(folder: str) -> list[str]:
    store: Any = from_url(delta_uri(folder), client_options={"allow_http": True})
    return [file["path"] for batch in obstore.list(store) for file in batch]


@pytest.mark.deep("an object store, which Go builds first")
def test_bucket_that_does_not_exist_is_named_and_not_asked_for_ever(folder: str) -> None:
    missing = f"s3a://{uuid4()}/tables"
    assert ConditionalFile(missing, "one").read() is None  # S3 answers 404 for both
    words = f"^{missing} cannot be used: no write was accepted. Does the bucket exist"
    for write in (lambda: ConditionalFile(missing, "one").write("a", None), lambda: require_conditions(missing)):
        with pytest.raises(AwayError, match=words):
            write()


@pytest.mark.deep("an object store, which Go builds first")
def test_writes_without_conditions_are_refused(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UNSAFE, "true")
    with pytest.raises(SetupError, match=f"{UNSAFE} is set: .* Remove it from the environment"):
        require_conditions(folder)


@pytest.mark.deep("an object store, which Go builds first")
def test_conditions_that_are_switched_off_are_named(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONDITIONAL_PUT", "disabled")
    with pytest.raises(SetupError, match="has no conditional writes"):
        require_conditions(folder)


@pytest.mark.deep("an object store, which Go builds first")
def test_store_that_does_not_answer_is_away_within_the_time_of_a_lease(server: LoopbackStore, folder: str) -> None:
    assert REPEATED_FOR_S + REQUEST_S < HELD_S, "a lease is over before the first request that hangs"
    file = ConditionalFile(folder, "one")
    server.pause()
    try:
        with pytest.raises(AwayError, match=f"^{folder} cannot be used: "):
            file.write("a", None)
    finally:
        server.go_on()
