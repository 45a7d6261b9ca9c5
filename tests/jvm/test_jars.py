"""Jars are fetched once, completely or not at all. A stand-in for Java plays Ivy: no network here."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from streaming.errors import SetupError
from streaming.jvm import jars

COORDINATES = ["org.example:thing_2.13:1.0"]


@pytest.fixture
def ivy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script to be run as Java; it notes each call in a file beside it."""
    monkeypatch.setenv("EVENKEEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(jars, "java_home", lambda: tmp_path)
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "java"
    script.write_text(
        f"#!/bin/sh\necho called >> {tmp_path}/calls\n"
        'while [ "$1" != -retrieve ]; do shift; done\n'
        'sleep 0.2; mkdir "$(dirname "$2")" && touch "$(dirname "$2")/thing-1.0.jar"\n'
    )
    script.chmod(0o755)
    return script


def calls(ivy: Path) -> int:
    return len((ivy.parent.parent / "calls").read_text().splitlines())


def test_second_fetch_reads_the_cache(ivy: Path, tmp_path: Path) -> None:
    found = jars.fetch(COORDINATES)
    assert found == [tmp_path / "cache" / "jars" / "thing_2.13-1.0" / "thing-1.0.jar"]
    assert jars.fetch(COORDINATES) == found
    assert calls(ivy) == 1


def test_fetches_at_the_same_time_download_once(ivy: Path) -> None:
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(jars.fetch, [COORDINATES, COORDINATES])
    assert first == second
    assert calls(ivy) == 1


def test_failed_fetch_shows_last_words_and_leaves_nothing(ivy: Path, tmp_path: Path) -> None:
    ivy.write_text("#!/bin/sh\necho org.example: not found; exit 1\n")
    with pytest.raises(SetupError, match=r"(?s)could not fetch org\.example.*EVENKEEL_IVY_SETTINGS.*not found"):
        jars.fetch(COORDINATES)
    assert [path.name for path in (tmp_path / "cache" / "jars").iterdir()] == ["thing_2.13-1.0.lock"]


def test_own_ivy_settings_are_passed_on(ivy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ivy.write_text('#!/bin/sh\necho "$@"; exit 1\n')
    monkeypatch.setenv("EVENKEEL_IVY_SETTINGS", "/etc/mirror.xml")
    with pytest.raises(SetupError, match=r"-settings /etc/mirror\.xml"):
        jars.fetch(COORDINATES)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"EVENKEEL_CACHE": "/a"}, "/a"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/evenkeel"),
        ({"HOME": "/c"}, "/c/.cache/evenkeel"),
    ],
)
def test_cache_is_where_the_environment_says(
    environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EVENKEEL_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert jars.cache_dir() == Path(expected)
