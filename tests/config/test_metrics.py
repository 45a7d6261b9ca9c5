"""Where the metrics are served: every fault of ``[metrics]`` is named at once, with all others."""

from pathlib import Path

import pytest

from streaming.cli import main
from streaming.config.load import load_config
from streaming.config.sections import Config
from tests.config.test_faults import faults


def load(text: str, folder: Path, **environ: str) -> Config:
    (folder / "x.toml").write_text(text)
    return load_config(folder / "x.toml", environ, writes=())


def test_nothing_is_served_by_default() -> None:
    assert Config().metrics.address() is None


@pytest.mark.parametrize(
    ("listen", "address"),
    [("127.0.0.1:9464", ("127.0.0.1", 9464)), ("0.0.0.0:0", ("0.0.0.0", 0)), ("[::1]:9464", ("::1", 9464))],
)
def test_an_address_of_any_network_is_accepted(listen: str, address: tuple[str, int], tmp_path: Path) -> None:
    assert load(f'[metrics]\nlisten = "{listen}"', tmp_path).metrics.address() == address
    assert load("", tmp_path, EVENKEEL__METRICS__LISTEN=listen).metrics.address() == address


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    found = faults('[metrics]\nlisten = "9464"\nseries_limit = -1\nlimit = 3\n[job]\nshards = 0', tmp_path)
    assert sorted(found) == [
        "x.toml: job.shards = 0: a whole number from 1 to 4096",
        "x.toml: metrics.limit = 3: unknown key; use one of listen, series_limit",
        'x.toml: metrics.listen = "9464": host:port of this machine; port 0 is any that is free; or empty',
        "x.toml: metrics.series_limit = -1: a whole number from 0 to 1000000",
    ]


def test_the_pages_have_a_port_of_their_own(tmp_path: Path) -> None:
    (said,) = faults('[metrics]\nlisten = "0.0.0.0:8400"', tmp_path)
    assert said.endswith("another port than that of web.listen, 8400")
    assert load('[metrics]\nlisten = "127.0.0.1:0"\n[web]\nlisten = "127.0.0.1:0"', tmp_path).metrics.listen


@pytest.mark.parametrize("command", ["run", "collect", "notify"])
def test_a_wrong_option_is_named_as_it_was_written(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.toml").write_text(f'[notify]\nstate = "{tmp_path}"\n[metrics]\nlisten = "127.0.0.1:9464"')
    assert main([command, "--config", str(tmp_path / "x.toml"), "--metrics", "everywhere"]) != 0
    assert '--metrics: metrics.listen = "everywhere": host:port' in capsys.readouterr().err
