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

from streaming.cli.command_table import COMMANDS, no_such_command, overview
from streaming.cli.exit_status import INTERRUPTED, OWN_FAULT, READER_GONE, TERMINATED, status_of
from streaming.cli.options import readable
from streaming.cli.own_packages import require_own_packages
from streaming.cli.standard_streams import ReaderGone, standard_streams
from streaming.errors import MonitorError, OutputError

# pyarrow's own pool (mimalloc) keeps what it once had: 30 to 70 MB in the job. With the C library the projections had
# 66 MB less for the same commits. pyarrow reads this when it is imported, and processes that we start inherit it.
ARROW_POOL = ("ARROW_DEFAULT_MEMORY_POOL", "system")
DOCS = Path(__file__).parents[1] / "docs"


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
    named = next((word for word in words if not word.startswith("-")), None)
    parser = parser_with([] if named is None else [named])
    if named is not None and named not in COMMANDS:
        parser.error(no_such_command(named))
    arguments = parser.parse_args(words)
    if arguments.show_version:
        from streaming.cli.version import lines

        print("\n".join(lines()))
        return 0
    if "run" not in arguments:
        parser.print_help()
        return 0
    return int(arguments.run(arguments))


def parser_with(commands_in_full: Collection[str]) -> argparse.ArgumentParser:
    """The parser. It knows the options of ``commands_in_full`` only, whose modules are imported."""
    parser = argparse.ArgumentParser(
        prog="evenkeel",
        usage="evenkeel [--help] [--version] COMMAND ...",
        description="Watches how RocketMQ consumer groups share out message queues.",
        epilog=f"{overview()}\n\nevenkeel COMMAND --help says more about a command.\nThe folder docs/: {DOCS}",
        formatter_class=_Overview,
    )
    parser.add_argument(
        "--version",
        action="store_true",
        dest="show_version",
        help="print the versions of evenkeel, with its commit, and of what it runs on",
    )
    commands = parser.add_subparsers(prog="evenkeel", metavar="COMMAND")
    for name, command in COMMANDS.items():
        if name in commands_in_full:
            _add_command(commands, name)
        else:
            commands.add_parser(name, help=command.text)
    return parser


class _Overview(argparse.RawDescriptionHelpFormatter):
    """The format of ``evenkeel --help``. The commands stand in groups at its end, and not among the options."""

    def _format_action(self, action: argparse.Action) -> str:
        return "" if isinstance(action, argparse._SubParsersAction) else super()._format_action(action)


class _Help(argparse.HelpFormatter):
    """The format of help. An example stays in one line, so that it can be pasted."""

    EXAMPLE = "example:"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(self.EXAMPLE) else super()._fill_text(text, width, indent)


def _add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str) -> None:
    module = import_module(f"streaming.cli.{name}")
    command = COMMANDS[name]
    example = f"{_Help.EXAMPLE}\n  {command.example}"
    parser = commands.add_parser(
        name, help=command.text, description=module.__doc__, epilog=example, formatter_class=_Help
    )
    parser.set_defaults(run=module.run)
    if hasattr(module, "add_arguments"):
        module.add_arguments(parser)
    if command.takes_config:
        parser.add_argument(
            "--config",
            type=readable,
            metavar="FILE",
            help="the configuration, - for standard input; without it, the defaults and EVENKEEL__SECTION__KEY of the "
            "environment",
        )
