"""Signed requests, for clusters with ACL enabled (RocketMQ's ``AclClientRPCHook`` and ``AclUtils``)."""

import base64
import hashlib
import hmac
from collections.abc import Mapping

ACCESS_KEY = "AccessKey"
SIGNATURE = "Signature"


class Credentials:
    """An access key and its secret. No form of it that could be printed shows the secret."""

    __slots__ = ("_secret", "access_key")

    def __init__(self, access_key: str, secret_key: str) -> None:
        self.access_key = access_key
        self._secret = secret_key.encode()

    def __repr__(self) -> str:
        return f"Credentials({self.access_key!r}, ***)"

    def __reduce__(self) -> str:
        raise TypeError("credentials are not written down")

    def signed(self, ext_fields: Mapping[str, str], body: bytes = b"") -> dict[str, str]:
        """The fields with access key and signature: HMAC-SHA1 of the values, in the order of their names, and body."""
        fields = {**ext_fields, ACCESS_KEY: self.access_key}
        content = "".join(fields[name] for name in sorted(fields)).encode() + body
        digest = hmac.new(self._secret, content, hashlib.sha1).digest()
        return {**fields, SIGNATURE: base64.b64encode(digest).decode()}
