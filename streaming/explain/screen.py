"""A picture on standard output: coloured where someone watches, plain where a log or another command reads."""

from datetime import tzinfo

import msgspec
from rich.console import Console

from streaming.explain.group_text import lines_of
from streaming.explain.snapshot import GroupSnapshot
from streaming.snapshots.lines import laid_on_screen, width_of


def show(picture: GroupSnapshot, zone: tzinfo | None, as_json: bool, console: Console | None = None) -> None:
    """As a page, with times in ``zone`` (None: the machine's own), or as one JSON object."""
    if as_json:
        print(msgspec.json.encode(picture).decode())
        return
    console = console or Console(highlight=False, markup=False, emoji=False)
    console.print(laid_on_screen(lines_of(picture, width_of(console), zone)), soft_wrap=True)
