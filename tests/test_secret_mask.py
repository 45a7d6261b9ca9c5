"""The mask alone: which ways of writing a secret it finds, and what it leaves as it is."""

import base64
import json
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming import secret_mask
from streaming.secret_mask import MASK, SecretMask, every_part, hide, in_address, masked
from tests.canary import where_it_leaks, written

SECRETS = ["k7Q2x9mV4tR8wZ1pL6nB3cJ5", "pass/word+with=signs&49<>", 'quo"ted\\p4ssw0rd-xyz', "密码-2024-这是一个秘密"]


@pytest.mark.parametrize("secret", SECRETS)
def test_however_it_is_written_nothing_of_it_is_left(secret: str) -> None:
    mask = SecretMask([secret])
    for text in written(secret):
        shown = mask.masked(f"Cannot POST /{text} here")
        assert MASK in shown, text
        assert not where_it_leaks(secret, {"": shown}), (text, shown)
        assert shown.startswith("Cannot POST /")


@given(
    st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), min_size=8, max_size=60),
    st.text(max_size=40),
    st.text(max_size=40),
    st.integers(0, 3),
)
def test_any_secret_is_found_in_any_text(secret: str, before: str, after: str, way: int) -> None:
    ways = (secret, quote(secret, safe=""), json.dumps(secret)[1:-1], base64.b64encode(secret.encode()).decode())
    shown = SecretMask([secret]).masked(f"{before} {ways[way]} {after}")
    assert MASK in shown
    assert ways[way] not in shown or ways[way] in before + after


@given(st.text(max_size=200))
def test_text_without_a_secret_is_not_changed(text: str) -> None:
    assert SecretMask(["k7Q2x9mV4tR8wZ1pL6nB3cJ5"]).masked(text) == text


@given(st.text(max_size=80), st.text(max_size=80))
def test_what_stands_around_a_secret_stays(before: str, after: str) -> None:
    assert SecretMask(["k7Q2x9mV4tR8"]).masked(f"{before} k7Q2x9mV4tR8 {after}") == f"{before} *** {after}"


def test_beginning_alone_is_masked() -> None:
    """The other side may have cut it."""
    shown = SecretMask(["k7Q2x9mV4tR8wZ1pL6nB3cJ5"]).masked("Cannot POST /k7Q2x9mV4tR8wZ...")
    assert shown == "Cannot POST /***..."


def test_secrets_that_overlap_are_masked_together() -> None:
    assert SecretMask(["abcdef12", "ef12ghij", "f12g"]).masked("xabcdef12ghijy") == "x***y"


def test_words_of_an_address_are_not_masked_everywhere() -> None:
    address = "https://hooks.example/orders/evenkeel/T1JJ3T3L2aa?group=prod"
    mask = SecretMask(in_address(address))
    assert mask.masked("evenkeel: group prod/orders at hooks.example") == "evenkeel: group prod/orders at hooks.example"
    assert mask.masked(f"no {address} for T1JJ3T3L2aa") == "no https://*** for ***"


def test_words_of_an_address_are_masked_in_what_its_host_answers() -> None:
    mask = SecretMask(every_part("https://ops:pw12@hooks.example/topic?name=team"))
    assert mask.masked("hooks.example answered 404: no /topic?name=team, topic, team, ops, pw12 or b3BzOnB3MTI=") == (
        "hooks.example answered 404: no ***, ***, ***, ops, *** or ***I="
    )


def test_what_is_too_short_to_be_a_secret_is_shown() -> None:
    assert SecretMask(["abc", "", "  "]).masked("abc") == "abc"


def test_hidden_once_masked_for_good() -> None:
    hide(["k7Q2x9mV4tR8"])
    hide(["another9Secret"])
    assert masked("k7Q2x9mV4tR8 another9Secret") == "*** ***"
    secret_mask.forget()
    assert masked("k7Q2x9mV4tR8") == "k7Q2x9mV4tR8"


@pytest.mark.slow("a tenth of a second of work and more")
def test_page_of_a_megabyte_is_masked_in_a_moment() -> None:
    mask = SecretMask(f"k7Q2x9mV4tR8{n:04}" for n in range(30))
    page = "<td>orders &amp; more, %20 and so on</td>\n" * 25_000
    began = time.process_time()
    assert mask.masked(page) == page
    assert time.process_time() - began < 3
