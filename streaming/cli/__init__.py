"""The command line. Only the module of the given command is imported: Spark takes a second."""

import argparse
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from streaming.cli.exit_status import INTERRUPTED, OWN_FAULT, READER_GONE, TERMINATED, status_of
from streaming.cli.options import readable
from streaming.cli.own_packages import require_own_packages
from streaming.cli.standard_streams import ReaderGone, standard_streams
from streaming.errors import MonitorError, OutputError

COMMANDS = {  # each is a module here, with ``run`` and, if it has options of its own, ``add_arguments``
    "inspect": "look at a RocketMQ cluster now, and say what is wrong: nothing to set up",
    "run": "watch for months, until a signal",
    "collect": "ask RocketMQ clusters, and send what they say to Kafka or a file",
    "notify": "send alerts to people, in a process apart from the job",
    "web": "show groups, alerts and their causes in a browser",
    "reload": "have a running process read its configuration again: alert rules and the level of the log",
    "silence": "get no pages about some groups for a while",
    "demo": "watch recordings of a real RocketMQ and a simulated fleet, live on a real Kafka",
    "replay": "play a recording or a file of events to its end",
    "explain": "say what was known of a group at a time, and why it alerted or not",
    "sql": "query the tables with SQL, in a shell or one query",
    "config": "print a configuration to begin with, or write it with rules and dashboards into a folder",
    "check-config": "name every fault of a configuration, or what is in effect",
    "doctor": "look at everything that evenkeel needs, and say what is wrong and what mends it",
    "conformance": "check the allocation strategies against RocketMQ's answers",
    "evaluate": "prove the detector on simulated incidents whose truth is known",
    "simulate": "write the events of a simulated fleet of any size",
    "plan": "say what a change will do to a group, before it is made",
    "maintain": "compact the tables' closed days and drop what is too old",
    "rebuild": "make every table that people read again from the facts",
    "reseed": "begin a new checkpoint without losing open alerts",
    "upgrade": "say what this version does with what an older one left, before it does it",
    "forget": "end the alerts of a consumer group that was retired",
    "jars": "fetch the jars that Spark and the demo need, now or for a machine without a network",
    "completion": "print a script that completes commands and options in your shell",
    "version": "print the versions of evenkeel and of what it runs on",
}
EXAMPLES = {  # shown at the end of the help of each
    "inspect": "evenkeel inspect --namesrv 10.0.0.1:9876 --group 'orders-*'",
    "run": "evenkeel run --config my.toml",
    "collect": "evenkeel collect --config my.toml --dry-run",
    "notify": "evenkeel notify --config my.toml --test",
    "web": "evenkeel web --config my.toml --listen 127.0.0.1:8400",
    "reload": "evenkeel reload 4711",
    "silence": "evenkeel silence --config my.toml --group 'orders-*' --for 2h --by 'Li Wei' --why 'new hosts'",
    "demo": "evenkeel demo --seconds 90",
    "replay": "evenkeel replay recorded.jsonl.gz --engine core --json",
    "explain": "evenkeel explain orders --cluster prod --at 30m --config my.toml",
    "sql": "evenkeel sql --config my.toml --csv -c 'SELECT * FROM queue_assignments'",
    "config": "evenkeel config init > my.toml",
    "check-config": "evenkeel check-config my.toml --online",
    "doctor": "evenkeel doctor --config my.toml",
    "conformance": "evenkeel conformance vectors.jsonl.gz",
    "evaluate": "evenkeel evaluate --incidents 20 --healthy 100 --seed 7",
    "simulate": "evenkeel simulate --groups 50 --faults all --to - | gzip > events.jsonl.gz",
    "plan": "evenkeel inspect --namesrv 10.0.0.1:9876 --json | evenkeel plan --from - --group orders --join 2",
    "maintain": "evenkeel maintain --config my.toml",
    "rebuild": "evenkeel rebuild --config my.toml",
    "reseed": "evenkeel reseed --config my.toml --checkpoint data/checkpoint-2",
    "upgrade": "evenkeel upgrade --check --config my.toml",
    "forget": "evenkeel forget orders --cluster prod --config my.toml",
    "jars": "evenkeel jars fetch --to evenkeel-jars",
    "completion": "evenkeel completion bash > ~/.local/share/bash-completion/completions/evenkeel",
    "version": "evenkeel version",
}
# pyarrow's own pool (mimalloc) keeps what it once had: 30 to 70 MB in the job. With the C library the projections had
# 66 MB less for the same commits. pyarrow reads this when it is imported, and processes that we start inherit it.
ARROW_POOL = ("ARROW_DEFAULT_MEMORY_POOL", "system")
DOCS = Path(__file__).parents[1] / "docs"
WITHOUT_CONFIG = ("demo", "config", "reload", "check-config", "conformance", "jars", "completion", "version")


