"""Checks that forms that change something come from this server: by a token, and by the browser's headers of origin."""

import hmac
from hashlib import sha256
from secrets import token_bytes
from urllib.parse import urlsplit

VALID_HOURS = 12
FROM_HERE = ("same-origin", "none")  # values of Sec-Fetch-Site; none: typed, or a bookmark
_HOUR_MS = 3_600_000


class FormTokens:
    """Tokens of forms. A token is bound to a user and to this process, and is valid for some hours."""

    def __init__(self) -> None:
        self._key = token_bytes(32)

    def token(self, user: str, now: int) -> str:
        return self._of(user, now // _HOUR_MS)

    def is_valid(self, token: str, user: str, now: int) -> bool:
        hour = now // _HOUR_MS
        valid = (self._of(user, hour - back).encode() for back in range(VALID_HOURS + 1))
        return any(hmac.compare_digest(one, token.encode()) for one in valid)

    def _of(self, user: str, hour: int) -> str:
        return hmac.new(self._key, f"{hour} {user}".encode(), sha256).hexdigest()


def comes_from_here(host: str, origin: str, site: str) -> bool:
    """True if the headers Origin and Sec-Fetch-Site name this server or are missing; a script may send none."""
    if site and site not in FROM_HERE:
        return False
    try:
        return not origin or (urlsplit(origin).netloc == host and bool(host))
    except ValueError:  # no browser sends such an origin
        return False


def is_meant(site: str) -> bool:
    """True if the browser reports that the request is from this server's page or the reader, not from another site."""
    return site in FROM_HERE


def is_embedded_elsewhere(site: str, mode: str) -> bool:
    """True if the browser reports that another site's page embeds or fetches this. Following a link is allowed."""
    return bool(site) and site not in FROM_HERE and mode != "navigate"
