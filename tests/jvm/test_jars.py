"""Jars are fetched once, completely or not at all. A server of this process is the repository: no network here."""

import errno
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from streaming.errors import AwayError, SetupError
from streaming.jvm import ivy, jars, maven
from streaming.jvm.pins import PINS, all_pinned, set_name
from streaming.loopback import kafka
from streaming.loopback.ports import free_port
from streaming.spark.packages import spark_packages
from testing.rocketmq import jars as rocketmq_jars
from testing.stores import jars as store_jars

COORDINATES = ["org.example:thing_2.13:1.0"]
OF_ALL = {
    "org.example:thing_2.13:1.0": b"what Scala made",
    "org.example.native:code:2.0:linux-x86_64": b"what C made",
}
FILES = {"thing_2.13-1.0.jar", "code-2.0-linux-x86_64.jar"}
PATHS = {
    "/m2/org/example/thing_2.13/1.0/thing_2.13-1.0.jar": b"what Scala made",
    "/m2/org/example/native/code/2.0/code-2.0-linux-x86_64.jar": b"what C made",
}
RIGHT = sha256(b"what C made").hexdigest()


def write_other_bytes(folder: Path) -> None:
    (folder / "code-2.0-linux-x86_64.jar").write_bytes(b"something else")


DAMAGES: dict[str, Callable[[Path], object]] = {
    f"code-2.0-linux-x86_64.jar has the SHA-256 [0-9a-f]{{64}}, and {RIGHT} is right": write_other_bytes,
    "code-2.0-linux-x86_64.jar is missing": lambda folder: (folder / "code-2.0-linux-x86_64.jar").unlink(),
    "more.jar is not one of its jars": lambda folder: (folder / "more.jar").touch(),
}


