"""A process that waits until what it needs for itself alone is free (``--standby``), and what it says meanwhile."""

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from threading import Event
from typing import TypeVar

from streaming.errors import AwayError, InUseError
from streaming.metrics import catalogue as m
from streaming.metrics.series import Series

log = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0  # a look at a lock of the kernel takes at most 0.2 s, and hardly any processor time
T = TypeVar("T")


class Standby:
    """The waiting, for the metrics, /readyz and systemd. ``who``: the part of this process that waits. ``looked`` is
    called after each look. One thread waits, others read.
    """

    def __init__(self, who: str, looked: Callable[[], object] = lambda: None) -> None:
        self._who, self._looked = who, looked
        self._owner: str | None = None
        self._since_s = 0.0
        self._is_away = False

    def waits_for(self, owner: str) -> None:
        """Note the process that has what this one waits for."""
        if self._owner is None:
            self._since_s = time.monotonic()
        if owner != self._owner:
            log.info("standby: %s waits until %s ends, and then takes over", self._who, owner)
        self._owner, self._is_away = owner, False
        self._looked()

    def cannot_look(self, error: AwayError) -> None:
        """Note that a storage does not answer. Logged once, until it answers again."""
        if not self._is_away:
            log.warning("standby: %s cannot see whether it may take over, and tries again: %s", self._who, error)
        self._is_away = True
        self._looked()

    def takes_over(self) -> None:
        """Note that the wait is over, if there was one."""
        owner, self._owner = self._owner, None
        if owner is not None:
            waited_s = time.monotonic() - self._since_s
            log.info("%s takes over from %s, after a wait of %.0f s", self._who, owner, waited_s)
            self.goes_on()

    def goes_on(self) -> None:
        """Note a step of what is prepared while it waits, or of the takeover: each may take minutes."""
        self._looked()

    def is_waiting(self) -> bool:
        return self._owner is not None

    def series(self) -> list[Series]:
        return [Series(m.STANDBY, (), float(self.is_waiting()))]

    def troubles(self) -> list[str]:
        """The reason why it does not work; empty if it does not wait."""
        owner = self._owner
        return [] if owner is None else [f"standby: {self._who} waits until {owner} ends"]


def taken(
    stack: ExitStack,
    take: Callable[[], AbstractContextManager[T]],
    stop: Event,
    standby: Standby | None,
    meanwhile: Callable[[], object] = lambda: None,
) -> T | None:
    """Enter ``take()`` on the stack, and return its value. While that raises InUseError, look again until ``stop``.

    None: stopped before. ``standby`` None: the first InUseError is raised. ``meanwhile`` is called once it is known
    that this process must wait: what takes long at a start is done then. From then on AwayError ends the wait no more
    than InUseError does: a storage is often away just when the other process ends.
    """
    is_prepared = False
    while not stop.is_set():
        try:
            value = stack.enter_context(take())
        except InUseError as error:
            if standby is None:
                raise
            standby.waits_for(error.owner)
        except AwayError as error:
            if standby is None or not is_prepared:
                raise
            standby.cannot_look(error)
        else:
            if standby is not None and not stop.is_set():
                standby.takes_over()
            return value
        if not is_prepared:
            meanwhile()
            is_prepared = True
        stop.wait(LOOK_EVERY_S)
    return None
