"""What docs/configuration.md shows is what happens."""

import re
from pathlib import Path

import pytest

from streaming.config.config_errors import ConfigFaults
from streaming.config.load import load_config
from streaming.config.sections import Config

TEXT = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")
BLOCKS = [re.sub(r"(?m)^    ", "", block) for block in re.findall(r"(?m)(?:^    .*\n|^\n(?=    ))+", TEXT)]


@pytest.mark.parametrize("block", [block for block in BLOCKS if re.match(r"\n?\[", block)])
def test_examples_are_accepted(block: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(block)
    assert load_config(tmp_path / "x.toml", {}) != Config()


def test_every_section_is_named() -> None:
    assert [name for name in Config.model_fields if f"`[{name}]`" not in TEXT and f"`[[{name}]]`" not in TEXT] == []


def test_faults_read_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.toml").write_text(
        '[job]\nshards = 0\n[source]\nbootstap_servers = "kafka-1:9092"\n[tables]\npath = "/etc/hosts/x"\n'
    )
    with pytest.raises(ConfigFaults) as raised:
        load_config(Path("my.toml"), {"EVENKEEL__JOB__TRIGGER_SECONDS": "5s"})
    (shown,) = (block for block in BLOCKS if block.lstrip().startswith("my.toml:2: "))
    assert sorted(str(raised.value).splitlines()) == sorted(shown.strip().splitlines())
