"""What a key of the configuration may hold that is secret, as its declaration says."""

from enum import Enum, auto


class SecretKind(Enum):
    """NAME: of whom a secret is, which is masked unless it is a word. FILE: the file that the key names holds it.

    OPTION: of options that are passed on, whose names tell. An ADDRESS shows its scheme and host at most.
    """

    TEXT = auto()
    NAME = auto()
    ADDRESS = auto()
    FILE = auto()
    OPTION = auto()
