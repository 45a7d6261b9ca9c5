"""The files that evenkeel gives to begin with are those of conf/ and deploy/systemd/. No other file is overwritten."""

from pathlib import Path

import pytest

from streaming.cli import main

CONF = Path(__file__).parents[2] / "conf"
UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
FILES = {path.relative_to(CONF): path.read_bytes() for path in CONF.rglob("*") if path.is_file()}
FILES |= {Path("systemd", path.name): path.read_bytes() for path in UNITS.iterdir()}


def exported(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_first_configuration_is_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "init"]) == 0
    printed = capsys.readouterr().out
    assert printed == (CONF / "evenkeel.toml").read_text("utf-8")
    (tmp_path / "my.toml").write_text(printed, "utf-8")
    assert main(["config", "check", str(tmp_path / "my.toml")]) == 0


def test_export_writes_every_file_and_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):  # what is there already is the same
        assert main(["config", "export", str(tmp_path / "new" / "here")]) == 0
        assert exported(tmp_path / "new" / "here") == FILES
        printed = {Path(line).relative_to(tmp_path / "new" / "here") for line in capsys.readouterr().out.splitlines()}
        assert printed == set(FILES)


@pytest.mark.parametrize("name", ["alerts.toml", "prometheus/prometheus.yml"])
def test_export_overwrites_no_other_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    (tmp_path / "unrelated.toml").write_text("mine")
    assert main(["config", "export", str(tmp_path)]) == 2
    assert f"{tmp_path} has other files of these names, and none was overwritten: {name}." in capsys.readouterr().err
    assert exported(tmp_path) == {Path(name): b"mine", Path("unrelated.toml"): b"mine"}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["config", "export", str(tmp_path / "file")]) == 2
    assert f"evenkeel: {tmp_path}/file cannot be written: " in capsys.readouterr().err
