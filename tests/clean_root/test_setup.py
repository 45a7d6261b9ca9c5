"""``make setup`` and ``make demo`` where nothing but git, make and python3 is installed, and what a set-up that fails
prints last. ``make test-clean-root`` runs this: it fetches some 800 MB a Debian, and needs 4 GB of disk.
"""

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clean_root.root import CHECKOUT, copy_of, in_root, make_root, missing

pytestmark = [pytest.mark.slow("a clean Debian"), pytest.mark.timeout(1200)]
STEPS = ["System packages: ", "Java: ", "Python environment, ", "Installer ", "Packages ", "evenkeel ", "Jars "]
A_STEP = re.compile(r"(.+) \.\.\. (\d+) s, (\d+) MB")
MAKE = ("make", "--no-print-directory", "-C", CHECKOUT)
Checkout = Callable[[str], Path]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """The clean root of a Debian, made once."""
    if reason := missing():
        pytest.skip(reason)
    made: dict[str, Path] = {}

    def root_of(suite: str) -> Path:
        if suite not in made:
            made[suite] = make_root(suite, tmp_path_factory.mktemp("clean"))
        return made[suite]

    yield root_of
    for root in made.values():
        subprocess.run(["rm", "-rf", "--one-file-system", root], check=True)


@pytest.fixture
def checkout(clean: Callable[[str], Path], tmp_path: Path) -> Iterator[Checkout]:
    """A copy of such a root with a checkout in it; it is deleted at once, because it is large."""

    def of(suite: str) -> Path:
        return copy_of(clean(suite), tmp_path / "root")

    yield of
    subprocess.run(["rm", "-rf", "--one-file-system", tmp_path / "root"], check=True)


def make(root: Path, *words: str, **how: object) -> subprocess.CompletedProcess[str]:
    command = in_root(root, [*MAKE, *words], **how)  # type: ignore[arg-type]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def last_line(printed: str) -> str:
    """The last line of a set-up that failed, before make's own."""
    return [line for line in printed.splitlines() if not line.startswith("make: ***")][-1]


@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_two_commands_are_enough(checkout: Checkout, suite: str) -> None:
    root = checkout(suite)
    environment = root / CHECKOUT[1:] / ".venv"
    environment.mkdir()  # half made, as Debian leaves it where the package python3-venv is missing
    (environment / "pyvenv.cfg").touch()
    done = make(root, "setup")
    lines = done.stdout.splitlines()
    print(suite, *lines, sep="\n")
    assert done.returncode == 0
    assert [line for line, step in zip(lines, STEPS, strict=False) if not line.startswith(step)] == []
    assert len(lines) == len(STEPS) + 1
    steps = [A_STEP.fullmatch(line) for line in lines if " ... " in line]
    assert None not in steps
    packages = {path.name for path in environment.glob("lib/python3*/site-packages/*")}
    assert {"pyspark", "kafka", "duckdb", "apprise"} <= packages
    assert packages & {"pytest", "mypy", "matplotlib"} == set()
    assert {path.name for path in (root / "tmp").iterdir()} <= {"hsperfdata_root"}  # Java's own
    again = make(root, "setup")
    assert (again.stdout, again.returncode) == ("", 0)
    demo = make(root, "demo", "SECONDS=30")
    assert demo.returncode == 0, demo.stdout[-3000:]
    assert "http://127.0.0.1:" in demo.stdout
    assert re.search(r"\d+ records played, \d+ alerts fired", demo.stdout)


def interrupted(root: Path, at: str, count: int) -> str:
    """What a set-up printed that got Ctrl-C when there were as many such paths below .venv."""
    command = in_root(root, [*MAKE, "setup"])
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        while len(list((root / CHECKOUT[1:] / ".venv").glob(at))) < count:
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.02)
        subprocess.run(["pkill", "-INT", "--session", str(process.pid)], check=True)
        printed = process.stdout.read()
    assert process.returncode != 0
    return printed


def test_a_set_up_that_was_interrupted_goes_on(checkout: Checkout) -> None:
    """At each of its long steps: a half-made environment, a half-unpacked uv, and some packages that had come."""
    root = checkout("trixie")
    packages = "lib/python3*/site-packages"
    for at, count in ((f"{packages}/pip/_vendor/", 1), (f"{packages}/uv*/", 1), ("cache/archive-v*/*/", 20)):
        assert last_line(interrupted(root, at, count)) == "make setup: Interrupted. The same command goes on.", at
    done = make(root, "setup")
    assert done.returncode == 0, done.stdout
    log = (root / CHECKOUT[1:] / "setup.log").read_text()
    prepared, installed = (
        sum(map(int, re.findall(rf"{word} (\d+) packages?", log))) for word in ("Prepared", "Installed")
    )
    assert 0 < prepared < installed, log  # the others were there from before
    works = in_root(root, [f"{CHECKOUT}/.venv/bin/python", "-m", "pip", "check"])
    assert subprocess.run(works, capture_output=True, text=True).stdout == "No broken requirements found.\n"


SMALL_DISK = f"""mount -t tmpfs -o size=1g tmpfs "$1/mnt"
cp -a "$1{CHECKOUT}" "$1/mnt/"
mount --bind "$1/mnt/evenkeel" "$1{CHECKOUT}"
"""
FILLED_MEANWHILE = f"{SMALL_DISK}sed -i 's/\\[run\\]=2600/[run]=1/' \"$1{CHECKOUT}/scripts/setup\"\n"
NETWORK = r"the network does not give what is needed\. Check it, .* goes on\. .*setup\.log"
FAULTS: dict[str, tuple[dict[str, object], str]] = {
    "no network": ({"network": False}, NETWORK),
    "no index of packages": ({"network": False}, NETWORK),
    "no space": (
        {"before": SMALL_DISK},
        rf"\d+ MB more are needed where {CHECKOUT} is: 2600 MB .*, \d+ MB are free\. .*larger disk",
    ),
    "no space any more": (
        {"before": FILLED_MEANWHILE},
        rf"the disk is full: free 1 MB where {CHECKOUT} is, then the same command goes on\. .*setup\.log",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_last_line_of_a_set_up_that_fails_says_what_to_do(checkout: Checkout, fault: str) -> None:
    root = checkout("trixie")
    if fault == "no index of packages":  # Debian's own packages were there
        for words in ("update", "install -y --no-install-recommends python3-venv openjdk-21-jre-headless"):
            subprocess.run(in_root(root, ["apt-get", "-qq", *words.split()]), check=True, capture_output=True)
    how, expected = FAULTS[fault]
    done = make(root, "setup", **how)
    assert done.returncode != 0
    assert re.fullmatch(f"make setup: {expected}", last_line(done.stdout)), done.stdout
    assert len(done.stdout.splitlines()) < 20


def test_who_may_not_install_is_given_the_command(checkout: Checkout) -> None:
    root = checkout("trixie")
    subprocess.run(in_root(root, ["chown", "-R", "nobody", CHECKOUT]), check=True)
    as_nobody = ["env", "HOME=/srv", "setpriv", "--reuid=nobody", "--clear-groups", *MAKE, "setup"]
    done = subprocess.run(in_root(root, as_nobody), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    command = "sudo apt-get update && sudo apt-get install python3-venv openjdk-"
    assert f"make setup: missing: run {command}" in last_line(done.stdout)
