"""Say what a change will do to a consumer group, by each of RocketMQ's six strategies, before it is made.

How many queues move and how many had to, how even shares will be, for how long queues will have no owner or two
owners, and how many messages are likely to be delivered again. It is tried on a simulated group of the same shape.
"""

import argparse
import json
import logging
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from streaming.cli.configuration import configured
from streaming.cli.options import between, readable, whole
from streaming.errors import SourceError
from streaming.progress import waiting
from streaming.simulation.planning.change import (
    MOST_CLIENTS,
    MOST_MESSAGES_PER_S,
    MOST_QUEUES,
    Change,
    checked,
    members_after,
    new_ids,
)
from streaming.simulation.planning.current_group import (
    CurrentGroup,
    choose_group,
    current_group_of,
    read_current_group,
    read_tables,
)
from streaming.wording.names import plain

if TYPE_CHECKING:
    from streaming.simulation.planning.forecast import Forecast

LONGEST_FILE = 256 * 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--namesrv", metavar="HOST:PORT", help="look at this cluster now, as 'evenkeel inspect' does")
    source.add_argument(
        "--from",
        dest="file",
        type=readable,
        metavar="FILE",
        help="what 'evenkeel inspect --json' printed; - is standard input",
    )
    source.add_argument("--tables", metavar="DIR", help="what was known of it by the tables in this folder")
    parser.add_argument("--group", metavar="NAME", help="the group, if there are several")
    parser.add_argument("--cluster", metavar="C", help="of --tables: its cluster, where several have such a group")
    parser.add_argument("--at", metavar="TIME", help="of --tables: as it was then, as 'evenkeel explain --at' takes it")
    parser.add_argument(
        "--rate",
        type=between(0, MOST_MESSAGES_PER_S),
        metavar="N",
        help="so many messages a second are written to its topics",
    )
    parser.add_argument("--join", type=whole(0, MOST_CLIENTS), default=0, metavar="N", help="so many clients join")
    parser.add_argument("--leave", action="append", default=[], metavar="ID", help="the client stops; may be repeated")
    parser.add_argument(
        "--rolling", type=whole(0, MOST_CLIENTS), default=0, metavar="N", help="all are restarted, N at a time"
    )
    parser.add_argument(
        "--queues", action="append", default=[], metavar="TOPIC=N", help="the topic gets N queues on each broker"
    )
    parser.add_argument("--strategy", metavar="NAME", help="all are restarted with it, one after the other")
    parser.add_argument(
        "--pop",
        type=whole(-1, MOST_CLIENTS),
        metavar="N",
        help="its clients pop by remoting: popShareQueueNum is N now",
    )
    parser.add_argument("--pop-share", type=whole(-1, MOST_CLIENTS), metavar="N", help="popShareQueueNum becomes N")
    parser.add_argument("--lose-room", metavar="ROOM", help="clients and brokers whose names begin with it are lost")
    parser.add_argument("--json", action="store_true", help="one JSON object (docs/simulation.md has the keys)")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="queues x clients before and after, .png or .svg")


def run(arguments: argparse.Namespace) -> int:
    """Raises MonitorError for what cannot be read, asked or planned."""
    if arguments.picture is not None:
        from streaming.simulation.planning.chart import check

        check(arguments.picture)
    current = _current(arguments)
    change = checked(_change(arguments, current), current)
    if arguments.pop is not None or arguments.pop_share is not None:
        return _plan_pop(current, change, arguments)
    from streaming.simulation.planning.forecast import as_text, forecasts, strategy_of

    with waiting("Trying each strategy on a simulated group"):
        found = forecasts(current, change)
    title = _title(current, change, found)
    if arguments.picture is not None:
        from streaming.simulation.planning.chart import draw

        draw(found, arguments.picture, title)
    if arguments.json:
        rows = [one.as_json() for one in found]
        print(json.dumps({"group": current.group, "change": msgspec.to_builtins(change), "forecasts": rows}, indent=1))
        return 0
    print("\n".join(map(plain, as_text(found, title, strategy_of(current)))))
    return 0


