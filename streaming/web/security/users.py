"""The file of users: one a line, with a right and a hash. Passwords have a slow hash; tokens are long and random.

ada  silence  scrypt:16384:8:1:SALT:HASH
ci   read     token:SHA256
"""

import hmac
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from hashlib import scrypt, sha256
from pathlib import Path
from secrets import token_bytes, token_urlsafe
from typing import NamedTuple

from streaming.errors import SetupError

COST, BLOCK, LANES = 1 << 14, 8, 1
MOST_COST = 1 << 17
MEMORY = 256 * 1024 * 1024
RIGHTS = ("read", "silence")
LONGEST_PASSWORD = 1024
LINE = "NAME, read or silence, and what 'evenkeel web --add-user' or '--add-token' has printed"


class User(NamedTuple):
    """An authenticated user. ``may_silence``: reading is a right of every user."""

    name: str
    may_silence: bool


class _Password(NamedTuple):
    cost: int
    block: int
    lanes: int
    salt: bytes
    hash: bytes

    def is_of(self, password: bytes) -> bool:
        made = scrypt(password, salt=self.salt, n=self.cost, r=self.block, p=self.lanes, maxmem=MEMORY, dklen=32)
        return hmac.compare_digest(made, self.hash)


_NOBODY = _Password(COST, BLOCK, LANES, b"no such user----", bytes(32))


class Users:
    """The users of a file; none without a file."""

    def __init__(self, passwords: dict[str, tuple[_Password, User]], tokens: dict[str, User]) -> None:
        self._passwords = passwords
        self._tokens = tokens

    def by_password(self, name: str, password: str) -> User | None:
        """The user with this password. It takes as long for an unknown name, so the time reveals no names."""
        known, user = self._passwords.get(name, (_NOBODY, None))
        is_right = known.is_of(password.encode()[:LONGEST_PASSWORD])
        return user if is_right else None

    def by_token(self, token: str) -> User | None:
        return self._tokens.get(sha256(token.encode()).hexdigest())


def read_users(path: str) -> Users:
    """Read the file. Raises SetupError that lists every wrong line."""
    if not path:
        return Users({}, {})
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} (web.users): cannot be read: {error}") from error
    passwords: dict[str, tuple[_Password, User]] = {}
    tokens: dict[str, User] = {}
    faults: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            name, right, secret = line.split()
            user = User(name, RIGHTS.index(right) == 1)
            kind, _, value = secret.partition(":")
            if kind == "token" and len(bytes.fromhex(value)) == 32:
                tokens[value.lower()] = user
            elif kind == "scrypt" and name not in passwords:
                passwords[name] = (_password(value), user)
            else:
                raise ValueError
        except (ValueError, NotBase64):
            faults.append(f"{path}:{number}: {LINE}; each name once with a password")
    if faults or not (passwords or tokens):
        raise SetupError("\n".join(faults) or f"{path} (web.users): a file with a user in it: {LINE}")
    return Users(passwords, tokens)


def _password(text: str) -> _Password:
    cost, block, lanes, salt, made = text.split(":")
    found = _Password(int(cost), int(block), int(lanes), b64decode(salt, validate=True), b64decode(made, validate=True))
    is_sound = COST <= found.cost <= MOST_COST and (found.block, found.lanes) == (BLOCK, LANES)
    if not is_sound or found.cost & (found.cost - 1) or len(found.salt) < 16 or len(found.hash) != 32:
        raise ValueError(text)
    return found


def password_line(name: str, right: str, password: str) -> str:
    """A line of the file. Raises SetupError for a name or password that is not allowed."""
    _check(name)
    if not 8 <= len(password.encode()) <= LONGEST_PASSWORD:
        raise SetupError(f"a password has 8 to {LONGEST_PASSWORD} bytes")
    salt = token_bytes(16)
    made = scrypt(password.encode(), salt=salt, n=COST, r=BLOCK, p=LANES, maxmem=MEMORY, dklen=32)
    return f"{name} {right} scrypt:{COST}:{BLOCK}:{LANES}:{b64encode(salt).decode()}:{b64encode(made).decode()}"


def new_token(name: str, right: str) -> tuple[str, str]:
    """A new token, which is not stored, and the line of the file for it."""
    _check(name)
    token = token_urlsafe(32)
    return token, f"{name} {right} token:{sha256(token.encode()).hexdigest()}"


def _check(name: str) -> None:
    if not name or len(name) > 64 or not name.isprintable() or any(one.isspace() or one in ":#" for one in name):
        raise SetupError(f"{name!r}: a name has 1 to 64 characters, none of them a blank, a colon or #")
