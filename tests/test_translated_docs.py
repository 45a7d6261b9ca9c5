"""The Chinese docs of the first hour have what the English ones have, and pages in Chinese link to them."""

import re
from pathlib import Path

import pytest

from streaming.notices.chinese import CHINESE
from streaming.notices.english import ENGLISH
from streaming.notices.page_parts import about

DOCS = Path(__file__).parents[1] / "docs"


def text(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def headings(name: str) -> list[str]:
    return re.findall(r"(?m)^(#+) ", text(name))


def sections_of_names(name: str) -> list[str]:
    """Kinds and causes that have a section of their own, in their order."""
    return re.findall(r"(?m)^### ([A-Z_]+)$", text(name))


def commands(name: str) -> list[str]:
    """The lines to paste, without what is said beside them."""
    lines = re.findall(
        r"(?m)^    (?:\.venv|git|make|curl|\[|python3|pipx|uv|online|/opt|evenkeel|jars_folder).*$", text(name)
    )
    return [line.partition("  #")[0].rstrip() for line in lines]


@pytest.mark.parametrize("name", ["install", "web"])
def test_both_languages_have_the_same_sections_and_commands(name: str) -> None:
    assert headings(f"{name}.zh-CN.md") == headings(f"{name}.md")
    assert commands(f"{name}.zh-CN.md") == commands(f"{name}.md")


def test_each_kind_and_each_cause_is_explained_in_chinese() -> None:
    names = sections_of_names("findings.md")
    assert sections_of_names("findings.zh-CN.md") == names
    for section in re.split(r"(?m)^### ", text("findings.zh-CN.md"))[1:]:
        name = section.split("\n", 1)[0]
        if name in names and name not in ("MATCH", "POLLED", "EXCLUDED"):
            assert "- *怎么办*：" in section, name


def test_a_page_leads_to_the_docs_in_its_language() -> None:
    for name in {*ENGLISH.kinds, *ENGLISH.causes}:
        for words, file in ((ENGLISH, "findings.md"), (CHINESE, "findings.zh-CN.md")):
            assert about([name], words, "docs") == f"docs/{file}#{name.lower()}"
            assert f"\n### {name}\n" in text(file)


def test_both_readmes_lead_to_them() -> None:
    chinese = (DOCS.parent / "README.zh-CN.md").read_text(encoding="utf-8")
    for name in ("findings", "install", "web"):
        assert f"docs/{name}.zh-CN.md" in chinese
        assert f"]({name}.zh-CN.md)" in text(f"{name}.md")
    assert "docs/install.md" in (DOCS.parent / "README.md").read_text(encoding="utf-8")
