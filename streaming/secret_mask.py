"""The mask of secrets: every text that leaves the process passes ``masked``.

Such texts are standard output and standard error, log lines, answers of the HTTP servers, tables, state files, events
and pages. Code that reads a secret calls ``hide``. A secret is found as it is, within base64 at any place, and behind
the escapes of addresses, JSON and HTML. The beginning of a secret is masked too: the other side may cut what it quotes.
"""

import base64
import html
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from threading import Lock
from typing import NamedTuple
from urllib.parse import quote, unquote

MASK = "***"
SHORTEST = 4  # a shorter secret would be found in every text
SHORTEST_IN_BASE64 = 8
SHORTEST_BEGINNING = 8
MOST_ESCAPES = 3  # escapes within escapes

_ESCAPE = re.compile(
    r"(?:%[0-9A-Fa-f]{2})+|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[/\\\"']|&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});"
)
_URL_SAFE = str.maketrans("-_", "+/")
_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z]).{8,}|.{20,}", re.DOTALL)
_PIECE = re.compile(r"[^/?&=@:;,#\s]+")


class _Form(NamedTuple):
    """A way to write a secret. Its first ``least`` characters alone are masked, too."""

    text: str
    least: int


class _Span(NamedTuple):
    start: int
    end: int


class SecretMask:
    """The secrets of one owner. It never changes."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.secrets = frozenset(one for one in secrets if len(one.strip()) >= SHORTEST)
        written = self.secrets | {one.replace(" ", "+") for one in self.secrets}  # as forms write blanks
        self._plain = [_Form(one, _least(one)) for one in sorted(written)]
        self._base64 = sorted({form for one in self.secrets for form in _in_base64(one)})

    def masked(self, text: str) -> str:
        """The text with MASK in place of each secret."""
        if not self._plain:
            return text
        spans: list[_Span] = []
        for view in _views(text):
            # lines of base64 are broken
            packed = _View("".join(view.text.translate(_URL_SAFE).split()), view, _no_blanks)
            spans += view.origins(_found(view.text, self._plain))
            spans += packed.origins(_found(packed.text, self._base64))
        return _covered(text, spans)


class _View:
    """A text without its escapes, or without its blanks. ``parts``: from which part of ``before`` each character is."""

    def __init__(self, text: str, before: "_View | None" = None, parts: Callable[[str], list[_Span]] = lambda _: []):
        self.text = text
        self._before = before
        self._parts = parts

    @cached_property
    def _places(self) -> list[_Span]:
        return self._parts(self._before.text) if self._before is not None else []

    def origins(self, found: list[_Span]) -> list[_Span]:
        """Where that stands in the text as it came."""
        if not found or self._before is None:
            return found
        places = self._places
        return self._before.origins([_Span(places[one.start].start, places[one.end - 1].end) for one in found])


def _views(text: str) -> Iterator[_View]:
    view = _View(text)
    yield view
    for _ in range(MOST_ESCAPES):
        plain = _ESCAPE.sub(lambda escape: _meaning(escape.group()), view.text)
        if plain == view.text:
            return
        view = _View(plain, view, _unescaped)
        yield view


def _unescaped(text: str) -> list[_Span]:
    places: list[_Span] = []
    done = 0
    for escape in _ESCAPE.finditer(text):
        places += (_Span(n, n + 1) for n in range(done, escape.start()))
        places += [_Span(*escape.span())] * len(_meaning(escape.group()))
        done = escape.end()
    return [*places, *(_Span(n, n + 1) for n in range(done, len(text)))]


def _meaning(escape: str) -> str:
    if escape[0] == "%":
        return unquote(escape, errors="replace")
    if escape[0] == "&":
        return html.unescape(escape)
    return chr(int(escape[2:], 16)) if escape[1] in "ux" else escape[1]


def _no_blanks(text: str) -> list[_Span]:
    return [_Span(n, n + 1) for n, one in enumerate(text) if not one.isspace()]


def _found(text: str, forms: Iterable[_Form]) -> list[_Span]:
    spans = []
    for form in forms:
        start = text.find(form.text[: form.least])
        while start >= 0:
            end = start + form.least
            while end - start < len(form.text) and text[end : end + 1] == form.text[end - start]:
                end += 1
            spans.append(_Span(start, end))
            start = text.find(form.text[: form.least], end)
    return spans


def _covered(text: str, spans: list[_Span]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if start > done or not pieces:
            pieces += [text[done:start], MASK]
        done = max(done, end)
    return "".join([*pieces, text[done:]])


def _least(secret: str) -> int:
    """The length of a beginning that is masked: half of a random secret, all of a secret of words."""
    return max(SHORTEST_BEGINNING, len(secret) // 2) if is_random(secret) and _PIECE.fullmatch(secret) else len(secret)


def _in_base64(secret: str) -> Iterator[_Form]:
    """The base64 of the secret at any place, without the characters that also contain bits of its neighbours."""
    for written in {secret, quote(secret, safe="")}:
        content = written.encode("utf-8", "surrogatepass")
        for before in range(3):
            first, last = -(-before * 8 // 6), (before + len(content)) * 8 // 6
            text = base64.b64encode(bytes(before) + content).decode()[first:last]
            if len(text) >= SHORTEST_IN_BASE64:
                yield _Form(text, max(SHORTEST_IN_BASE64, len(text) * _least(secret) // len(secret)))


def is_random(text: str) -> bool:
    """Whether the text looks random: letters and digits, or long. Other texts may be common words."""
    return _RANDOM.fullmatch(text) is not None


def in_address(address: str) -> Iterator[str]:
    """The parts of an address with a secret (a webhook's, for example) that may not be shown anywhere."""
    scheme, _, rest = address.partition("://")
    if not rest:
        return
    yield rest
    yield from passwords_in(address)
    yield from (piece for piece in _pieces(rest) if is_random(piece))
    authority, slash, path = rest.partition("/")
    host = authority.rpartition("@")[2]
    if slash and path:
        port = {"http": ":80", "https": ":443"}.get(scheme, "") if ":" not in host else ""
        yield from (f"{host}/{path}", f"{host}{port}/{path}")
        yield from [f"/{path}"] if path.strip("/").count("/") or "?" in path else []


def every_part(address: str, *, names_host: bool = True) -> Iterator[str]:
    """The parts of an address that may not be shown in answers of its host. ``names_host``: the address has a host,
    which is shown; addresses for apprise have none."""
    rest = address.partition("://")[2]
    authority, _, path = rest.partition("/")
    userinfo, _, host = authority.rpartition("@")
    yield from in_address(address)
    if not names_host:
        yield from _pieces(rest)
        return
    yield from (f"/{path}", path, f"/{path.partition('?')[0]}", path.partition("?")[2])
    yield from (piece for piece in _pieces(f"{userinfo} {path}") if piece not in host)


def passwords_in(text: str) -> Iterator[str]:
    """The user information before the host of an address, and its password."""
    for userinfo in re.findall(r"://([^/\s\"'@]*(?:@[^/\s\"'@]*)*)@", text):
        password = userinfo.partition(":")[2]
        for one in (userinfo, password or userinfo):
            yield from {one, unquote(one)}


def _pieces(text: str) -> Iterator[str]:
    for piece in _PIECE.findall(text):
        yield from {piece, unquote(piece)}


_lock = Lock()
_everywhere = SecretMask()


def hide(secrets: Iterable[str]) -> None:
    """Mask these from now on, for the life of the process."""
    global _everywhere
    with _lock:
        added = set(secrets) - _everywhere.secrets
        if added:
            _everywhere = SecretMask(_everywhere.secrets | added)


def forget() -> None:
    """Forget all secrets: each test has its own."""
    global _everywhere
    with _lock:
        _everywhere = SecretMask()


def masked(text: str) -> str:
    """The text with secrets masked."""
    return _everywhere.masked(text)
