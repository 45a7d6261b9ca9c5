"""A secret that a test plants, and the ways to write it that must be found nowhere afterwards."""

import base64
import html
import json
import re
from urllib.parse import quote, unquote

LEAST = 12  # so much of a secret gives it away


def written(secret: str) -> list[str]:
    """As it is, behind the escapes of addresses, JSON and HTML, and in base64, within texts at any place."""
    every = "".join(f"%{byte:02x}" for byte in secret.encode())
    plain = [secret, quote(secret, safe=""), quote(quote(secret, safe=""), safe=""), every]
    plain += [json.dumps(secret)[1:-1], json.dumps(secret)[1:-1].replace("/", "\\/"), html.escape(secret)]
    plain += ["".join(f"\\u{ord(one):04x}" for one in secret)]
    packed = [base64.b64encode(f"{'u' * before}{secret}:x".encode()).decode() for before in range(4)]
    packed += [base64.urlsafe_b64encode(f"{'u' * before}{secret}".encode()).decode() for before in range(3)]
    return plain + packed + [base64.encodebytes(b"GET /" * 11 + secret.encode()).decode()]


def where_it_leaks(secret: str, texts: dict[str, str]) -> list[str]:
    """The names of the texts in which it can be read, by a search of another kind than the mask's own."""
    found = []
    for name, text in texts.items():
        for _ in range(4):
            flat = "".join(text.split())
            if secret[:LEAST] in text or any(part in flat or part in flat.translate(_SAFE) for part in _packed(secret)):
                found.append(name)
                break
            text = html.unescape(unquote(_CODE.sub(lambda code: chr(int(code[1], 16)), text.replace("\\/", "/"))))
    return found


_CODE = re.compile(r"\\u([0-9a-f]{4})")
_SAFE = str.maketrans("-_", "+/")


def _packed(secret: str) -> list[str]:
    """The middle of what base64 makes of its beginning, at each of the three places."""
    return [base64.b64encode(("\0" * n + secret[: LEAST + 3]).encode()).decode()[n and 3 : -4] for n in range(3)]
