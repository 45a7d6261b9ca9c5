"""Look at the consumer groups of a RocketMQ cluster: who owns which queue, what is wrong, and why. No Kafka, no Spark.

It asks for some seconds, then prints what is wrong first, and ends with 0 if all is well, 1 if something is wrong, 2 if
not everything could be judged or asked. Access keys and TLS: [collector] of --config, or EVENKEEL__COLLECTOR__KEY.
"""

import argparse
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from streaming.cli.configuration import configured
from streaming.cli.exit_status import status_of_look
from streaming.cli.options import between
from streaming.config.sections import Config
from streaming.config.values import server_list
from streaming.errors import CollectorError
from streaming.progress import waiting


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--namesrv",
        metavar="HOST:PORT[;HOST:PORT]",
        help="the name servers of one cluster; without it, the clusters of the configuration",
    )
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only groups that match, as in 'orders-*', and all of them in full; may be repeated",
    )
    parser.add_argument("--watch", action="store_true", help="look again and again, until Ctrl-C")
    parser.add_argument(
        "--seconds",
        type=between(1, 3600),
        metavar="N",
        help="look for so long, rather than about 6: after 75 s owners are judged for certain, and STALLED too",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a group (docs/inspect.md has the keys)")
    parser.add_argument("--verbose", action="store_true", help="every group in full, and every row")


def run(arguments: argparse.Namespace) -> int:
    """Return 0, 1 or 2, see above. Raises MonitorError for what cannot be set up or asked, which is 2 as well."""
    config = configured(arguments, writes=())
    if arguments.namesrv is not None:
        config = with_name_servers(config, arguments.namesrv)
    from streaming.inspect.inspection import USUAL_S, InspectOptions, inspect_once, inspect_until_signal
    from streaming.inspect.screen import Screen

    screen = Screen(arguments.json, bool(arguments.group), arguments.verbose)
    options = InspectOptions(tuple(arguments.group), arguments.seconds or USUAL_S)
    with _collector_is_quiet():
        if arguments.watch:
            with screen.redrawn():
                clusters = inspect_until_signal(config, options, screen.show)
        else:
            with waiting(f"Asking {', '.join(config.collector.clusters)} for about {options.seconds:.0f} s"):
                clusters = inspect_once(config, options)
            screen.show(clusters)
    return status_of_look(clusters)


@contextmanager
def _collector_is_quiet() -> Iterator[None]:
    """Keep the collector's log quiet: the output names those that do not answer."""
    logger = logging.getLogger("streaming.collector")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def with_name_servers(config: Config, text: str) -> Config:
    """The configuration with only these name servers. A cluster that has them keeps its name and its rules."""
    servers = server_list(text)
    if not servers:
        raise CollectorError(f"--namesrv {text}: host:port of one or more name servers, separated by semicolons")
    known = {server_list(given): name for name, given in config.collector.clusters.items()}
    collector = config.collector.model_copy(update={"clusters": {known.get(servers, ";".join(servers)): text}})
    return config.model_copy(update={"collector": collector})
