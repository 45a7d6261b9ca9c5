"""The command line: what is imported when, and how each end of a command looks from outside."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from streaming.cli import main
from streaming.cli.command_table import COMMANDS, FORMER

EVENKEEL = [sys.executable, "-m", "streaming"]
HEAVY = ("pyspark", "pandas", "pyarrow", "pydantic", "kafka", "deltalake", "rich", "msgspec")
HELP_LIMIT_S = 0.3


def imported_by(*words: str) -> set[str]:
    """Which of the heavy packages a command imports."""
    code = (
        "import sys\nfrom streaming.cli import main\n"
        f"try:\n    main({list(words)!r})\nexcept SystemExit:\n    pass\n"
        f"print('imported', *[name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("words", [["--help"], [], ["--version"]])
def test_help_and_version_import_nothing_heavy(words: list[str]) -> None:
    assert imported_by(*words) == set()


@pytest.mark.slow("a tenth of a second of work and more")
def test_help_is_quick() -> None:
    """By the processor's time, since the clock's depends on who else is at work."""
    took = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*EVENKEEL, "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(took) < HELP_LIMIT_S


@pytest.mark.slow("processes are started")
@pytest.mark.parametrize(
    "words",
    [
        ["config", "check", "none.toml"],
        ["replay", "none.jsonl", "--engine", "core"],
        ["collect"],
        ["forget", "g"],
        ["inspect", "--namesrv", "127.0.0.1:1"],
        ["silence", "--list"],
    ],
)
def test_commands_that_need_no_spark_do_not_import_it(words: list[str]) -> None:
    assert {"pyspark", "pandas"} & imported_by(*words) == set()


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert [name for name in COMMANDS if name not in out] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_of_its_own(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: evenkeel {name} ")


@pytest.mark.parametrize("words", [["zork"], ["config", "check", "a", "b"], ["replay"], ["jars", "--zork"]])
def test_wrong_usage_ends_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "usage: evenkeel" in capsys.readouterr().err


@pytest.mark.parametrize("name", FORMER)
def test_a_former_command_answers_with_what_to_use_now(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--config", "x.toml"])
    assert ended.value.code == 2
    assert FORMER[name] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("inspcet", "did you mean 'inspect'?"), ("colect", "did you mean 'collect'?"), ("zork", "--help' has all")],
)
def test_a_mistyped_command_gets_its_nearest(typed: str, answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([typed])
    assert answer in capsys.readouterr().err


def test_no_more_than_twenty_commands_are_left() -> None:
    assert len(COMMANDS) <= 20


def test_refusal_is_one_message_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path / "none.jsonl"), "--engine", "core"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("evenkeel: ")
    assert "none.jsonl" in err
    assert "Traceback" not in err


@pytest.mark.slow("processes are started")
@pytest.mark.parametrize("command", [["run"], ["maintain"], ["rebuild"], ["reseed", "--checkpoint", "new"]])
def test_commands_refuse_a_configuration_before_spark_is_imported(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("[job]\nshards = 0\n")
    words = [*command, "--config", str(tmp_path / "x.toml")]
    assert "pyspark" not in imported_by(*words)
    done = subprocess.run([*EVENKEEL, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"evenkeel: {tmp_path}/x.toml:2: job.shards = 0: a whole number from 1 to 4096\n"


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("--checkpoint", "data/tables/c", "a folder apart from tables.path"),
        ("--starting-offsets", "oldest", '"earliest", "latest" or JSON'),
        ("--starting-offsets", '{"another-topic": {"0": 1}}', "offsets of source.topic alone"),
    ],
)
def test_fault_of_an_option_names_the_option(
    option: str, value: str, allowed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reseed", "--checkpoint", "new", option, value]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"evenkeel: {option}: ")
    assert allowed in err


@pytest.mark.slow("processes are started")
def test_interruption_is_quiet(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "waits")
    command = [*EVENKEEL, "replay", str(tmp_path / "waits"), "--engine", "core"]
    with (
        # A shell's background jobs ignore SIGINT, and so would this test's process under one.
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process,
        (tmp_path / "waits").open("wb"),  # opens when the other side has opened it, and then it reads
    ):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "")


def test_version_names_what_it_runs_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["evenkeel", "pyspark"]
    assert lines[-1].startswith(f"Python {sys.version_info.major}.{sys.version_info.minor}.")


@pytest.mark.slow("processes are started")
@pytest.mark.parametrize(("theirs", "pool"), [({}, "system"), ({"ARROW_DEFAULT_MEMORY_POOL": "mimalloc"}, "mimalloc")])
def test_pyarrow_uses_the_c_library_unless_the_user_chose(theirs: dict[str, str], pool: str) -> None:
    code = (
        "from streaming.cli import main\nmain(['--version'])\n"
        "import pyarrow\nprint(pyarrow.default_memory_pool().backend_name)"
    )
    environ = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"} | theirs
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout.splitlines()[-1] == pool


@pytest.mark.slow("processes are started")
def test_run_as_a_script_nothing_of_ours_stands_in_for_pythons_own() -> None:
    """As spark-submit runs it: the script's folder comes first on the path, and holds an ``inspect``."""
    script = Path(__file__).parents[2] / "streaming" / "__main__.py"
    done = subprocess.run([sys.executable, script, "config", "check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
