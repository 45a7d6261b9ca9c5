"""``make setup`` and ``make demo`` where nothing but git, make and python3 is installed, and what a set-up that fails
prints last. ``make test-clean-root`` runs this: it fetches some 800 MB a Debian, and needs 4 GB of disk.
"""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clean_root.root import CHECKOUT, copy_of, in_root, make_root, missing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
STEPS = ["System packages: ", "Java: ", "Python environment, ", "Installer ", "Packages ", "evenkeel ", "Jars "]
A_STEP = re.compile(r"(.+) \.\.\. (\d+) s, (\d+) MB")
MAKE = ("make", "--no-print-directory", "-C", CHECKOUT)
Checkout = Callable[[str], Path]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The clean root of a Debian, made once."""
    if reason := missing():
        pytest.skip(reason)
    made: dict[str, Path] = {}

    def root_of(suite: str) -> Path:
        if suite not in made:
            made[suite] = make_root(suite, tmp_path_factory.mktemp("clean"))
        return made[suite]

    return root_of


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


def test_a_set_up_that_was_interrupted_goes_on(checkout: Checkout) -> None:
    root = checkout("trixie")
    cache = root / CHECKOUT[1:] / ".venv" / "cache"
    command = in_root(root, [*MAKE, "setup"])
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        printed = ""
        while "Packages" not in printed:
            letter = process.stdout.read(1)
            assert letter, printed
            printed += letter
        while not any(cache.glob("archive-v*/*/")):  # some packages have come, and Spark has not
            assert process.poll() is None, process.stdout.read()
        subprocess.run(["pkill", "-INT", "--session", str(process.pid)], check=True)  # as Ctrl-C does
        printed += process.stdout.read()
    assert process.returncode != 0
    assert last_line(printed) == "make setup: Interrupted. The same command goes on."
    kept = {path.name for path in cache.glob("archive-v*/*/")}
    assert kept
    done = make(root, "setup")
    assert done.returncode == 0, done.stdout
    assert "Python environment" not in done.stdout
    works = in_root(root, [f"{CHECKOUT}/.venv/bin/python", "-m", "pip", "check"])
    assert subprocess.run(works, capture_output=True, text=True).stdout == "No broken requirements found.\n"


FULL = f"""mount -t tmpfs -o size=1g tmpfs "$1/mnt"
cp -a "$1{CHECKOUT}" "$1/mnt/"
mount --bind "$1/mnt/evenkeel" "$1{CHECKOUT}"
"""
FAULTS = {
    "no network": (
        {"network": False},
        r"the network gives no answer, or not all of it\. Check it, .* goes on\. .*setup\.log",
    ),
    "no space": (
        {"before": FULL},
        r"\d+ MB more are needed where /root/evenkeel is: 2600 MB .*, \d+ MB are free\. .*larger disk",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_last_line_of_a_set_up_that_fails_says_what_to_do(checkout: Checkout, fault: str) -> None:
    root = checkout("trixie")
    if fault == "no network":  # what Debian's own packages need was there: the index of packages is away
        install = [
            "apt-get",
            "install",
            "-y",
            "-qq",
            "--no-install-recommends",
            "python3-venv",
            "openjdk-21-jre-headless",
        ]
        subprocess.run(in_root(root, ["apt-get", "update", "-qq"]), check=True, capture_output=True)
        subprocess.run(in_root(root, install), check=True, capture_output=True)
    how, expected = FAULTS[fault]
    done = make(root, "setup", **how)
    assert done.returncode != 0
    assert re.fullmatch(f"make setup: {expected}", last_line(done.stdout)), done.stdout
    assert len(done.stdout.splitlines()) < 20


def test_who_may_not_install_is_given_the_command(checkout: Checkout) -> None:
    root = checkout("trixie")
    subprocess.run(in_root(root, ["chown", "-R", "nobody", "/root"]), check=True)
    as_nobody = ["setpriv", "--reuid=nobody", "--clear-groups", *MAKE, "setup"]
    done = subprocess.run(in_root(root, as_nobody), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    command = "sudo apt-get update && sudo apt-get install python3-venv openjdk-"
    assert f"make setup: missing: run {command}" in last_line(done.stdout)
