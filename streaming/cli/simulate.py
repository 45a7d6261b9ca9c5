"""Write the events of a simulated fleet of any size: to a file, to Kafka, or where the configuration's job reads.

A few groups are simulated faithfully; all others are generated from them, with other names, clients and times. All is
well with them, but for a client that joins and leaves now and then, and for the faults that are asked for.
"""

import argparse
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from streaming.cli.configuration import configured, options_given
from streaming.cli.options import STANDARD_OUTPUT, whole, writable
from streaming.errors import ConfigError
from streaming.progress import Progress
from streaming.wall_clock import now_ms
from streaming.wording.numbers import counted

if TYPE_CHECKING:
    from streaming.config.sections import Config
    from streaming.feed.feeding import Fed
    from streaming.feed.outputs import Output
    from streaming.simulation.load.fleet_spec import FleetSpec

MOST_GROUPS, MOST_CLIENTS, MOST_QUEUES, MOST_BROKERS = 100_000, 1_000, 1_024, 64
FAULTY, MOST_FAULTY = 0.05, 0.4
KEYS = {"--kafka": ("source", "bootstrap_servers"), "--topic": ("source", "topic")}  # of the configuration


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--groups", type=whole(1, MOST_GROUPS), default=100, metavar="N", help="how many (default: 100)"
    )
    parser.add_argument(
        "--clients", type=whole(1, MOST_CLIENTS), default=20, metavar="N", help="of each group (default: 20)"
    )
    parser.add_argument(
        "--queues", type=whole(1, MOST_QUEUES), default=32, metavar="N", help="of each group's topic (default: 32)"
    )
    parser.add_argument(
        "--brokers", type=whole(1, MOST_BROKERS), default=2, metavar="N", help="that share the queues (default: 2)"
    )
    parser.add_argument(
        "--seconds", type=whole(1, 31_536_000), default=600, metavar="N", help="of the fleet's time (default: 600)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the same seed: the same fleet (default: 1)")
    parser.add_argument(
        "--faults", default="", metavar="NAMES", help="what goes wrong with groups: all, or names with commas between"
    )
    parser.add_argument(
        "--faulty", type=_share, default=FAULTY, metavar="SHARE", help=f"of groups in trouble at a time ({FAULTY})"
    )
    parser.add_argument("--paced", action="store_true", help="from now on, each event at its time; Ctrl-C ends it")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--to",
        type=writable,
        metavar="FILE",
        help="JSON lines, compressed if the name ends in .gz; - is standard output",
    )
    where.add_argument("--kafka", metavar="HOST:PORT", help="instead of source.bootstrap_servers")
    parser.add_argument("--topic", metavar="NAME", help="instead of source.topic")


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= MOST_FAULTY:
        raise argparse.ArgumentTypeError(f"from 0 to {MOST_FAULTY}: a group gets well between two faults")
    return share


def run(arguments: argparse.Namespace) -> int:
    """0 when all was handed over, and after Ctrl-C. Raises MonitorError for what is refused or not taken."""
    config = configured(arguments, options_given(arguments, KEYS), writes=())
    spec = _spec(arguments)
    output = _output(arguments, config)
    from streaming.feed.feeding import Feed
    from streaming.simulation.load.fleet_spec import templates_for
    from streaming.simulation.load.generated_fleet import generated_fleet

    lasts_ms, progress = arguments.seconds * 1000, Progress()
    templates = templates_for(spec, lambda done, of: progress.count(done, of, "kinds of groups simulated"))
    start_ts = now_ms() - (0 if arguments.paced else lasts_ms)
    fleet = generated_fleet(spec, templates, start_ts)
    fleet.open()
    feed = Feed(output, lambda fed: progress.say(f"{counted(fed.events, 'event')}, {fed.share:.0%}"))
    with progress, suppress(KeyboardInterrupt):
        (feed.paced if arguments.paced else feed.at_once)(fleet.rounds, start_ts + lasts_ms)
    output.close()
    to_standard_output = arguments.to == STANDARD_OUTPUT
    print(_summary(arguments, feed.fed, output.where), file=sys.stderr if to_standard_output else sys.stdout)
    return 0


def _spec(arguments: argparse.Namespace) -> "FleetSpec":
    """Raises ConfigError for queues that brokers cannot share evenly, and for faults that cannot be had."""
    from streaming.simulation.load.fleet_spec import FleetSpec, faults_by_shape, faults_named

    if arguments.queues % arguments.brokers:
        raise ConfigError(f"--queues {arguments.queues}: a multiple of the {arguments.brokers} brokers (--brokers)")
    names = [name.strip() for name in arguments.faults.split(",") if name.strip()]
    spec = FleetSpec(
        groups=arguments.groups,
        clients=arguments.clients,
        queues=arguments.queues,
        brokers=arguments.brokers,
        seed=arguments.seed,
        faults=faults_named(names),
        faulty=arguments.faulty if names else 0.0,
    )
    faults_by_shape(spec)
    return spec


def _output(arguments: argparse.Namespace, config: "Config") -> "Output":
    from streaming.feed.outputs import FileOutput, kafka_feed

    if arguments.to is not None:
        return FileOutput(arguments.to)
    if config.source.kind == "kafka" or arguments.kafka is not None:
        return kafka_feed(config)
    if arguments.paced:
        raise ConfigError("--paced: not for a folder (source.kind = files), where files are read once complete")
    return FileOutput(Path(config.source.folder, f"simulated-{time.time_ns()}.jsonl"), is_whole=True)


def _summary(arguments: argparse.Namespace, fed: "Fed", where: str) -> str:
    late = f", at most {fed.late_s:.1f} s late" if arguments.paced else ""
    return (
        f"{counted(fed.events, 'event')} of {counted(arguments.groups, 'group')} in {fed.seconds:.1f} s, "
        f"{fed.events_per_s:.0f} a second{late}: {where}"
    )
