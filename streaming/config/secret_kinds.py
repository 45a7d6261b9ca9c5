"""The kinds of secrets in a key of the configuration, as the key's declaration says."""

from enum import Enum, auto


class SecretKind(Enum):
    """A kind of secret. NAME: the secret's owner; it is masked unless it is a word. FILE: a file with the secret.

    OPTION: options that are passed on; their names decide. ADDRESS: at most its scheme and host are shown.
    """

    TEXT = auto()
    NAME = auto()
    ADDRESS = auto()
    FILE = auto()
    OPTION = auto()
