"""Where pictures are shown: colours for a terminal, none elsewhere."""

import io
import json

import pytest
from rich.console import Console

from streaming.inspect.screen import Screen
from streaming.inspect.snapshot import EmptyGroups, InspectedCluster
from streaming.progress import waiting
from tests.inspect.looks import fleet, looked_at, picture

ALTERNATE = "\x1b[?1049"


def pictures(name: str = "g") -> list[InspectedCluster]:
    one = fleet(group=name)
    one.join("x", "y")
    groups = (picture(looked_at(one)),)
    return [
        InspectedCluster(
            cluster="c", ts=0, looked_s=6, brokers=("a", "b"), untold=(), empty=EmptyGroups(), silent={}, groups=groups
        )
    ]


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=80, height=30, color_system="standard")


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_terminal_gets_colours() -> None:
    console = terminal()
    Screen(console=console).show(pictures())
    assert "\x1b[32m" in written(console)


def test_pipe_gets_text_alone(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    screen = Screen()
    with screen.redrawn(), waiting("Asking"):
        screen.show(pictures("[red]g[/red]"))
    out, err = capsys.readouterr()
    assert "healthy   [red]g[/red]  2 members" in out
    assert out.isascii()
    assert "\x1b" not in out
    assert err == ""


def test_watched_picture_is_redrawn_and_the_last_one_stays() -> None:
    console = terminal()
    screen = Screen(console=console)
    with screen.redrawn():
        screen.show(pictures("first"))
        screen.show(pictures("second"))
    shown = written(console)
    assert shown.count(f"{ALTERNATE}h") == shown.count(f"{ALTERNATE}l") == 1
    after = shown.split(f"{ALTERNATE}l")[1]
    assert "second" in after
    assert "first" not in after


def test_json_has_a_line_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(as_json=True)
    with screen.redrawn():
        screen.show(pictures("\ud800"))
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["group"] == "\ud800"
