"""``evenkeel config check``: every fault on a line of its own, or what is in effect."""

import socket
from pathlib import Path

import pytest

from streaming.cli import main

DEFAULTS = Path(__file__).parents[2] / "conf" / "evenkeel.toml"


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVENKEEL__JOB__SHARDS", raising=False)


def test_defaults_file_is_ok_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "check", str(DEFAULTS)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("ok\n\nOther than the defaults:\n  nothing\n\nIn effect:\n  source ")
    assert out.count("\n") == 17


def test_without_a_file_the_environment_alone_counts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENKEEL__JOB__SHARDS", "64")
    assert main(["config", "check"]) == 0
    assert "\n  job.shards = 64 from EVENKEEL__JOB__SHARDS (default 32)\n" in capsys.readouterr().out


def test_what_differs_is_shown_by_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.toml"
    path.write_text(
        """
        source.bootstrap_servers = "k:1"
        source.kafka.client.id = "keel"
        timing.stall_seconds = 90
        log.format = "json"
        tables.retention_days.facts = 0
        groups = [{ group = "a", strategy = "AVG", always_on = true }, { group = "b" }]
        """
    )
    assert main(["config", "check", str(path)]) == 0
    changed, effect = capsys.readouterr().out.removeprefix("ok\n\nOther than the defaults:\n").split("\n\n")
    assert changed.splitlines() == [
        '  source.bootstrap_servers = "k:1" (default "localhost:9092")',
        '  source.kafka.client.id = "keel"',
        "  tables.retention_days.facts = 0 (default 30)",
        "  timing.stall_seconds = 90 (default 60)",
        '  log.format = "json" (default "text")',
        '  groups[0]: cluster *, group a: strategy = "AVG", always_on = true',
        "  groups[1]: cluster *, group b: nothing said",
    ]
    assert "1 client option" in effect
    assert "facts for ever, queue_findings 90" in effect
    assert "timing   1 timer changed" in effect
    assert "groups   2 rules" in effect


def test_files_source_is_told_by_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.toml").write_text(f'[source]\nkind = "files"\nfolder = "{tmp_path}"\n')
    assert main(["config", "check", str(tmp_path / "x.toml")]) == 0
    assert f"source   files in {tmp_path}\n" in capsys.readouterr().out


def test_each_fault_has_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.toml"
    path.write_text('[job]\nshards = 0\n[log]\nlevel = "a\\nb"\nformt = "a\\nb"\n')
    assert main(["config", "check", str(path)]) == 2
    assert capsys.readouterr().out.splitlines() == [
        f"{path}:2: job.shards = 0: a whole number from 1 to 4096",
        f'{path}:4: log.level = "a\\nb": "DEBUG", "INFO", "WARNING" or "ERROR"',
        f'{path}:5: log.formt = "***": unknown key; did you mean log.format?',
    ]


def test_faults_of_the_alert_rules_are_told_along_with_those_of_the_file_that_names_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "alerts.toml").write_text("[pages]\nstorm_groups = 0\n")
    path = tmp_path / "x.toml"
    told = []
    for shards in (0, 1):
        path.write_text(f'[job]\nshards = {shards}\n[notify]\nalerts = "{tmp_path}/alerts.toml"\n')
        assert main(["config", "check", str(path)]) == 2
        told.append(capsys.readouterr().out.splitlines())
    of_alerts = f"{tmp_path}/alerts.toml:2: pages.storm_groups = 0: a whole number from 1 to 10000"
    assert told == [[f"{path}:2: job.shards = 0: a whole number from 1 to 4096", of_alerts], [of_alerts]]
    path.write_text('[notify]\nalerts = "/none.toml"\n')
    assert main(["config", "check", str(path)]) == 2
    assert capsys.readouterr().out == "/none.toml: cannot be read: No such file or directory\n"


def test_online_says_which_hosts_take_a_connection(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rules = tmp_path / "x.toml", tmp_path / "alerts.toml"
    with socket.socket() as open_one:
        open_one.bind(("127.0.0.1", 0))
        open_one.listen()
        there = f"127.0.0.1:{open_one.getsockname()[1]}"
        rules.write_text(f'[[sinks]]\nname = "ops"\nkind = "webhook"\nurl = "http://{there}/secret-path"\n')
        path.write_text(
            f'[source]\nbootstrap_servers = "{there}"\n[notify]\nalerts = "{rules}"\n'
            '[collector]\nclusters = { prod = "no-such-host.invalid:9876, 127.0.0.1:1" }\n'
        )
        assert main(["config", "check", str(path)]) == 0
        assert "Hosts:" not in capsys.readouterr().out
        assert main(["config", "check", "--online", str(path)]) == 3
    said = capsys.readouterr().out
    assert f"source.bootstrap_servers: {there}: takes a connection" in said
    assert f"sinks[0] ops: {there}: takes a connection" in said
    assert "collector.clusters.prod: no-such-host.invalid:9876: NO ANSWER: Name or service not known" in said
    assert "collector.clusters.prod: 127.0.0.1:1: NO ANSWER: Connection refused" in said
    assert "secret-path" not in said
