"""The law of statements over recordings of whole clusters, whose groups live side by side for minutes."""

from pathlib import Path

import pytest

from tests.inspect.test_law import ROOT, broken_whatever_is_withheld

CLUSTERS = sorted((ROOT / "tests" / "replay" / "clusters").glob("*.jsonl.gz"))


@pytest.mark.deep("every look at a recorded cluster")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("path", CLUSTERS, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_every_statement_follows_from_an_answer_whatever_is_withheld(path: Path) -> None:
    assert broken_whatever_is_withheld(path, 11)[:20] == []
