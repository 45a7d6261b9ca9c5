"""The sentences that people read at night use the field's words, and none of those that made readers stop."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

STREAMING = Path(__file__).parents[2] / "streaming"
FILES = (
    *sorted((STREAMING / "notices").glob("*english.py")),
    STREAMING / "web" / "words" / "english.py",
    *sorted((STREAMING / "explain").glob("*.py")),
    *sorted((STREAMING / "inspect").glob("*.py")),
)
AVOIDED = re.compile(r"\b(told|said|anew|whoever|nobody's|holds?|rests? on|shared? out|so many at once)\b")


def sentences(file: Path) -> Iterator[str]:
    """The texts of a file that are longer than a word; no docstrings, and no names of values in them."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    statements = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    for one in ast.walk(tree):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in statements:
            text = re.sub(r"\{[^{}]*\}", "", one.value)
            if " " in text.strip():
                yield text


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_no_sentence_uses_a_word_that_readers_stop_at(file: Path) -> None:
    assert [text for text in sentences(file) if AVOIDED.search(text)] == []


def test_chinese_has_one_word_for_a_consumer_group() -> None:
    files = [*(STREAMING / "notices").glob("*chinese.py"), STREAMING / "web" / "words" / "chinese.py"]
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    assert re.findall(r"该组|此组|个组|订阅组|消费者组|主题", text) == []
    assert "消费组" in text