def _plan_pop(current: CurrentGroup, change: Change, arguments: argparse.Namespace) -> int:
    """Who may pop what. Nothing is simulated: several clients may pop a queue, so none has to be handed over."""
    from streaming.simulation.planning.popping import as_text, pop_plan

    if arguments.picture is not None:
        raise SourceError("--picture shows owners of queues, and clients that pop own none: leave it out")
    now, then = pop_plan(current, change, arguments.pop)
    if arguments.json:
        shown = {"now": None if now is None else now.as_json(), "then": then.as_json()}
        print(json.dumps({"group": current.group, "change": msgspec.to_builtins(change), "pop": shown}, indent=1))
    else:
        print("\n".join(map(plain, as_text(now, then, _title_of(current, change, len(then.clients))))))
    return 0


def _title(current: CurrentGroup, change: Change, found: "list[Forecast]") -> str:
    after = next((len(f.after) + f.balance.unowned for f in found if f.balance is not None), 0)
    return _title_of(current, change, after)


def _title_of(current: CurrentGroup, change: Change, after: int) -> str:
    now = f"{len(current.members)} clients, {len(current.shared())} queues"
    then = f"{len(members_after(change, current))} clients, {after} queues"
    return f"{current.group}: now {now}; {change}: then {then}"


def _current(arguments: argparse.Namespace) -> CurrentGroup:
    if arguments.tables is None and (arguments.at or arguments.cluster):
        raise SourceError("--at and --cluster choose among what tables hold: name their folder with --tables")
    if arguments.tables is not None:
        current = _known(arguments)
    else:
        current = _look(arguments) if arguments.file is None else _read(arguments.file, arguments.group)
    return current if arguments.rate is None else current.at_rate(arguments.rate)


def _known(arguments: argparse.Namespace) -> CurrentGroup:
    from streaming.explain.times import parse_moment

    if arguments.group is None:
        raise SourceError(f"{arguments.tables}: which group? name it with --group")
    try:
        at = parse_moment(arguments.at, datetime.now(UTC)).ts if arguments.at else None
    except SourceError as error:
        raise SourceError(f"group {plain(arguments.group)}: {error}") from None
    return read_tables(arguments.tables, arguments.group, arguments.cluster, at)


def _read(path: Path, group: str | None) -> CurrentGroup:
    try:
        with path.open("rb") as stream:
            text = stream.read(LONGEST_FILE + 1)
        if len(text) > LONGEST_FILE:
            raise SourceError(
                f"{path}: more than {LONGEST_FILE} bytes: this is not what 'evenkeel inspect --json' prints"
            )
        return read_current_group(text, group, str(path))
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}") from error


def _look(arguments: argparse.Namespace) -> CurrentGroup:
    from streaming.cli.inspect import with_name_servers
    from streaming.inspect.inspection import InspectOptions, inspect_once

    config = with_name_servers(configured(arguments, writes=()), arguments.namesrv)
    logging.getLogger("streaming.collector").setLevel(logging.WARNING)
    groups = (arguments.group,) if arguments.group else ()
    options = InspectOptions(groups)
    with waiting(f"Asking {arguments.namesrv} for about {options.seconds:.0f} s"):
        snapshots = inspect_once(config, options)
    found = [current_group_of(msgspec.to_builtins(group)) for one in snapshots for group in one.groups if group.members]
    return choose_group(found, arguments.group, arguments.namesrv)


def _change(arguments: argparse.Namespace, current: CurrentGroup) -> Change:
    return Change(
        join=new_ids(arguments.join, current),
        leave=tuple(arguments.leave),
        rolling=arguments.rolling,
        queues=dict(map(_queues, arguments.queues)),
        lose_room=arguments.lose_room,
        strategy=arguments.strategy,
        pop_share=arguments.pop_share,
    )


def _queues(text: str) -> tuple[str, int]:
    topic, equals, number = text.rpartition("=")
    if not equals or not re.fullmatch("[0-9]{1,9}", number) or not 1 <= int(number) <= MOST_QUEUES:
        raise SourceError(f"--queues {text}: a topic and a number from 1 to {MOST_QUEUES}, as in orders=16")
    return topic, int(number)