class Terminated(KeyboardInterrupt):
    """Raised for SIGTERM. It ends a command like Ctrl-C: the cursor is shown again, temporary folders are deleted."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status (``exit_status``), with the reason on standard error."""
    words = sys.argv[1:] if argv is None else argv
    os.environ.setdefault(*ARROW_POOL)
    with _termination_raised():
        return status_after(lambda: _run(words))


def status_after(work: Callable[[], int]) -> int:
    """The exit status of a command whose work this is. Why it did not end well is on standard error."""
    try:
        with standard_streams():
            return _answered(work)
    except OutputError as error:
        return _refused(error)
    except ReaderGone:
        return READER_GONE
    except Terminated:
        return TERMINATED
    except KeyboardInterrupt:
        return INTERRUPTED


def _answered(work: Callable[[], int]) -> int:
    try:
        return work()
    except (OutputError, ReaderGone):
        raise
    except MonitorError as error:
        if isinstance(error.__cause__, BrokenPipeError):  # of a file that is standard output
            raise ReaderGone from None
        return _refused(error)
    except Exception:  # Python would end with 1, which means that a finding is wrong
        traceback.print_exc()
        return OWN_FAULT


def _refused(error: MonitorError) -> int:
    from streaming.wording.names import plain_lines

    if sys.stderr is not None:  # it may have been closed at the start; print() would use standard output then
        with suppress(OSError):
            print(f"evenkeel: {plain_lines(str(error))}", file=sys.stderr, flush=True)
    return status_of(error)


@contextmanager
def _termination_raised() -> Iterator[None]:
    """Raise Terminated in the main thread at the first SIGTERM, unless the signal is ignored or has another handler."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    process = os.getpid()

    def terminate(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
        if os.getpid() != process:  # a forked process has nothing to close
            signal.raise_signal(number)
        raise Terminated

    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _run(words: Sequence[str]) -> int:
    require_own_packages()
    parser = parser_with([word for word in words if not word.startswith("-")][:1])
    arguments = parser.parse_args(words)
    if arguments.show_version:
        from streaming.cli.version import evenkeel

        print(evenkeel())
        return 0
    if "run" not in arguments:
        parser.print_help()
        return 0
    return int(arguments.run(arguments))


def parser_with(commands_in_full: Collection[str]) -> argparse.ArgumentParser:
    """The parser. It knows the options of ``commands_in_full`` only, whose modules are imported."""
    parser = argparse.ArgumentParser(
        prog="evenkeel",
        description="Watches how RocketMQ consumer groups share out message queues.",
        epilog=f"evenkeel COMMAND --help says more about a command.\nThe folder docs/: {DOCS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="store_true", dest="show_version", help="print evenkeel's version and commit"
    )
    commands = parser.add_subparsers(metavar="COMMAND")
    for name, text in COMMANDS.items():
        if name in commands_in_full:
            _add_command(commands, name)
        else:
            commands.add_parser(name, help=text)
    return parser


class _Help(argparse.HelpFormatter):
    """The format of help. An example stays in one line, so that it can be pasted."""

    EXAMPLE = "example:"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(self.EXAMPLE) else super()._fill_text(text, width, indent)


def _add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str) -> None:
    module = import_module(f"streaming.cli.{name.replace('-', '_')}")
    example = f"{_Help.EXAMPLE}\n  {EXAMPLES[name]}"
    parser = commands.add_parser(
        name, help=COMMANDS[name], description=module.__doc__, epilog=example, formatter_class=_Help
    )
    parser.set_defaults(run=module.run)
    if hasattr(module, "add_arguments"):
        module.add_arguments(parser)
    if name not in WITHOUT_CONFIG:
        parser.add_argument(
            "--config",
            type=readable,
            metavar="FILE",
            help="the configuration, - for standard input; without it, the defaults and EVENKEEL__SECTION__KEY of the "
            "environment",
        )
