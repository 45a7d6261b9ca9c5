"""What CONTRIBUTING.md names is there: paths, targets and commands. The files for a forge, git and Docker are valid by
their schemas.
"""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from streaming.cli import parser_with

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "custom.github-workflows-require-timeout": WORKFLOWS,
    "vendor.github-issue-forms": FORMS,
    "vendor.compose-spec": [ROOT / "deploy" / "compose" / "docker-compose.yml"],
}
PATH = re.compile(r"[\w.][\w./-]*(?:/[\w./-]*|\.(?:md|py|toml))")


def parsed(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_every_path_is_there() -> None:
    code = [*re.findall(r"`([^`]+)`", PAGE), *re.findall(r"(?m)^    (.*)$", PAGE)]
    words = {word for text in code for word in text.split() if PATH.fullmatch(word)}
    paths = {word for word in words if not word.startswith(".venv/")}
    assert len(paths) > 80
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


def test_every_target_is_one_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"(?m)(?:`|^    )make ([a-z0-9-]+)", PAGE)
    assert set(named) - set(re.findall(r"(?m)^([a-z0-9-]+):", makefile)) == set()


def test_each_kind_of_change_has_a_test() -> None:
    rows = re.findall(r"(?m)^\| (.+) \| (.+) \| (.+) \|$", PAGE.partition("## Change it\n")[2])[2:]
    assert len(rows) > 20
    assert [what for what, _, tests in rows if "`tests/" not in tests] == []


@pytest.mark.slow("processes are started")
@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_that_others_read_fulfil_their_schema(schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, SCHEMAS[schema])]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_and_uses_well_known_actions(path: Path) -> None:
    workflow = parsed(path)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        used = [step["uses"] for step in job["steps"] if "uses" in step]
        assert [action for action in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []


def test_the_workflow_tries_each_supported_python() -> None:
    (job,) = parsed(ROOT / ".github" / "workflows" / "ci.yml")["jobs"].values()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    supported = SpecifierSet(project["requires-python"])
    assert job["strategy"]["matrix"]["python"] == [f"3.{minor}" for minor in range(40) if f"3.{minor}" in supported]


def test_workflows_call_what_a_contributor_calls() -> None:
    runs = {
        path.stem: [step.get("run", "") for job in parsed(path)["jobs"].values() for step in job["steps"]]
        for path in WORKFLOWS
    }
    assert ".ci/run" in runs["ci"]
    assert any("make package" in run for run in runs["release"])
    for path in ("deploy/kubernetes/evenkeel", "deploy/container/Containerfile"):
        assert path in "\n".join(runs["release"])
        assert (ROOT / path).exists()
    (hook,) = parsed(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    assert hook["entry"] == "make check"


def test_the_command_that_makes_a_bundle_is_a_command() -> None:
    (fault,) = (parsed(path) for path in FORMS if path.stem == "fault")
    (line,) = re.findall(
        r"(?m)^    evenkeel (.+)$", "\n".join(str(part["attributes"].get("description")) for part in fault["body"])
    )
    command, *options = shlex.split(line)
    assert parser_with([command]).parse_args([command, *options]).bundle
