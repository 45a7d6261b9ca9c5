"""What the first pages show is what a reader will see: one screen, real output, a picture that can be read, proper
Chinese.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from streaming.core.finding_kinds import ALERTING, KINDS

ROOT = Path(__file__).parents[1]
READMES = ("README.md", "README.zh-CN.md")
PAGE_PX = 830  # what GitHub gives a picture beside its columns
READABLE_PX = 12
CHINESE = r"[\u4e00-\u9fff]"
LINES_AT_MOST = 120
COMMANDS = [
    *("make setup", "make demo", "make setup", ".venv/bin/evenkeel replay", ".venv/bin/evenkeel web"),
    *(".venv/bin/evenkeel inspect", "evenkeel collect", "evenkeel run", "evenkeel COMMAND"),
]


def texts_around(text: str) -> str:
    """Without code, whose punctuation is its own, and without addresses of links."""
    lines = [re.sub(r"^    [^#]*#?", "", line) if line.startswith("    ") else line for line in text.splitlines()]
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", "\n".join(lines))


@pytest.mark.parametrize("page", READMES)
@pytest.mark.slow("processes are started")
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
def test_it_is_one_screen_with_one_picture(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES_AT_MOST
    assert text.count("![") == 1


@pytest.mark.parametrize(("page", "clone"), [("README.md", "git clone ADDRESS"), ("README.zh-CN.md", "克隆本仓库")])
def test_the_first_section_says_what_to_clone_what_to_run_and_what_is_needed(page: str, clone: str) -> None:
    section = re.split(r"(?m)^## .*$", (ROOT / page).read_text(encoding="utf-8"))[1]
    wanted = (clone, "    make setup ", "    make demo ", "Python 3.11", "Java 17", "GB", "docs/install.")
    assert [word for word in wanted if word not in section] == []


@pytest.mark.parametrize("page", READMES)
def test_it_names_the_same_commands_in_both_languages(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert re.findall(r"(?m)(?:^    |`)(make \w+|\S*evenkeel \w+)", text) == COMMANDS


@pytest.mark.parametrize("page", READMES)
def test_each_finding_that_alerts_has_its_row_and_no_other(page: str) -> None:
    rows = re.findall(r"(?m)^\| ([A-Z_]+) \| [^|]+ \| (\w+) \|$", (ROOT / page).read_text(encoding="utf-8"))
    assert sorted(rows) == sorted((kind.value, KINDS[kind].severity.value) for kind in ALERTING)


def test_chinese_has_full_width_punctuation() -> None:
    text = texts_around((ROOT / "README.zh-CN.md").read_text(encoding="utf-8"))
    half_width = re.findall(rf".{{0,9}}(?:{CHINESE}[,;:!?(]|[,;:!?)]{CHINESE}).{{0,9}}", text)

    assert half_width == []
