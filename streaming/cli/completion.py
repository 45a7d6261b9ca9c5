"""Print a script that completes commands, options and files in your shell: evenkeel completion bash > FILE."""

import argparse
from collections.abc import Iterator

import shtab

from streaming.cli import parser_with
from streaming.cli.command_table import COMMANDS

SHELLS = ("bash", "zsh", "tcsh")
COMPLETED = {"FILE": shtab.FILE, "DIR": shtab.DIRECTORY}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="which shell it is for")


def run(arguments: argparse.Namespace) -> int:
    """0, always. The script is on standard output."""
    print(script(arguments.shell))
    return 0


def script(shell: str) -> str:
    """The script. It is complete in itself: Tab does not start evenkeel."""
    parser = parser_with(COMMANDS)
    for name, command in _commands(parser):
        if name in COMMANDS:
            command.description = COMMANDS[name].text  # one line beside each command
        for action in command._actions:
            if action.metavar in COMPLETED:
                action.complete = COMPLETED[action.metavar]  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell))


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield name, command
                yield from _commands(command)
