"""Write evenkeel.1, the man page, from the parser of the command line: scripts/man_page.py FILE."""

import os
import re
import sys
from pathlib import Path

from argparse_manpage.manpage import Manpage

from streaming import __version__
from streaming.cli import parser_with
from streaming.cli.command_table import COMMANDS

os.environ["COLUMNS"] = "10000"  # man fills the lines itself


def page() -> str:
    """The page in roff. Each command has its section, which ends with its example."""
    parser = parser_with(COMMANDS)
    parser.epilog = "evenkeel --help names the folder of the docs."  # not that of this machine
    (commands,) = (action for action in parser._actions if action.choices and action.metavar == "COMMAND")
    for command in dict(commands.choices or {}).values():
        command.description = f"{command.description}\n\n{command.epilog}"
    about = {
        "project_name": "evenkeel",
        "version": __version__,
        "manual_title": "evenkeel",
        "description": "monitor of RocketMQ consumer groups",
    }
    written = str(Manpage(parser, about, format="single-commands-section"))
    written = written.replace("\nPOSITIONAL ARGUMENTS\n", "\nCOMMANDS\n")
    return re.sub(r"(?m)^'", r"\\&'", written)  # else roff takes a word in quotes for a request


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
