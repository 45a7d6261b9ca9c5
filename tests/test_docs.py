"""Links and commands of the docs, their list in docs/README.md, the words of docs/glossary.md, and the modules that
docs/architecture.md names.
"""

import re
import shlex
from itertools import takewhile
from pathlib import Path

import pytest

from streaming.cli import parser_with

ROOT = Path(__file__).parents[1]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
OF_OTHERS = "words-of-others"


def anchors(text: str) -> list[str]:
    return [title.lower().replace(" ", "-") for title in re.findall(r"^###? (.+)$", text, re.MULTILINE)]


ENTRIES = re.findall(r"^### (.+)\n\n((?:.+\n)+)", GLOSSARY, re.MULTILINE)


def test_entries_and_links_are_the_same() -> None:
    linked = {
        anchor
        for page in PAGES
        if page.name != "glossary.md"
        for anchor in re.findall(r"glossary\.md#([\w-]+)", page.read_text(encoding="utf-8"))
    }
    entries = {title.lower().replace(" ", "-") for title, _ in ENTRIES}
    assert linked - {OF_OTHERS} == entries
    assert OF_OTHERS in anchors(GLOSSARY)


@pytest.mark.parametrize(("title", "text"), ENTRIES, ids=[title for title, _ in ENTRIES])
def test_every_entry_names_code_that_there_is(title: str, text: str) -> None:
    paths = re.findall(r"`((?:bench|streaming|schemas)/[\w/]*(?:\.py)?)`", text)
    assert paths, "names no file"
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("suffix", [".md", ".zh-CN.md"])
def test_each_page_is_listed_once_in_the_language_of_the_list(suffix: str) -> None:
    listed = re.findall(r"(?m)^\| \[[^]]+\]\(([\w.-]+)\)", (ROOT / "docs" / f"README{suffix}").read_text("utf-8"))
    english = [page for page in PAGES if page.parent.name == "docs" and ".zh-CN" not in page.name]
    translated = [page.with_suffix(suffix) for page in english]
    pages = [(one if one.exists() else page).name for page, one in zip(english, translated, strict=True)]
    assert sorted(listed) == sorted({*pages, "charts.ipynb"} - {f"README{suffix}"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_docs_have_their_target(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([\w./-]*)(#[\w-]+)?\)", page.read_text(encoding="utf-8")):
        path = page.parent / target if target else page
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            assert anchor[1:] in headings(path), f"{target}{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_to_paste_are_commands(page: Path) -> None:
    """Lines of code that begin with evenkeel, or that run it by another program after `--`."""
    text = page.read_text(encoding="utf-8").replace("\\\n", "")
    for line in re.findall(r"""(?m)^ {4}(?:\S*/|.* -- )?evenkeel ([a-z](?:[^"'\n]|"[^"]*"|'[^']*')*)$""", text):
        words = shlex.shlex(line.replace(" PID", " 1"), posix=True, punctuation_chars=True)
        words.whitespace_split = True
        own = list(takewhile(lambda word: word[0] not in "<>|&;", words))
        parser_with([own[0]]).parse_args(own)


def headings(path: Path) -> set[str]:
    """As GitHub makes anchors of them."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_architecture_names_every_module_of_the_core_in_its_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("### Inside the core\n")[2].partition("\n### ")[0]
    named, package = set(), ""
    for first, modules in re.findall(r"^\|([^|]*)\|([^|]*)\|", section, re.MULTILINE)[2:]:
        package = {"–": "", "": package}.get(first.strip(), first.strip(" `"))
        named |= {package + module for module in re.findall(r"`(\w+)`", modules)}
    core = ROOT / "streaming" / "core"
    modules = {path.relative_to(core).with_suffix("").as_posix() for path in core.rglob("*.py")}
    assert named == {name for name in modules if not name.startswith("allocation/") and "__init__" not in name}