class Repository(ThreadingHTTPServer):
    """It gives these files, and remembers each request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.files = dict(PATHS)
        self.requests: list[str] = []
        self.fails_first = 0
        self.cut_first = 0  # an answer that ends too early
        self.kind = "application/java-archive"
        self.address = f"http://127.0.0.1:{self.server_port}/m2/"


class Answer(BaseHTTPRequestHandler):
    server: Repository

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        if len(self.server.requests) <= self.server.fails_first:
            self.send_response(503)
            self.end_headers()
            return
        content = self.server.files.get(self.path)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Type", self.server.kind)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        cut = len(self.server.requests) <= self.server.cut_first
        self.wfile.write((content or b"")[: 3 if cut else None])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    monkeypatch.setenv("EVENKEEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(maven, "LONGEST_PAUSE_S", 0)
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with Repository() as server:
        monkeypatch.setattr(ivy, "repository", lambda: server.address)
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def pins(tmp_path: Path) -> Path:
    path = tmp_path / "jars.toml"
    lines = [f'"{one}" = "{sha256(content).hexdigest()}"\n' for one, content in OF_ALL.items()]
    path.write_text("".join([f'# a comment\n\n["{set_name(COORDINATES)}"]\n', *lines]))
    return path


def names(found: list[Path]) -> set[str]:
    return {path.name for path in found}


def test_second_fetch_reads_the_cache(repository: Repository, pins: Path, tmp_path: Path) -> None:
    found = jars.fetch(COORDINATES, pins)
    assert names(found) == FILES
    assert {path.parent for path in found} == {tmp_path / "cache" / "jars" / "thing_2.13-1.0"}
    assert jars.fetch(COORDINATES, pins) == found
    assert sorted(repository.requests) == sorted(PATHS)


def test_fetches_at_the_same_time_download_once(repository: Repository, pins: Path) -> None:
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(lambda c: jars.fetch(c, pins), [COORDINATES, COORDINATES])
    assert first == second
    assert len(repository.requests) == len(PATHS)


def test_a_jar_that_is_not_there_is_named_and_no_folder_of_jars_is_left(
    repository: Repository, pins: Path, tmp_path: Path
) -> None:
    *_, lost = PATHS
    del repository.files[lost]
    with pytest.raises(AwayError, match=rf"{lost} cannot be fetched \(HTTP 404\).*EVENKEEL_IVY_SETTINGS"):
        jars.fetch(COORDINATES, pins)
    assert not (tmp_path / "cache" / "jars" / "thing_2.13-1.0").exists()


def test_a_repository_that_does_not_answer_is_named(
    repository: Repository, pins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ivy, "repository", lambda: f"http://127.0.0.1:{free_port()}/")
    with pytest.raises(AwayError, match=r"http://127\.0\.0\.1:\d+/org/example/.* cannot be fetched .*refused"):
        jars.fetch(COORDINATES, pins)


def test_a_jar_is_asked_for_again_when_the_repository_is_busy(repository: Repository, pins: Path) -> None:
    repository.fails_first = maven.TRIES - 1
    assert names(jars.fetch(COORDINATES, pins)) == FILES


def test_an_answer_that_was_cut_short_is_asked_for_again(repository: Repository, pins: Path) -> None:
    repository.cut_first = maven.TRIES - 1
    assert names(jars.fetch(COORDINATES, pins)) == FILES


def test_a_jar_that_drips_is_given_up(repository: Repository, pins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maven, "TIME_LIMIT_S", -1)
    with pytest.raises(AwayError, match=r"cannot be fetched \(\d+ bytes in -1 s\)"):
        jars.fetch(COORDINATES, pins)


def test_a_full_disk_is_no_fault_of_the_network(
    repository: Repository, pins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(maven, "_download", full)
    with pytest.raises(SetupError, match=rf"{tmp_path}/cache/jars, where jars .*: No space left on device"):
        jars.fetch(COORDINATES, pins)


def test_a_page_in_place_of_a_jar_is_named_as_such(repository: Repository, pins: Path) -> None:
    repository.kind = "text/html; charset=utf-8"
    repository.files = dict.fromkeys(PATHS, b"<html>Please log in")
    with pytest.raises(SetupError, match=r"It is a page: does the network ask for a log-in\?"):
        jars.fetch(COORDINATES, pins)


def test_fetch_that_was_interrupted_continues_with_the_jars_that_had_come(
    repository: Repository, pins: Path, tmp_path: Path
) -> None:
    *_, lost = PATHS
    del repository.files[lost]
    with pytest.raises(AwayError):
        jars.fetch(COORDINATES, pins)
    scratch = tmp_path / "cache" / "jars" / ".fetching-thing_2.13-1.0" / "jars"
    (scratch / "code-2.0-linux-x86_64.jar").write_bytes(b"damaged")
    (scratch / "more.part").touch()
    repository.files[lost] = PATHS[lost]
    repository.requests.clear()
    jars.fetch(COORDINATES, pins)
    assert repository.requests == [lost]
    left = sorted(path.name for path in (tmp_path / "cache" / "jars").iterdir())
    assert left == ["thing_2.13-1.0", "thing_2.13-1.0.lock"]


def test_a_jar_without_end_is_given_up(repository: Repository, pins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maven, "MOST_BYTES", 10)
    with pytest.raises(SetupError, match="has more than 10 bytes"):
        jars.fetch(COORDINATES, pins)


def test_jars_of_a_named_folder_need_no_network(repository: Repository, pins: Path, tmp_path: Path) -> None:
    found = jars.fetch(COORDINATES, pins, to=tmp_path / "mine")
    copied = Path(shutil.copytree(tmp_path / "mine", tmp_path / "copied"))
    repository.files.clear()
    assert {path.parent for path in found} == {tmp_path / "mine" / "thing_2.13-1.0"}
    assert names(jars.kept_in(copied, COORDINATES, pins)) == FILES
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("said", DAMAGES)
def test_jars_of_a_named_folder_that_are_not_right_are_refused(
    said: str, repository: Repository, pins: Path, tmp_path: Path
) -> None:
    folder = jars.fetch(COORDINATES, pins, to=tmp_path)[0].parent
    DAMAGES[said](folder)
    with pytest.raises(SetupError, match=rf"{folder}: {said}\. .*evenkeel jars fetch --to DIR"):
        jars.kept_in(tmp_path, COORDINATES, pins)
    with pytest.raises(SetupError, match=rf"{tmp_path}/none/thing_2.13-1.0: code-2\.0-linux-x86_64\.jar is missing"):
        jars.kept_in(tmp_path / "none", COORDINATES, pins)


def test_jars_are_named_with_their_bytes_as_they_come(
    repository: Repository, pins: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    jars.fetch(COORDINATES, pins)
    head, *lines = capfd.readouterr().err.splitlines()
    assert head.startswith("evenkeel: fetching 2 jars into ")
    assert lines == ["evenkeel:   thing_2.13-1.0.jar, 15 bytes", "evenkeel:   code-2.0-linux-x86_64.jar, 11 bytes"]


@pytest.mark.parametrize("said", DAMAGES)
def test_jars_that_changed_in_the_cache_are_refused_until_they_are_fetched_again(
    said: str, repository: Repository, pins: Path
) -> None:
    found = jars.fetch(COORDINATES, pins)
    folder = found[0].parent
    DAMAGES[said](folder)
    for _ in range(2):
        with pytest.raises(SetupError, match=f"{re.escape(str(folder))}: {said}: .*Delete the folder"):
            jars.fetch(COORDINATES, pins)
    shutil.rmtree(folder)
    assert jars.fetch(COORDINATES, pins) == found


def test_jars_that_are_not_the_publishers_are_not_kept(repository: Repository, pins: Path, tmp_path: Path) -> None:
    *_, changed = PATHS
    repository.files[changed] = b"other"
    with pytest.raises(SetupError, match=rf"{changed} is not what .* was not kept: it has the SHA-256 .*{RIGHT}"):
        jars.fetch(COORDINATES, pins)
    assert [path.name for path in (tmp_path / "cache" / "jars").rglob("code*")] == []


def test_jars_without_known_checksums_are_not_fetched(repository: Repository, pins: Path) -> None:
    with pytest.raises(SetupError, match=r"no checksums of org\.example:thing_2\.13:2\.0 are known"):
        jars.fetch(["org.example:thing_2.13:2.0"], pins)
    assert repository.requests == []


def test_everything_that_is_fetched_is_pinned() -> None:
    """After a version was changed: scripts/pin_jars.py."""
    of_rocketmq = [
        *map(rocketmq_jars.rocketmq_coordinates, (rocketmq_jars.NEWEST, rocketmq_jars.OLD_LINE)),
        rocketmq_jars.PROXY,
        rocketmq_jars.GRPC_CLIENT,
    ]
    for path, sets in (
        (PINS, [spark_packages(), kafka.COORDINATES]),
        (rocketmq_jars.PINS, of_rocketmq),
        (store_jars.PINS, [store_jars.COORDINATES]),
    ):
        found = all_pinned(path)
        assert found.keys() == set(map(set_name, sets))
        for coordinates in sets:
            pinned = found[set_name(coordinates)]
            assert set(coordinates) <= {jar.coordinates for jar in pinned}
            assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) for jar in pinned)
            assert len({jar.file for jar in pinned}) == len(pinned)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"EVENKEEL_CACHE": "/a"}, "/a"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/evenkeel"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/c"}, "/c/.cache/evenkeel"),  # as the XDG specification says
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


def no_home(path: Path) -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_cache_that_cannot_be_used_is_named_with_the_way_out(
    tmp_path: Path, pins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("EVENKEEL_CACHE", str(tmp_path / "file" / "cache"))  # root cannot make it either
    with pytest.raises(
        SetupError, match=rf"{tmp_path}/file/cache/jars, where jars .*: Not a directory.* EVENKEEL_CACHE"
    ):
        jars.fetch(COORDINATES, pins)
    with pytest.raises(SetupError, match=rf"{tmp_path}/file/here, where jars .*: Not a directory.* with --to"):
        jars.fetch(COORDINATES, pins, to=tmp_path / "file" / "here")
    monkeypatch.delenv("EVENKEEL_CACHE")
    monkeypatch.setattr(Path, "expanduser", no_home)
    with pytest.raises(SetupError, match="no home folder: name a folder for jars with EVENKEEL_CACHE"):
        jars.fetch(COORDINATES, pins)
