"""Pinned jars: the coordinates and the SHA-256 of each, by set."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from streaming.errors import SetupError

PINS = Path(__file__).with_name("jars.toml")


class Jar(NamedTuple):
    """A jar of a Maven repository. ``coordinates`` are group:artifact:version, and :classifier where it has one: native
    code has one artifact a platform.
    """

    coordinates: str
    sha256: str

    @property
    def file(self) -> str:
        """Its file name."""
        return "-".join(self.coordinates.split(":")[1:]) + ".jar"

    @property
    def path(self) -> str:
        """Its path in a repository."""
        group, artifact, version, *_ = self.coordinates.split(":")
        return f"{group.replace('.', '/')}/{artifact}/{version}/{self.file}"


def set_name(coordinates: Sequence[str]) -> str:
    """The name of the set of jars that these need: of its table in a file of pins, and of its folder."""
    return "--".join("-".join(c.split(":")[1:]) for c in coordinates)


def all_pinned(pins: Path = PINS) -> dict[str, list[Jar]]:
    """The jars of each set, by its name."""
    sets = tomllib.loads(pins.read_text("utf-8"))
    return {name: [Jar(*item) for item in jars.items()] for name, jars in sets.items()}


def pinned(coordinates: Sequence[str], pins: Path = PINS) -> list[Jar]:
    """The jars of one set. Raises SetupError if the file of pins lacks it."""
    if found := all_pinned(pins).get(set_name(coordinates)):
        return found
    raise SetupError(
        f"no checksums of {', '.join(coordinates)} are known: evenkeel runs only with the versions of pyspark and "
        "delta-spark that its package names; install it again"
    )
