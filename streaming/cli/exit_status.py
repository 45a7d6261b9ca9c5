"""The exit status of every command (docs/exit-status.md).

``inspect`` and ``collect --dry-run`` also use 2 if not everything was answered, as their pages say.
"""

from streaming.errors import AwayError, InUseError, MonitorError, PublishError

DONE = 0
NOT_RIGHT = 1
REFUSED = 2
AWAY = 3
IN_USE = 4
FAILED = 5
OWN_FAULT = 70  # as sysexits.h has it for software
HUNG_UP = 129  # as if by SIGHUP, which no command handles
INTERRUPTED = 130
READER_GONE = 141  # as if by SIGPIPE
TERMINATED = 143  # as if by SIGTERM


def status_of(error: MonitorError) -> int:
    """The exit status of a command that ended with one of our errors."""
    if isinstance(error, InUseError):
        return IN_USE
    if isinstance(error, AwayError | PublishError):
        return AWAY
    return FAILED if type(error) is MonitorError else REFUSED
