"""Whatever a name holds, it acts in no chat."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streaming.notices.escaping import escape

TRICKS = (
    "\x1b]0;owned\x07 \u202egnp.exe \u2066 \u200f \u2028 \ud800 @all @所有人你好 <!channel> <@U1> "
    "<at user_id='all'></at> **b** _i_ __b__ `c` ~~s~~ [x](http://y) ![x](y) <b>x</b> <script>&amp;</script> # h"
)
NAMES = st.text(st.characters(), max_size=40) | st.text(alphabet="@al <!>*_`~[]()#-+=1.|\\&;\nx", max_size=40)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a\x1b[1m\u202eb\r", "a\\x1b[1m\\u202eb\\r"),
        ("one\ntwo", "one\ntwo"),
        ("@ALL @here 10.0.0.1@allx", "＠ALL ＠here 10.0.0.1@allx"),
        ("@所有人好", "＠所有人好"),
        ("<!channel> <@U1> a<b <atom", "＜!channel> ＜@U1> a<b <atom"),
        ("[ok](http://x) [ok][1] <http://x|ok> a[0](1) [b]", "[ok]（http://x) [ok]［1] ＜http://x|ok> a[0]（1) [b]"),
    ],
)
def test_escaped(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@settings(max_examples=40)
@given(NAMES)
@example(TRICKS)
def test_nothing_acts_anywhere(name: str) -> None:
    shown = escape(name)
    assert all(one.isprintable() or one == "\n" for one in shown)
    assert shown.count("\n") == name.count("\n")
    assert not re.search(r"\]\(|\]\[|<[a-z]+:", shown, re.IGNORECASE)
    assert not re.search(r"@(all|here|channel|everyone|所有人)\b|<[!@#]|<at\b", shown, re.IGNORECASE)
