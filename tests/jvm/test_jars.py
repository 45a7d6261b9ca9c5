"""Jars are fetched once, completely or not at all. A stand-in for Java plays Ivy: no network here."""

import re
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from streaming.errors import AwayError, SetupError
from streaming.jvm import jars
from streaming.loopback import kafka
from streaming.spark.packages import spark_packages
from tests.real import jars as rocketmq_jars

COORDINATES = ["org.example:thing_2.13:1.0"]
OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def write_other_bytes(folder: Path) -> None:
    (folder / "thing-1.0.jar").write_bytes(b"something else")


DAMAGES: dict[str, Callable[[Path], object]] = {
    f"thing-1.0.jar has the SHA-256 [0-9a-f]{{64}}, and {OF_NOTHING} is right": write_other_bytes,
    "thing-1.0.jar is missing": lambda folder: (folder / "thing-1.0.jar").unlink(),
    "more.jar is not one of its jars": lambda folder: (folder / "more.jar").touch(),
}


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


@pytest.fixture
def checksums(tmp_path: Path) -> Path:
    """What the stand-in gives is right."""
    path = tmp_path / "jars.sha256"
    path.write_text(f"# a comment\n{OF_NOTHING}  thing_2.13-1.0/thing-1.0.jar\n{'0' * 64}  another/thing-1.0.jar\n")
    return path


def calls(ivy: Path) -> int:
    return len((ivy.parent.parent / "calls").read_text().splitlines())


def test_second_fetch_reads_the_cache(ivy: Path, checksums: Path, tmp_path: Path) -> None:
    found = jars.fetch(COORDINATES, checksums=checksums)
    assert found == [tmp_path / "cache" / "jars" / "thing_2.13-1.0" / "thing-1.0.jar"]
    assert jars.fetch(COORDINATES, checksums=checksums) == found
    assert calls(ivy) == 1


def test_fetches_at_the_same_time_download_once(ivy: Path, checksums: Path) -> None:
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(lambda c: jars.fetch(c, checksums=checksums), [COORDINATES, COORDINATES])
    assert first == second
    assert calls(ivy) == 1


def test_failed_fetch_shows_last_words_and_leaves_no_folder_of_jars(ivy: Path, checksums: Path, tmp_path: Path) -> None:
    ivy.write_text("#!/bin/sh\necho org.example: not found; exit 1\n")
    with pytest.raises(AwayError, match=r"(?s)could not fetch org\.example.*EVENKEEL_IVY_SETTINGS.*not found"):
        jars.fetch(COORDINATES, checksums=checksums)
    assert not (tmp_path / "cache" / "jars" / "thing_2.13-1.0").exists()


# In Ivy's cache: jars that have come, one of which is damaged, and what an interrupted Ivy leaves.
INTERRUPTED = """#!/bin/sh
while [ "$1" != -cache ]; do shift; done
mkdir -p "$2/org/thing" "$2/org/more"; cd "$2/org"
touch thing/thing-1.0.jar thing/ivydata-1.0.properties more/more-1.0.jar.part; echo damaged > more/thing-1.0.jar
exit 1
"""


def test_fetch_that_was_interrupted_continues_with_the_jars_that_had_come(
    ivy: Path, checksums: Path, tmp_path: Path
) -> None:
    complete = ivy.read_text()
    ivy.write_text(INTERRUPTED)
    with pytest.raises(AwayError):
        jars.fetch(COORDINATES, checksums=checksums)
    seen = f'for one; do [ "$before" = -cache ] && (cd "$one" && find . -type f) > {tmp_path}/seen; before=$one; done\n'
    ivy.write_text(complete.replace("while", f"{seen}while", 1))
    jars.fetch(COORDINATES, checksums=checksums)
    assert (tmp_path / "seen").read_text().split() == ["./org/thing/thing-1.0.jar"]
    left = sorted(path.name for path in (tmp_path / "cache" / "jars").iterdir())
    assert left == ["thing_2.13-1.0", "thing_2.13-1.0.lock"]


def test_jars_of_a_named_folder_need_no_ivy(ivy: Path, checksums: Path, tmp_path: Path) -> None:
    found = jars.fetch(COORDINATES, checksums=checksums, to=tmp_path / "mine")
    copied = Path(shutil.copytree(tmp_path / "mine", tmp_path / "copied"))
    ivy.write_text("#!/bin/sh\nexit 1\n")
    assert found == [tmp_path / "mine" / "thing_2.13-1.0" / "thing-1.0.jar"]
    assert jars.kept_in(copied, COORDINATES, checksums) == [copied / "thing_2.13-1.0" / "thing-1.0.jar"]
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("said", DAMAGES)
def test_jars_of_a_named_folder_that_are_not_right_are_refused(
    said: str, ivy: Path, checksums: Path, tmp_path: Path
) -> None:
    (jar,) = jars.fetch(COORDINATES, checksums=checksums, to=tmp_path)
    DAMAGES[said](jar.parent)
    with pytest.raises(SetupError, match=rf"{jar.parent}: {said}\. .*evenkeel jars fetch --to DIR"):
        jars.kept_in(tmp_path, COORDINATES, checksums)
    with pytest.raises(SetupError, match=rf"{tmp_path}/none/thing_2.13-1.0: thing-1.0.jar is missing"):
        jars.kept_in(tmp_path / "none", COORDINATES, checksums)


