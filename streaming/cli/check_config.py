"""Read a configuration as every command would, and name every fault of it, or say what is in effect.

With --online, ask also whether the hosts that it names take a connection now.
"""

import argparse

from streaming.cli.exit_status import AWAY, DONE, REFUSED
from streaming.cli.options import readable
from streaming.config.alerts import Alerts
from streaming.config.config_errors import ConfigFaults
from streaming.config.effect import differences, summary
from streaming.config.load import faults_of_alerts, load_alerts, read_config
from streaming.config.sections import Config


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=readable, nargs="?", metavar="FILE", help="- is standard input; without it, the environment alone"
    )
    parser.add_argument(
        "--online",
        action="store_true",
        help="ask, for 10 s at most, whether Kafka, the name servers and the sinks take a connection; end with 3 if "
        "one does not",
    )


def run(arguments: argparse.Namespace) -> int:
    """0 if it is accepted, with the alert rules that it names; else 2, and a line for each fault of both. With --online
    3 if a host does not answer.
    """
    try:
        loaded = read_config(arguments.file)
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
    return _ask(loaded.config, alerts) if arguments.online else DONE


def _ask(config: Config, alerts: Alerts) -> int:
    from streaming.doctor.hosts import ask_all, hosts_of

    print("\nHosts:")
    status = DONE
    for host, failure in ask_all(hosts_of(config, alerts)):
        print(f"  {host}: {'takes a connection' if failure is None else f'NO ANSWER: {failure}'}")
        status = status if failure is None else AWAY
    return status
