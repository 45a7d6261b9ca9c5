"""One lease as a file in an object store: taken, renewed, checked and released.

The owner writes the file again every ``RENEW_EVERY_S``. A process that finds such a file watches it: if it has not
changed for ``EXPIRES_S``, its owner is gone. No clocks of two machines are compared: an owner that could not renew for
``HELD_S`` by its own clock stops, and commits nothing after ``EXPIRES_S``. Its process of the projections looks at no
lease: after a pause of the whole machine it may still append rows that another one has appended too.

Each write has a condition (``conditional_file``), so one of several processes takes the lease, and a write that comes
late is refused. Each taking has a larger number (``fence``).
"""

import logging
import time
from threading import Event
from uuid import uuid4

import msgspec
from msgspec import Struct

from streaming.config.config_errors import without_userinfo
from streaming.errors import AwayError, InUseError
from streaming.file_lock import Holder, this_process
from streaming.tables.conditional_file import (
    ConditionalFile,
    Content,
    Refused,
    Version,
    require_conditional_commits,
)

log = logging.getLogger(__name__)

NAME = "_lease"  # Hadoop takes a file whose name begins so for no data
# A standby works within 30 s of the owner's death: after EXPIRES_S, 1 s to look, and the time of its first commit.
RENEW_EVERY_S = 4.0
RETRY_S = 1.0  # after a request that failed
HELD_S = 13.0  # since the start of the last write that succeeded; one may fail
LATE_S = RENEW_EVERY_S + 3.0  # a standby looks again and again, and logs nothing while the lease is renewed
NOTICED_S = 1.0  # so long it may take to notice that this time is over
END_S = 4.0  # so long a process that has lost its lease may take to end in order
LAST_RESORT_S = 0.5  # later the process ends without a word of why
EXPIRES_S = 21.0  # all four, 2 s for the end of Java, and the rest to spare


class Lease(Struct, frozen=True):
    """The file's content. ``beat`` makes each one differ from the one before. ``fence``: how often it was taken."""

    id: str
    beat: int
    holder: Holder
    fence: int = 0
    released: bool = False


class StoreLease:
    """A lease as a file with a heartbeat. Raises AwayError or SetupError if its store cannot be opened."""

    def __init__(self, key: str, uri: str) -> None:
        self.key = key
        self._uri = uri
        self._mine = Lease(str(uuid4()), 0, this_process())
        self.until = 0.0  # by the monotonic clock; not held before the first write
        self._seen: tuple[str | None, float] = (None, 0.0)  # what the file was, and when, by the monotonic clock
        self._file = ConditionalFile(uri, NAME)
        self._version: Version | None = None  # what the next write replaces

    def look(self) -> None:
        """Begin to watch the lease: if it does not change from now on, it expires after ``EXPIRES_S``."""
        self._seen = self._text(), time.monotonic()

    def take(self, stop: Event) -> bool:
        """Take the lease; False if ``stop`` was set before. Raises InUseError while another process renews it."""
        require_conditional_commits()
        while not stop.is_set():
            found = self._file.read()
            text = "" if found is None else found.text
            if found is None or _read(text).released or _read(text).id == self._mine.id or self._expires(text, stop):
                try:
                    self._take_over(found)
                    return True
                except Refused:  # another was faster, or the answer to our own write was lost: look again
                    stop.wait(1)
        return False

    def renew(self) -> None:
        """Write the lease again. Raises InUseError if it is another's by now."""
        try:
            self._write()
        except Refused:
            found = self._file.read()
            self._require_mine(found and found.text)
            self._version = found and found.version  # of a write of ours whose answer was lost
            self._write()

    def require_renewed(self) -> None:
        """Raise AwayError if the last write that succeeded is too old. It asks nothing but the clock."""
        if time.monotonic() >= self.until:
            raise AwayError(
                f"{self.key} = {without_userinfo(self._uri)}: its lease could not be renewed for {HELD_S:.0f} s, so "
                "another process may take it soon: this one ends. Start it again when the storage answers"
            )

    def require_held(self) -> None:
        """Raise InUseError if another process has taken the lease, AwayError if that cannot be known in time.

        The clock alone does not show that the whole machine was paused.
        """
        while True:
            self.require_renewed()
            try:
                return self._require_mine(self._text())
            except AwayError as error:
                log.debug("%s: the lease could not be read: %s", self.key, error)
                time.sleep(RETRY_S)

    def release(self) -> None:
        """Release the lease. If Java has ended already, the next process waits until the lease has expired."""
        self.until = 0.0
        try:
            self._write(released=True)  # the file stays: who takes the lease next counts on from its number
        except Exception as error:
            log.debug("%s: the lease stays behind: %s", self.key, error)

    def _expires(self, found: str, stop: Event) -> bool:
        """Wait until a lease that was found is released or expires; False if ``stop`` was set before."""
        text, at = self._seen
        began, is_said = at if text == found else time.monotonic(), False
        while time.monotonic() < began + EXPIRES_S:
            if stop.wait(1):
                return False
            now = self._text()
            if now is None or _read(now).released:
                break
            if now != found:
                raise in_use(self.key, self._uri, who(now))
            if not is_said and time.monotonic() > began + LATE_S:
                log.info("%s: %s is late in renewing it; known within %.0f s", self.key, who(found), EXPIRES_S - LATE_S)
                is_said = True
        return True

    def _write(self, released: bool = False) -> None:
        """Write the file. Each check passes from now on, for ``HELD_S``; none does after the lease is released."""
        self._mine = msgspec.structs.replace(self._mine, beat=self._mine.beat + 1, released=released)
        began = time.monotonic()
        self._version = self._file.write(msgspec.json.encode(self._mine).decode(), self._version)
        self.until = 0.0 if released else began + HELD_S

    def _require_mine(self, found: str | None) -> None:
        lease = _read(found or "")
        if (lease.id, lease.fence) != (self._mine.id, self._mine.fence):
            raise in_use(self.key, self._uri, str(lease.holder))

    def _take_over(self, found: Content | None) -> None:
        last = Lease("", 0, Holder()) if found is None else _read(found.text)
        self._mine = msgspec.structs.replace(self._mine, fence=last.fence + 1)
        self._version = None if found is None else found.version
        self._write()

    def _text(self) -> str | None:
        found = self._file.read()
        return None if found is None else found.text


def who(text: str) -> str:
    """The owner of the lease, as far as the file names it."""
    return str(_read(text).holder)


def _read(text: str) -> Lease:
    try:
        return msgspec.json.decode(text, type=Lease)
    except msgspec.MsgspecError:
        return Lease("", 0, Holder())


def in_use(key: str, uri: str, other: str) -> InUseError:
    return InUseError(
        f"{key} = {without_userinfo(uri)} is in use by {other}. Two at once would end each other and write everything "
        "twice: stop that one first, or name folders of its own for this one",
        owner=other,
    )
