"""Small files beside the tables, on this machine and as in an object store."""

from pathlib import Path

import pytest

from streaming.errors import AwayError
from streaming.tables import storage
from streaming.tables.storage import TextFiles, delta_uri, local_path


def test_addresses_are_called_as_deltalake_calls_them() -> None:
    assert delta_uri("s3a://bucket/tables") == "s3://bucket/tables"
    assert delta_uri("/data/tables") == "/data/tables"
    assert local_path("/data/tables") == local_path("file:///data/tables") == Path("/data/tables")
    assert local_path("s3a://bucket/tables") is None


@pytest.fixture(params=["this machine", "a store"])
def files(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TextFiles:
    if request.param == "a store":
        monkeypatch.setattr(storage, "local_path", lambda address: None)
        (tmp_path / "folder").mkdir()  # stores have none
        return TextFiles((tmp_path / "folder").as_uri())
    return TextFiles(str(tmp_path / "folder"))


def test_files_are_written_read_and_deleted(files: TextFiles) -> None:
    assert files.read("a.json") is None
    assert files.names("sub") == []
    files.write("a.json", "one")
    files.write("a.json", "two")
    files.write("sub/7", "ü")
    assert (files.read("a.json"), files.read("sub/7")) == ("two", "ü")
    assert files.names("sub") == ["7"]
    for name in ("a.json", "sub", "never"):
        files.delete(name)
    assert files.read("a.json") is None
    assert files.names("sub") == []


def test_one_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("no folder")
    with pytest.raises(AwayError, match=rf"{tmp_path}/folder cannot be used: "):
        TextFiles(str(tmp_path / "folder")).write("a.json", "one")
