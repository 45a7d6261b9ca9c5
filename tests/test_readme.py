"""What the first pages show is what a reader will see: real output, a picture that can be read, proper Chinese."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
READMES = ("README.md", "README.zh-CN.md")
PAGE_PX = 830  # what GitHub gives a picture beside its columns
READABLE_PX = 12
CHINESE = r"[\u4e00-\u9fff]"


def texts_around(text: str) -> str:
    """Without code, whose punctuation is its own, and without addresses of links."""
    lines = [re.sub(r"^    [^#]*#?", "", line) if line.startswith("    ") else line for line in text.splitlines()]
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", "\n".join(lines))


@pytest.mark.parametrize("page", READMES)
@pytest.mark.slow
def test_the_excerpt_is_what_the_replay_says(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    (excerpt,) = re.findall(r"^    51\.1 s .*\n(?:^ {12}.*\n)+", text, re.MULTILINE)
    (command,) = re.findall(r"evenkeel (replay streaming/demo/recordings/[^\s`]+)", text)
    asked = [sys.executable, "-m", "streaming", *command.split(), "--engine", "core"]
    said = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert excerpt in said


@pytest.mark.parametrize("page", READMES)
def test_the_picture_can_be_read_at_the_width_of_a_page(page: str) -> None:
    (name,) = re.findall(r"!\[[^\]]*\]\((\S+\.svg)\)", (ROOT / page).read_text(encoding="utf-8"))
    picture = (ROOT / name).read_text(encoding="utf-8")
    width = float(re.findall(r'viewBox="0 0 ([\d.]+) ', picture)[0])
    letters = float(re.findall(r"font-size: (\d+)px", picture)[0])

    assert letters * min(1, PAGE_PX / width) >= READABLE_PX


@pytest.mark.parametrize("page", READMES)
def test_the_first_lines_say_what_to_clone_and_what_is_needed(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    first = "\n".join(text.splitlines()[:10])
    assert [word for word in ("git clone", "make setup", "Python 3.10", "Java 17", "GB") if word not in first] == []
    (anchor,) = re.findall(r"\]\(#(\S+)\)", first)
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert anchor in [heading.lower().replace(" ", "-") for heading in headings]
    ways = text.partition("| --- | --- | --- |\n")[2].split("\n\n")[0]
    commands = [re.findall(r"(make demo|evenkeel (?:inspect|collect|run|replay))", row) for row in ways.splitlines()]
    assert commands == [["make demo"], ["evenkeel inspect"], ["evenkeel collect", "evenkeel run"], ["evenkeel replay"]]


def test_chinese_has_full_width_punctuation() -> None:
    text = texts_around((ROOT / "README.zh-CN.md").read_text(encoding="utf-8"))
    half_width = re.findall(rf".{{0,9}}(?:{CHINESE}[,;:!?(]|[,;:!?)]{CHINESE}).{{0,9}}", text)

    assert half_width == []
