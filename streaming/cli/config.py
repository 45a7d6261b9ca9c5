"""Give the files to begin with: a configuration, alert rules, Prometheus's rules, a dashboard, systemd's units."""

import argparse
from pathlib import Path

from streaming import __version__
from streaming.cli.exit_status import DONE
from streaming.errors import OutputError

CONF = Path(__file__).parents[1] / "conf"
UNITS = Path(__file__).parents[1] / "units"
CONFIGURATION = CONF / "evenkeel.toml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("init", help="print a configuration with every key at its default, and what it means")
    export = actions.add_parser(
        "export", help="write that, alert rules, and what Prometheus, Grafana and systemd need, into a folder"
    )
    export.add_argument("folder", type=Path, metavar="DIR", help="it is made if need be; no file in it is overwritten")


def run(arguments: argparse.Namespace) -> int:
    """0. Raises OutputError if a file cannot be written, or is there with other content."""
    if arguments.action == "init":
        print(CONFIGURATION.read_text(encoding="utf-8"), end="")
    else:
        _export(arguments.folder)
    return DONE


def _export(folder: Path) -> None:
    contents = {path.relative_to(CONF): path.read_bytes() for path in sorted(CONF.rglob("*")) if path.is_file()}
    contents |= {Path("systemd", path.name): path.read_bytes() for path in sorted(UNITS.iterdir())}
    try:
        others = [name for name, content in contents.items() if _is_other(folder / name, content)]
        if others:
            raise OutputError(
                f"{folder} has other files of these names, and none was overwritten: {', '.join(map(str, others))}. "
                f"Name another folder, and compare: its files are of evenkeel {__version__}"
            )
        for name, content in contents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
            print(folder / name)
    except OSError as error:
        raise OutputError(f"{error.filename or folder} cannot be written: {error.strerror or error}") from error


def _is_other(path: Path, content: bytes) -> bool:
    """True if something else is at this path."""
    return path.is_symlink() or (path.exists() and not (path.is_file() and path.read_bytes() == content))
