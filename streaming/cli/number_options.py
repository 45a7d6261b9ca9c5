"""Types of options for argparse: numbers within bounds."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import TypeVar

N = TypeVar("N", int, float)


def whole(least: int, most: int) -> Callable[[str], int]:
    return _within(int, least, most, f"a whole number from {least} to {most}")


def between(least: float, most: float) -> Callable[[str], float]:
    return _within(float, least, most, f"from {least:g} to {most:g}")


def _within(kind: Callable[[str], N], least: N, most: N, wanted: str) -> Callable[[str], N]:
    def number(text: str) -> N:
        found = kind(text)
        if not least <= found <= most:
            raise ArgumentTypeError(wanted)
        return found

    return number
