"""Types of options for argparse: numbers within bounds."""

from argparse import ArgumentTypeError
from collections.abc import Callable


def whole(least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        found = int(text)
        if not least <= found <= most:
            raise ArgumentTypeError(f"a whole number from {least} to {most}")
        return found

    return number


def between(least: float, most: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        found = float(text)
        if not least <= found <= most:
            raise ArgumentTypeError(f"from {least:g} to {most:g}")
        return found

    return number
