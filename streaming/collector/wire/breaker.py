"""Decides whether a silent address may be asked: no more than one request a round, until it answers again."""

from enum import Enum, auto


class _State(Enum):
    ANSWERS = auto()
    SILENT = auto()  # it did not answer in this round
    MAY_TRY = auto()  # it did not answer in the last round: one request may show that it does again
    TRYING = auto()  # that request is on its way


class Breaker:
    """Belongs to one lane to one address."""

    def __init__(self) -> None:
        self._state = _State.ANSWERS

    @property
    def is_open(self) -> bool:
        """Returns whether nothing may be sent now."""
        return self._state in (_State.SILENT, _State.TRYING)

    @property
    def is_silent(self) -> bool:
        return self._state is _State.SILENT

    def begin_round(self) -> None:
        if self.is_open:
            self._state = _State.MAY_TRY

    def sent(self) -> None:
        if self._state is _State.MAY_TRY:
            self._state = _State.TRYING

    def answered(self) -> None:
        self._state = _State.ANSWERS

    def failed(self) -> None:
        self._state = _State.SILENT
