"""A string with a fixed set of values."""

from enum import Enum


class Word(str, Enum):
    """A string with a fixed set of values that prints as itself (``StrEnum`` needs Python 3.11)."""

    __hash__ = str.__hash__  # Enum's own hash is written in Python, and differs from that of an equal string
    __str__ = str.__str__
    __format__ = str.__format__  # type: ignore[assignment]
