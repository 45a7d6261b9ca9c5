"""Send no pages of some groups for a while. The notifier reads it within a second; no alert is changed.

An alert that begins under a silence is delivered when the silence ends, if it still fires then. A page that was sent
before stays open, and its end is sent.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from schemas.facts import Cause, Kind
from streaming.cli.configuration import configured
from streaming.config.cross_key_checks import NOTIFIER
from streaming.errors import SetupError
from streaming.file_lock import Holder
from streaming.notifier.silence_files import SilenceFiles, new_id
from streaming.notifier.silences import LONGEST_DAYS, Silence
from streaming.notifier.state_files import read_open_alerts, running_notifier
from streaming.wall_clock import now_ms
from streaming.wording.lists import first_of
from streaming.wording.names import plain

MINUTES = {"m": 1, "h": 60, "d": 1440}
NAMES_AT_MOST = 5
TROUBLES = ("monitor_blind", "monitor_late", "monitor_contradicted", "group_blind")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--group", metavar="PATTERN", help="groups that match, as in 'orders-*'")
    parser.add_argument("--cluster", metavar="PATTERN", help="only of these clusters")
    kinds, causes = [*(kind.value for kind in Kind), *TROUBLES], [cause.value for cause in Cause]
    parser.add_argument("--kind", metavar="PATTERN", type=_one_of(kinds), help="only this finding, or monitor_blind")
    parser.add_argument("--cause", metavar="PATTERN", type=_one_of(causes), help="only with this cause")
    parser.add_argument("--for", dest="minutes", type=_minutes, metavar="TIME", help="how long: 30m, 2h or 1d")
    parser.add_argument("--by", metavar="NAME", help="who says so")
    parser.add_argument("--why", metavar="TEXT", help="why, for those who wonder")
    parser.add_argument("--list", action="store_true", help="print the silences that last, and no more")
    parser.add_argument("--end", metavar="ID", help="end a silence now")
    parser.add_argument("--preview", action="store_true", help="print what it would silence now, and set no silence")
    parser.add_argument("--ahead", action="store_true", help="write it though no notifier runs yet that would read it")


def run(arguments: argparse.Namespace) -> int:
    """Print what was done, and on standard error where the silence is kept and who reads it; then 0.

    Raises SetupError for incomplete options, a silence that does not last, or one that no notifier would read.
    """
    config = configured(arguments, writes=() if arguments.list else (NOTIFIER,))
    state = Path(config.notify.state).resolve()
    files, now = SilenceFiles(state), now_ms()
    reader = _reader(state)
    if arguments.list:
        for one in _readable(files):
            if one.until_ts > now:
                print(_line(one))
    elif arguments.end is not None:
        _readable(files)
        ended = files.end(arguments.end, now)
        if ended is None:
            raise SetupError(f"--end {arguments.end}: no such silence lasts in {_named(state, arguments)}; see --list")
        print(f"ended: {_line(ended)}")
    elif arguments.preview:
        _require(arguments)
        print(plain(_what_it_silences(_silence(arguments, now), state)))
        return 0
    else:
        _require(arguments, "by", "why", "for")
        if reader is None and not arguments.ahead:
            raise SetupError(
                f"nobody would read it: no notifier delivers from {_named(state, arguments)}. Name the configuration "
                "of the 'evenkeel run' or 'evenkeel notify' that delivers with --config; if it is yet to be started, "
                "say --ahead"
            )
        silence = _silence(arguments, now)
        files.add(silence)
        print(_line(silence), flush=True)
        _say(_what_it_silences(silence, state))
    read_by = f"read by {reader}" if reader else "no notifier delivers from it now: it silences nothing until one does"
    _say(f"kept in {_named(state, arguments)}; {read_by}")
    return 0


def _readable(files: SilenceFiles) -> list[Silence]:
    """The silences. Raises SetupError if they cannot be read."""
    found = files.all()
    if files.failure is not None:
        raise SetupError(files.failure)
    return found


def _reader(state: Path) -> Holder | None:
    """The reader of silences. Raises SetupError if the folder may not be read, because it could contain silences."""
    try:
        return running_notifier(state)
    except OSError as error:
        raise SetupError(f"{state} (notify.state) cannot be looked into: {error.strerror}") from error


def _named(state: Path, arguments: argparse.Namespace) -> str:
    given = f"of {arguments.config}" if arguments.config else "without --config"
    return f"{state} (notify.state {given})"


def _silence(arguments: argparse.Namespace, now: int) -> Silence:
    return Silence(
        id=new_id(),
        cluster=arguments.cluster or "*",
        group=arguments.group or "*",
        kind=arguments.kind or "*",
        cause=arguments.cause or "*",
        from_ts=now,
        until_ts=now + (arguments.minutes or 0) * 60_000,
        by=arguments.by,
        why=arguments.why,
    )


def _what_it_silences(silence: Silence, state: Path) -> str:
    """Print what the silence matches now: a misspelt pattern matches nothing."""
    known = read_open_alerts(state)
    clusters = sorted(name for name in known.health if name)
    if clusters and not any(fnmatchcase(name, silence.cluster) for name in clusters):
        return f"no cluster is named {silence.cluster}; known: {first_of(clusters, NAMES_AT_MOST)}"
    alerts = [alert for alert in known.alerts.values() if silence.matches(alert)]
    if not alerts:
        return "no alert that fires now matches"
    groups = first_of(sorted({alert.group for alert in alerts}), NAMES_AT_MOST)
    return f"{len(alerts)} of the {len(known.alerts)} alerts that fire now match, of {groups}"


def _say(text: str) -> None:
    print(plain(text), file=sys.stderr)


def _require(arguments: argparse.Namespace, *options: str) -> None:
    """Raise SetupError if one of these options is missing, or every option that says which alerts are meant."""
    lacking = [f"--{option}" for option in options if not getattr(arguments, "minutes" if option == "for" else option)]
    if not any((arguments.cluster, arguments.group, arguments.kind, arguments.cause)):
        lacking.append("one of --group, --cluster, --kind and --cause (--group '*' is everything)")
    if lacking:
        raise SetupError(f"a silence also needs {', '.join(lacking)}")


def _line(silence: Silence) -> str:
    until = datetime.fromtimestamp(silence.until_ts / 1000, UTC)
    named = ((name, getattr(silence, name)) for name in ("cluster", "group", "kind", "cause"))
    what = " ".join(f"{name}={pattern}" for name, pattern in named if pattern != "*") or "everything"
    return plain(f"{silence.id}  until {until:%Y-%m-%d %H:%M} UTC  {what}  by {silence.by}: {silence.why}")


def _minutes(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,5})([mhd])", text)
    minutes = int(match[1]) * MINUTES[match[2]] if match else 0
    if not 0 < minutes <= LONGEST_DAYS * MINUTES["d"]:
        raise argparse.ArgumentTypeError(f"a time as in 30m, 2h or 1d, at most {LONGEST_DAYS}d")
    return minutes


def _one_of(words: Iterable[str]) -> Callable[[str], str]:
    known = tuple(words)

    def pattern(text: str) -> str:
        if not any(fnmatchcase(word, text) for word in known):
            raise argparse.ArgumentTypeError(f"matches none of {', '.join(known)}")
        return text

    return pattern
