"""Text without effects: no text in a name acts on a terminal or a chat, mentions people or acts as a link.

Clients choose client ids, groups and topics. Control characters, terminal escapes and marks of text direction are
written out (``\\x1b``); line breaks stay, since names from :func:`write` have none left. Text that would mention
everybody (``@all``, ``<!channel>``, ``<at user_id="all">``), or show a link under another text, gets a full-width
character: chats read Markdown even in plain text. apprise escapes for the format of each chat.
"""

import re

from streaming.wording.names import plain_lines

_CALLS_ALL = re.compile(r"@(?=(?:all|channel|everyone|here|online|room)\b|所有人|全体成员)", re.IGNORECASE)
_CALLS_SOME = re.compile(r"<(?=[@#!]|/?at\b)", re.IGNORECASE)
_LINKS = re.compile(r"<(?=[a-z][a-z0-9+.-]*:)|(?<=\])[(\[]", re.IGNORECASE)  # <http://x|y>, [y](http://x), [y][x]
_FULL_WIDTH = str.maketrans("<([", "＜（［")


def escape(text: str) -> str:
    """The text without effects, as plain text."""
    quiet = _CALLS_SOME.sub("＜", _CALLS_ALL.sub("＠", plain_lines(text)))
    return _LINKS.sub(lambda match: match[0].translate(_FULL_WIDTH), quiet)
