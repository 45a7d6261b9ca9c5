"""Signed requests: as RocketMQ's own client signs them, and without showing the secret."""

import base64
import copy
import hashlib
import hmac
import pickle

import pytest

from streaming.collector.wire.acl import Credentials

SECRET = "hunter2"


def test_signature_covers_the_values_in_the_order_of_their_names_and_the_body() -> None:
    fields = Credentials("key", SECRET).signed({"topic": "T", "consumerGroup": "订单"}, b"body")
    content = "key" + "订单" + "T"  # AccessKey, consumerGroup, topic
    expected = hmac.new(SECRET.encode(), content.encode() + b"body", hashlib.sha1).digest()
    assert fields == {
        "topic": "T",
        "consumerGroup": "订单",
        "AccessKey": "key",
        "Signature": base64.b64encode(expected).decode(),
    }


def test_secret_is_shown_nowhere() -> None:
    credentials = Credentials("key", SECRET)
    shown = f"{credentials} {credentials!r} {credentials.signed({})}"
    assert SECRET not in shown
    for write in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="not written down"):
            write(credentials)
