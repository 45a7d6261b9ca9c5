"""Questions about the state never write: a function that is named like a question changes nothing."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "streaming" / "core"
QUESTION = re.compile(r"_*(is|are|was|were|has|have|had|may|can|goes|comes|needs|lets|tells|judge)_")
WRITES = {
    "add",
    "append",
    "clear",
    "discard",
    "emit",
    "extend",
    "insert",
    "pop",
    "remove",
    "request_evaluation",
    "update",
}


def written_by(function: ast.FunctionDef) -> Iterator[str]:
    """What the function changes that was there before it was called."""
    own = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield ast.unparse(node)
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES
        if is_call and ast.unparse(node.func.value) not in own:
            yield ast.unparse(node)


def questions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in CORE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and QUESTION.match(node.name):
                yield f"{path.relative_to(CORE)}:{node.name}", node


@pytest.mark.slow("minutes and hours of a group are folded")
def test_what_is_named_like_a_question_writes_nothing() -> None:
    named = dict(questions())
    assert len(named) > 100
    assert {name: writes for name, node in named.items() if (writes := list(written_by(node)))} == {}
