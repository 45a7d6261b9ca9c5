"""Print a configuration to begin with, check one, or write one with alert rules, Prometheus's rules, a dashboard and
systemd's units into a folder.
"""

import argparse
from pathlib import Path

from streaming import __version__
from streaming.cli.exit_status import AWAY, DONE, REFUSED
from streaming.cli.options import readable
from streaming.config.alerts import Alerts
from streaming.config.config_errors import ConfigFaults
from streaming.config.effect import differences, summary
from streaming.config.load import faults_of_alerts, load_alerts, read_config
from streaming.config.sections import Config
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
    check = actions.add_parser(
        "check", help="read one as every command would, and name every fault, or what is in effect"
    )
    check.add_argument(
        "file", type=readable, nargs="?", metavar="FILE", help="- is standard input; without it, the environment alone"
    )
    check.add_argument(
        "--online",
        action="store_true",
        help="ask, for 10 s at most, whether Kafka, the name servers and the sinks take a connection; end with 3 if "
        "one does not",
    )


def run(arguments: argparse.Namespace) -> int:
    """0; of ``check`` 2 if it is refused, and with --online 3 if a host does not answer. Raises OutputError if a file
    cannot be written, or is there with other content.
    """
    if arguments.action == "check":
        return _check(arguments.file, arguments.online)
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


def _check(file: Path | None, online: bool) -> int:
    try:
        loaded = read_config(file)
        alerts = load_alerts(loaded.config)
    except ConfigFaults as refused:
        print(refused)
        for fault in faults_of_alerts(refused.rest):
            print(fault)
        return REFUSED
    print("ok")
    print("\nOther than the defaults:")
    for line in list(differences(loaded)) or ["nothing"]:
        print(f"  {line}")
    print("\nIn effect:")
    for line in summary(loaded.config):
        print(f"  {line}")
    return _ask(loaded.config, alerts) if online else DONE


def _ask(config: Config, alerts: Alerts) -> int:
    from streaming.doctor.hosts import ask_all, hosts_of

    print("\nHosts:")
    status = DONE
    for host, failure in ask_all(hosts_of(config, alerts)):
        print(f"  {host}: {'takes a connection' if failure is None else f'NO ANSWER: {failure}'}")
        status = status if failure is None else AWAY
    return status
