"""Measured values by dotted key, saved at once, so that no value is lost if a later measurement fails."""

import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Tree = dict[str, Any]
SKIPPED = {"skipped": "measured by the full run only"}


class Results:
    """The values of one stage, saved in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.tree: Tree = {}

    def put(self, key: str, value: object) -> None:
        """Set the value of ``a.b.c``; a table of values is added to those that exist."""
        merge(self.tree, nested(key, value))
        self._path.write_text(json.dumps(self.tree))

    @contextmanager
    def part(self, *keys: str) -> Iterator[None]:
        """Save an exception inside the block as the error of those ``keys`` without a value; it ends nothing else."""
        say(f"measuring {', '.join(keys)}")
        try:
            yield
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            for key in keys:
                if not has(self.tree, key):
                    self.put(key, {"error": f"{type(error).__name__}: {error}"[:1000]})


def say(text: str) -> None:
    """Print progress for people."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def nested(key: str, value: object) -> Tree:
    first, _, rest = key.partition(".")
    return {first: nested(rest, value) if rest else value}


def merge(into: Tree, other: Tree) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


def has(tree: Any, key: str) -> bool:
    for name in key.split("."):
        if not isinstance(tree, dict) or name not in tree:
            return False
        tree = tree[name]
    return True


def has_error(tree: Any) -> bool:
    return isinstance(tree, dict) and ("error" in tree or any(map(has_error, tree.values())))
