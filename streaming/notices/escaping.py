"""Text escaped for each channel: no text in a name has an effect there, mentions people or acts as markup.

Clients choose client ids, groups and topics. Control characters, terminal escapes and marks of text direction are
written out (``\\x1b``); line breaks stay, since names from :func:`write` have none left. Text that would mention
everybody (``@all``, ``<!channel>``, ``<at user_id="all">``), or show a link under another text, gets a full-width
character in every channel: chats read Markdown even in plain text.
"""

import html
import re
from typing import Literal

from streaming.wording.names import plain_lines

Channel = Literal["plain", "markdown", "html", "slack"]

_CALLS_ALL = re.compile(r"@(?=(?:all|channel|everyone|here|online|room)\b|所有人|全体成员)", re.IGNORECASE)
_CALLS_SOME = re.compile(r"<(?=[@#!]|/?at\b)", re.IGNORECASE)
_LINKS = re.compile(r"<(?=[a-z][a-z0-9+.-]*:)|(?<=\])[(\[]", re.IGNORECASE)  # <http://x|y>, [y](http://x), [y][x]
_FULL_WIDTH = str.maketrans("<([", "＜（［")
# Underscores between letters mean nothing in markdown, nor does # within a line: identifiers stay readable.
_MARKUP = re.compile(r"[\\`*~\[\]]|(?<![^\W_])_|_(?![^\W_])")
_BEGINS_A_BLOCK = re.compile(r"^( {0,3}(?:\d{1,9}(?=[.)]))?)(?=[#>+=|.)-])", re.MULTILINE)


def escape(text: str, channel: str) -> str:
    """The escaped text.

    ``markdown``: lines end with two blanks, to stay separate; html: they need ``white-space: pre-wrap``. Raises
    ValueError for a channel that is not one of :data:`Channel`.
    """
    quiet = _CALLS_SOME.sub("＜", _CALLS_ALL.sub("＠", plain_lines(text)))
    quiet = _LINKS.sub(lambda match: match[0].translate(_FULL_WIDTH), quiet)
    if channel == "plain":
        return quiet
    if channel == "markdown":
        return _as_markdown(quiet)
    if channel == "html":
        return html.escape(quiet)
    if channel == "slack":
        return html.escape(quiet, quote=False)  # Slack needs only &, < and > escaped
    raise ValueError(f"no channel {channel!r}: plain, markdown, html or slack")


def _as_markdown(text: str) -> str:
    escaped = _BEGINS_A_BLOCK.sub(r"\1\\", _MARKUP.sub(r"\\\g<0>", text))
    return escaped.replace("<", "&lt;").replace("\n", "  \n")
