"""Authenticates users: by password, token, the header of a trusted proxy, or as anybody on this machine."""

import hmac
import time
from base64 import b64decode
from binascii import Error as NotBase64
from collections import OrderedDict
from hashlib import sha256
from secrets import token_bytes
from threading import BoundedSemaphore, Lock
from typing import NamedTuple

from streaming.http_serving import host_name
from streaming.networks import Network, is_in
from streaming.web.security.users import User, Users

LOCAL = "local"
REMEMBERED_S = 600
MOST_REMEMBERED = 1000
HASHES_AT_ONCE = 2
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class TooMany(Exception):
    """More passwords are waiting to be checked than the machine can hash at once."""


class AccessRules(NamedTuple):
    """The rules of access. ``may_silence``: names, or ``*`` for all.

    ``proxies``: addresses whose header ``proxy_header`` is trusted; "": none is. ``hosts``: names by which browsers
    reach the pages; none: any, but without authentication only this machine's.
    """

    users: Users
    needs_user: bool
    proxies: tuple[Network, ...] = ()
    proxy_header: str = ""
    may_silence: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()


class Access:
    """Checks access. A correct password is remembered for ten minutes by a keyed hash, since its own hash is slow."""

    def __init__(self, rules: AccessRules) -> None:
        self.rules = rules
        self._key = token_bytes(32)
        self._remembered: OrderedDict[bytes, tuple[float, User]] = OrderedDict()
        self._lock = Lock()
        self._hashing = BoundedSemaphore(HASHES_AT_ONCE)

    def is_host_known(self, host: str) -> bool:
        """True if the host is allowed. Without authentication only known ones are, against DNS rebinding."""
        name = host_name(host)
        if self.rules.hosts:
            return name in self.rules.hosts | LOCAL_NAMES
        return self.rules.needs_user or name in LOCAL_NAMES

    def user(self, peer: str, authorization: str = "", proxy_user: str = "") -> User | None:
        """The user; None: not allowed to read. ``peer``: the address at the other end of the connection. The others are
        values of headers. Raises TooMany.
        """
        if proxy_user and is_in(peer, self.rules.proxies):
            return self._named(proxy_user)
        if authorization:
            return self._by_authorization(authorization)
        return None if self.rules.needs_user else self._named(LOCAL)

    def _named(self, name: str) -> User:
        return User(name, bool({name, "*"} & self.rules.may_silence))

    def _by_authorization(self, header: str) -> User | None:
        scheme, _, value = header.partition(" ")
        if scheme.lower() == "bearer":
            return self.rules.users.by_token(value.strip())
        return self._by_password(value.strip()) if scheme.lower() == "basic" else None

    def _by_password(self, encoded: str) -> User | None:
        mark = hmac.new(self._key, encoded.encode(), sha256).digest()
        remembered = self._recall(mark)
        if remembered is not None:
            return remembered
        try:
            name, colon, password = b64decode(encoded, validate=True).decode().partition(":")
        except (NotBase64, ValueError):
            return None
        if not colon:
            return None
        if not self._hashing.acquire(blocking=False):
            raise TooMany
        try:
            user = self.rules.users.by_password(name, password)
        finally:
            self._hashing.release()
        if user is not None:
            self._remember(mark, user)
        return user

    def _recall(self, mark: bytes) -> User | None:
        with self._lock:
            found = self._remembered.get(mark)
        return found[1] if found is not None and time.monotonic() - found[0] < REMEMBERED_S else None

    def _remember(self, mark: bytes, user: User) -> None:
        with self._lock:
            self._remembered[mark] = (time.monotonic(), user)
            self._remembered.move_to_end(mark)
            while len(self._remembered) > MOST_REMEMBERED:
                self._remembered.popitem(last=False)
