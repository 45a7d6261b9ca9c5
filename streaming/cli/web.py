"""Show groups, alerts and their causes in a browser, until SIGTERM or SIGINT. It reads the tables alone.

By default only this machine reaches the pages. Elsewhere it must be known who reads them (docs/web.md).
"""

import argparse
import sys
from functools import partial
from getpass import getpass
from threading import Event

from streaming.cli.configuration import options_given, read_with_alerts
from streaming.cli.reload import READ_ONCE_BY_PAGES, Reload, reloaded_by_signal
from streaming.errors import SetupError
from streaming.shutdown_signals import ended_by_signals

ENDING_S = 10
KEYS = {"--tables": ("tables", "path"), "--listen": ("web", "listen")}  # of the configuration


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tables", metavar="DIR", help="the folder of the tables; without it, the configuration's")
    parser.add_argument("--listen", metavar="HOST:PORT", help="instead of web.listen, 127.0.0.1:8400 by default")
    parser.add_argument("--add-user", metavar="NAME", help="read a password, print a line for web.users, and no more")
    parser.add_argument("--add-token", metavar="NAME", help="print a new token, and a line for web.users")
    parser.add_argument("--right", choices=("read", "silence"), default="read", help="of the new user (default: read)")


def run(arguments: argparse.Namespace) -> int:
    """0 after a signal. Raises MonitorError for what is refused."""
    if arguments.add_user is not None or arguments.add_token is not None:
        return _print_line(arguments)
    reload = Reload(partial(read_with_alerts, arguments, options_given(arguments, KEYS), writes=()))
    reload.read_once = READ_ONCE_BY_PAGES
    from streaming.freed_memory import keep_giving_back
    from streaming.notifier.from_config import absolute
    from streaming.web.server import serve
    from streaming.web.settings import web_settings

    settings = web_settings(reload.config, reload.alerts, arguments.config)
    if arguments.tables is not None:  # not those of the configuration's file
        settings = settings._replace(site=settings.site._replace(tables=absolute(arguments.tables)))
    keep_giving_back()
    stop = Event()
    with reloaded_by_signal(reload), ended_by_signals(stop, ENDING_S):
        serve(settings, stop)
    return 0


def _print_line(arguments: argparse.Namespace) -> int:
    from streaming.web.security.users import new_token, password_line

    if arguments.add_token is not None:
        token, line = new_token(arguments.add_token, arguments.right)
        print(f"the token, which is kept nowhere: {token}", file=sys.stderr)
        print(line)
        return 0
    if sys.stdin.isatty():
        password = getpass("password: ")
        if getpass("again: ") != password:
            raise SetupError("the two passwords differ")
    else:
        password = sys.stdin.readline().rstrip("\n")
    print(password_line(arguments.add_user, arguments.right, password))
    return 0