def test_jars_are_named_with_their_bytes_as_they_come(
    ivy: Path, checksums: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arriving = f'mkdir -p {ivy.parent.parent}/x; while [ "$1" != -cache ]; do shift; done; mkdir -p "$2/a/jars"; '
    arriving += 'printf 12345 > "$2/a/jars/thing-1.0.jar"; touch "$2/a/jars/more.jar.part"\n'
    ivy.write_text(ivy.read_text().replace("while", arriving + "while", 1))
    jars.fetch(COORDINATES, checksums=checksums)
    assert capfd.readouterr().err.splitlines()[1:] == ["evenkeel:   thing-1.0.jar, 5 bytes"]


def test_own_ivy_settings_are_passed_on(ivy: Path, checksums: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ivy.write_text('#!/bin/sh\necho "$@"; exit 1\n')
    monkeypatch.setenv("EVENKEEL_IVY_SETTINGS", "/etc/mirror.xml")
    with pytest.raises(AwayError, match=r"-settings /etc/mirror\.xml"):
        jars.fetch(COORDINATES, checksums=checksums)


@pytest.mark.slow
@pytest.mark.parametrize("said", DAMAGES)
def test_jars_that_changed_in_the_cache_are_refused_until_they_are_fetched_again(
    said: str, ivy: Path, checksums: Path
) -> None:
    (jar,) = jars.fetch(COORDINATES, checksums=checksums)
    DAMAGES[said](jar.parent)
    for _ in range(2):
        with pytest.raises(SetupError, match=f"{re.escape(str(jar.parent))}: {said}: .*Delete the folder"):
            jars.fetch(COORDINATES, checksums=checksums)
    for path in jar.parent.iterdir():
        path.unlink()
    jar.parent.rmdir()
    assert jars.fetch(COORDINATES, checksums=checksums) == [jar]


def test_jars_that_are_not_the_publishers_are_not_kept(ivy: Path, checksums: Path, tmp_path: Path) -> None:
    ivy.write_text(ivy.read_text().replace("touch", "echo other >"))
    with pytest.raises(SetupError, match=r"was not kept: thing-1\.0\.jar has the SHA-256 .*EVENKEEL_IVY_SETTINGS"):
        jars.fetch(COORDINATES, checksums=checksums)
    assert [path.name for path in (tmp_path / "cache" / "jars").iterdir()] == ["thing_2.13-1.0.lock"]


def test_jars_without_known_checksums_are_not_fetched(ivy: Path, checksums: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"no checksums of org\.example:thing_2\.13:2\.0 are known"):
        jars.fetch(["org.example:thing_2.13:2.0"], checksums=checksums)
    assert not (tmp_path / "calls").exists()


def test_everything_that_is_fetched_is_pinned() -> None:
    """After a version was changed: scripts/pin_jars.py."""
    for path, sets in (
        (jars.CHECKSUMS, [spark_packages(), kafka.COORDINATES]),
        (
            rocketmq_jars.CHECKSUMS,
            [
                *map(rocketmq_jars.rocketmq_coordinates, (rocketmq_jars.NEWEST, rocketmq_jars.OLD_LINE)),
                rocketmq_jars.PROXY,
                rocketmq_jars.GRPC_CLIENT,
            ],
        ),
    ):
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        assert all(re.fullmatch(r"[0-9a-f]{64}  \S+/\S+\.jar", line) for line in lines)
        assert {line.split()[1].partition("/")[0] for line in lines} == set(map(jars.set_name, sets))


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


def test_cache_that_cannot_be_used_is_named_with_the_way_out(
    tmp_path: Path, checksums: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("EVENKEEL_CACHE", str(tmp_path / "file" / "cache"))  # root cannot make it either
    with pytest.raises(
        SetupError, match=rf"{tmp_path}/file/cache/jars, where jars .*: Not a directory.* EVENKEEL_CACHE"
    ):
        jars.fetch(COORDINATES, checksums=checksums)
    with pytest.raises(SetupError, match=rf"{tmp_path}/file/here, where jars .*: Not a directory.* with --to"):
        jars.fetch(COORDINATES, checksums=checksums, to=tmp_path / "file" / "here")
    monkeypatch.delenv("EVENKEEL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "~nobody-of-that-name/cache")  # as ~ is for who has no home
    with pytest.raises(SetupError, match="no home folder: name a folder for jars with EVENKEEL_CACHE"):
        jars.fetch(COORDINATES, checksums=checksums)
