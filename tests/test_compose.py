"""deploy/compose starts what it says, as evenkeel accepts it. It is not run: no engine is here."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from streaming.cli import main, parser_with

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "deploy" / "compose"
FILE = yaml.safe_load((FOLDER / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = FILE["services"]
OURS = ("collect", "run", "web")


def test_it_has_all_that_is_needed_to_try_evenkeel() -> None:
    of_others = {"namesrv", "broker", "kafka", "topic", "prometheus", "grafana"}
    assert SERVICES.keys() == {*OURS, *of_others}
    assert {name for name, service in SERVICES.items() if "EVENKEEL_IMAGE" in service["image"]} == set(OURS)


@pytest.mark.parametrize("name", OURS)
def test_the_commands_are_commands(name: str) -> None:
    command = SERVICES[name]["command"]
    assert command[0] == name
    parser_with([name]).parse_args(command)


def test_the_configuration_is_accepted_with_what_is_in_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "users").write_text("ada")
    variables = {name: str(value) for name, value in SERVICES["web"]["environment"].items() if "__" in name}
    for name, value in variables.items():
        monkeypatch.setenv(name, value.replace("/run/secrets", str(tmp_path)))
    assert main(["config", "check", str(FOLDER / "evenkeel.toml")]) == 0
    said = capsys.readouterr().out
    assert all(f"{key} = " in said for key in ("source.bootstrap_servers", "web.listen", "web.users"))


def test_addresses_are_those_of_services() -> None:
    text = (FOLDER / "evenkeel.toml").read_text(encoding="utf-8") + yaml.safe_dump(FILE)
    named = {host for host in re.findall(r"\b([a-z]+):(?:9092|9876|9464|9090)\b", text) if host != "localhost"}
    assert named == {"kafka", "namesrv", "run", "collect", "prometheus"}
    assert named <= SERVICES.keys()


def test_only_this_machine_reaches_it() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert published
    assert [port for port in published if not port.startswith("127.0.0.1:")] == []


def test_files_of_the_repository_that_it_mounts_are_there() -> None:
    mounted = [
        path.split(":")[0] for service in SERVICES.values() for path in service.get("volumes", ()) if path[0] == "."
    ]
    assert len(mounted) > len(OURS)
    assert [path for path in mounted if not (FOLDER / path).exists()] == []
