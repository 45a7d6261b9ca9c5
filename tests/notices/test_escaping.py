"""Whatever a name holds, it acts in no channel."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from streaming.notices.escaping import escape

CHANNELS = ("plain", "markdown", "html", "slack")
TRICKS = (
    "\x1b]0;owned\x07 \u202egnp.exe \u2066 \u200f \u2028 \ud800 @all @所有人你好 <!channel> <@U1> "
    "<at user_id='all'></at> **b** _i_ __b__ `c` ~~s~~ [x](http://y) ![x](y) <b>x</b> <script>&amp;</script> # h"
)
NAMES = st.text(st.characters(), max_size=40) | st.text(alphabet="@al <!>*_`~[]()#-+=1.|\\&;\nx", max_size=40)


@pytest.mark.parametrize(
    ("channel", "text", "escaped"),
    [
        ("plain", "a\x1b[1m\u202eb\r", "a\\x1b[1m\\u202eb\\r"),
        ("plain", "one\ntwo", "one\ntwo"),
        ("plain", "@ALL @here 10.0.0.1@allx", "＠ALL ＠here 10.0.0.1@allx"),
        ("plain", "@所有人好", "＠所有人好"),
        ("plain", "<!channel> <@U1> a<b <atom", "＜!channel> ＜@U1> a<b <atom"),
        (
            "plain",
            "[ok](http://x) [ok][1] <http://x|ok> a[0](1) [b]",
            "[ok]（http://x) [ok]［1] ＜http://x|ok> a[0]（1) [b]",
        ),
        ("slack", "a<b>&c", "a&lt;b&gt;&amp;c"),
        ("html", "a<b>&'\"", "a&lt;b&gt;&amp;&#x27;&quot;"),
        ("markdown", "SAME_CLIENT_ID 10.0.0.5@12#34", "SAME_CLIENT_ID 10.0.0.5@12#34"),
        ("markdown", "*a* _b_ `c`", "\\*a\\* \\_b\\_ \\`c\\`"),
        ("markdown", "# h\n  - z\n12. y\n===", "\\# h  \n  \\- z  \n12\\. y  \n\\==="),
    ],
)
def test_escaped(channel: str, text: str, escaped: str) -> None:
    assert escape(text, channel) == escaped


def test_an_unknown_channel_is_refused() -> None:
    with pytest.raises(ValueError, match="no channel 'sms': plain"):
        escape("x", "sms")


@settings(max_examples=40)
@given(NAMES)
@example(TRICKS)
@pytest.mark.parametrize("channel", CHANNELS)
def test_nothing_acts_anywhere(channel: str, name: str) -> None:
    shown = escape(name, channel)
    assert all(one.isprintable() or one == "\n" for one in shown)
    assert shown.count("\n") == name.count("\n")
    assert not re.search(r"\]\(|\]\[|<[a-z]+:", shown, re.IGNORECASE)
    assert not re.search(r"@(all|here|channel|everyone|所有人)\b|<[!@#]|<at\b", shown, re.IGNORECASE)


@settings(max_examples=40)
@given(NAMES)
@example(TRICKS)
def test_markdown_shows_the_text_and_nothing_else(name: str) -> None:
    rendered = MarkdownIt("commonmark").enable("strikethrough").render(f"group: {escape(name, 'markdown')}")
    assert set(re.findall(r"<(/?\w+)", rendered)) <= {"p", "/p", "br"}


@settings(max_examples=40)
@given(NAMES)
@example(TRICKS)
def test_html_and_slack_get_no_tags(name: str) -> None:
    assert "<" not in escape(name, "html") + escape(name, "slack")
