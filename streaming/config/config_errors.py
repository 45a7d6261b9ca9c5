"""The faults of a configuration and their text: place, key, value, and what is allowed."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import SecretStr

from streaming.errors import ConfigError

KeyPath = tuple[str | int, ...]

HIDDEN = "***"
LONGEST_SHOWN_VALUE = 120

_SECRET = re.compile(r"secret|passw|passphrase|token|jaas|credential|access[._]?key|private|\bsas\b|\burl\b", re.I)
_SECRET_PROPERTY = re.compile(rf"-D[^\s=]*(?:{_SECRET.pattern})[^\s=]*=", re.I)
_OPEN_KAFKA_OPTION = re.compile(
    r"security\.protocol|sasl\.mechanism|client\.id|group\.id|.+\.(ms|bytes|records|location|type|algorithm)"
)

# In a log: names as in JSON, in a header, or in the options of a program; the value may be quoted within JSON.
# They are looked for from the beginning of a word, and with a bound: else a line of one long word takes minutes.
_KEY = r"(?:api|routing|integration|service|subscription|account|shared|signing|encryption|license)[._ -]?key"
_SECRET_NAME = rf"(?<![\w.-])[\w.-]*(?:{_SECRET.pattern}|{_KEY}|pwd|authorization|cookie)[\w.-]{{0,255}}"
_VALUE = r"(?:\\\"[^\"\n]*\"|\"[^\"\n]*\"|'[^'\n]*'|(?:(?:Bearer|Basic)\s+)?[^\s,;\"'&]+)"
_NAMED_SECRET = re.compile(rf"({_SECRET_NAME}\\?[\"']?\s*[=:]\s*){_VALUE}", re.I)
_OPTION = re.compile(rf"((?=--){_SECRET_NAME}[ \t]+)(?!-){_VALUE}", re.I)
_HEADER = re.compile(r"((?<![\w-])(?:[\w-]*authorization|[\w-]*cookie)[ \t]*[:=])[ \t]*(?!\s|\\?[\"'])[^\n]+", re.I)
_QUERY = re.compile(r"([?&](?:[\w.-]*sig(?:nature)?|key|code|auth)=)[^\s&\"'<>]+", re.I)
_PATH_OF_ADDRESS = re.compile(r"(\bhttps?://[^/?\s\"'<>]+)[/?][^\s\"'<>]+", re.I)
_BEGIN, _END = r"-----BEGIN [A-Z ]*PRIVATE KEY-----", r"-----END [A-Z ]*PRIVATE KEY-----"
# Line ends may be written as \n. The end of a log may begin within a key, and a log may end within one.
_PRIVATE_KEY = re.compile(
    rf"({_BEGIN})(?:(?:\s|\\[nr])+(?:Proc-Type:[^\n]*|DEK-Info:[^\n]*|[A-Za-z0-9+/=]+))+"
    rf"|\A(?:[A-Za-z0-9+/=]+\r?\n)+(?={_END})"
)
_USERINFO = re.compile(r"://[^/@\s\"]+@")


NO_VALUE = object()  # of a fault without a value to show


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault. ``where``: the file or the environment variable; ``allowed``: what to write instead."""

    where: str
    key: KeyPath
    value: object
    allowed: str

    def __str__(self) -> str:
        parts = [self.where]
        if self.key:
            shown = "" if self.value is NO_VALUE else f" = {shown_value(self.key, self.value)}"
            parts.append(f"{key_text(self.key)}{shown}")
        return without_userinfo(": ".join([*parts, self.allowed]))


class ConfigFaults(ConfigError):
    """All faults of a configuration; the message has one line for each. ``rest``: the configuration without them."""

    def __init__(self, faults: Sequence[Fault], rest: object = None) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)
        self.rest = rest


def key_text(key: KeyPath) -> str:
    """The key as text, such as ``groups[0].strategy``; the first rule is 0."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def is_secret(key: KeyPath) -> bool:
    """True if the value must not be shown, by its key alone. Kafka's options are secret unless known to be harmless."""
    if key[:2] in (("source", "kafka"), ("collector", "kafka")) and len(key) > 2:
        return not _OPEN_KAFKA_OPTION.fullmatch(".".join(map(str, key[2:])))
    return any(isinstance(part, str) and _SECRET.search(part) for part in key)


def sounds_secret(name: str) -> bool:
    """True if the name of a key, an option or a variable sounds like that of a secret."""
    return _SECRET.search(name) is not None


def holds_secret_property(text: str) -> bool:
    """True if Java options set a property that sounds like a secret, as ``-Djavax.net.ssl.keyStorePassword=...``."""
    return _SECRET_PROPERTY.search(text) is not None


def without_secret_properties(text: str) -> str:
    """Java options up to the first value of such a property: only Java knows where a quoted value ends."""
    found = _SECRET_PROPERTY.search(text)
    return text if found is None else f"{text[: found.end()]}{HIDDEN}"


def without_userinfo(text: str) -> str:
    """Addresses without the name and password before their host."""
    return _USERINFO.sub(f"://{HIDDEN}@", text)


def without_named_secrets(text: str) -> str:
    """A text of somebody else, such as a log, without what looks like a secret: values whose name sounds so, private
    keys, and the users, paths and queries of addresses, because a webhook's secret is its path.
    """
    text = _PRIVATE_KEY.sub(rf"\1{HIDDEN}", without_userinfo(text))
    text = _PATH_OF_ADDRESS.sub(rf"\1/{HIDDEN}", text)
    text = _HEADER.sub(rf"\1 {HIDDEN}", text)
    for named in (_QUERY, _OPTION, _NAMED_SECRET):
        text = named.sub(rf"\1{HIDDEN}", text)
    return text


def shown_value(key: KeyPath, value: object) -> str:
    """The value as TOML writes it, on one line, shortened, and without secrets."""
    text = without_userinfo(json.dumps(_shown(key, value), ensure_ascii=False, default=str))
    return text if len(text) <= LONGEST_SHOWN_VALUE else f"{text[:LONGEST_SHOWN_VALUE]}..."


def _shown(key: KeyPath, value: object) -> object:
    if isinstance(value, dict):
        return {str(name): _shown((*key, str(name)), inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(key, inner) for inner in value]
    if is_secret(key):
        return HIDDEN
    if isinstance(value, SecretStr):
        return without_secret_properties(value.get_secret_value())
    if isinstance(value, str):
        return without_secret_properties(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
