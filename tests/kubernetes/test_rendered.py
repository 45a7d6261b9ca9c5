"""What the chart makes of four files of values, as Helm rendered it (``chart``)."""

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from streaming import __version__
from streaming.cli import main, parser_with
from streaming.config.alerts import Alerts
from streaming.config.sections import Config
from streaming.metrics.endpoints import ENDPOINTS, STANDBY_IS_READY
from tests.kubernetes.chart import CHART, NAMES, RULES, checksum, golden, objects, values
from tests.kubernetes.schema_faults import faults

WAITS = ("run", "notify")  # commands with --standby
Object = dict[str, Any]

each = pytest.mark.parametrize("name", NAMES)


@lru_cache
def rendered(name: str) -> list[Object]:
    return objects(golden(name).read_text(encoding="utf-8"))


def of_kind(name: str, kind: str) -> list[Object]:
    return [one for one in rendered(name) if one["kind"] == kind]


def deployments(name: str) -> Iterator[tuple[str, Object, Object]]:
    """Each component's name, the specification of its pods, and its container."""
    for one in of_kind(name, "Deployment"):
        pods = one["spec"]["template"]["spec"]
        (container,) = pods["containers"]
        yield one["metadata"]["labels"]["app.kubernetes.io/component"], pods, container


def files(name: str) -> dict[str, str]:
    (config,) = of_kind(name, "ConfigMap")
    return dict(config["data"])


@each
def test_it_is_of_this_chart(name: str) -> None:
    said = golden(name).read_text(encoding="utf-8").partition("\n")[0].split()[-1]
    assert said == checksum(name), (
        "UPDATE_GOLDEN=1 python -m pytest tests/kubernetes, with Helm (tests/kubernetes/programs.py)"
    )


@each
def test_kubernetes_accepts_every_object(name: str) -> None:
    assert faults(rendered(name)) == []


def test_a_field_that_kubernetes_does_not_know_is_a_fault() -> None:
    text = golden("small").read_text(encoding="utf-8").replace("readOnlyRootFilesystem", "readOnlyRoot")
    assert {message.partition("(")[2] for _, _, message in faults(objects(text))} == {"'readOnlyRoot' was unexpected)"}


@pytest.fixture
def on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Writes the configuration, with the folders of the image here, and Secrets that have something in them."""
    monkeypatch.setenv("PAGERDUTY_KEY", "0123456789abcdef")

    def write(name: str) -> Path:
        for file, text in files(name).items():
            for folder in ("/var/lib/evenkeel", "/etc/evenkeel", "/opt/evenkeel", "/run/secrets/evenkeel"):
                text = text.replace(f'"{folder}/', f'"{tmp_path}{folder}/')
            for secret in re.findall(rf'"({tmp_path}/run/secrets/.*?)"', text):
                Path(secret).parent.mkdir(parents=True, exist_ok=True)
                Path(secret).write_text("something\n")
            (tmp_path / "opt" / "evenkeel" / "jars").mkdir(parents=True, exist_ok=True)
            (tmp_path / "etc" / "evenkeel").mkdir(parents=True, exist_ok=True)
            (tmp_path / "etc" / "evenkeel" / file).write_text(text, encoding="utf-8")
        return tmp_path / "etc" / "evenkeel" / "evenkeel.toml"

    return write


@each
def test_evenkeel_accepts_the_configuration(
    name: str, on_this_machine: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = on_this_machine(name)
    status = main(["config", "check", str(path)])
    assert status == 0, capsys.readouterr().out
    path.write_text(path.read_text().replace("bootstrap_servers", "bootstrap_server"))
    assert main(["config", "check", str(path)]) == 2


@each
def test_evenkeel_accepts_what_the_environment_overrides(
    name: str,
    on_this_machine: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = on_this_machine(name)
    for _, _, container in deployments(name):
        for variable in container["env"]:
            if variable["name"].startswith("EVENKEEL__"):
                monkeypatch.setenv(variable["name"], variable["value"].replace("/etc/evenkeel", str(path.parent)))
    status = main(["config", "check", str(path)])
    assert status == 0, capsys.readouterr().out


@each
@pytest.mark.slow("Helm is started")  # it imports four commands
def test_evenkeel_knows_every_command_line(name: str) -> None:
    for component, _, container in deployments(name):
        arguments = parser_with([component]).parse_args(container["args"])
        assert str(arguments.config) == "/etc/evenkeel/evenkeel.toml"
        assert getattr(arguments, "standby", None) is (True if component in WAITS else None)
        assert "command" not in container  # the image's own entry point


@each
def test_probes_ask_what_evenkeel_answers(name: str) -> None:
    for component, _, container in deployments(name):
        (port,) = container["ports"]
        section = "web" if component == "web" else "metrics"
        listen = re.search(rf'\[{section}\]\n(?:.+\n)*?listen = ".*:(\d+)"', files(name)["evenkeel.toml"])
        assert listen is not None
        assert int(listen[1]) == port["containerPort"]
        asked = {probe: container[probe]["httpGet"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
        assert {one["port"] for one in asked.values()} == {port["name"]}
        assert asked["startupProbe"] == asked["livenessProbe"]
        assert asked["livenessProbe"]["path"] == "/healthz"
        path, _, query = asked["readinessProbe"]["path"].partition("?")
        assert path == ("/healthz" if component == "web" else "/readyz")
        assert path in ENDPOINTS
        assert query == (STANDBY_IS_READY.decode() if component in WAITS else "")


@each
def test_pods_have_no_rights_that_they_do_not_need(name: str) -> None:
    (account,) = of_kind(name, "ServiceAccount")
    assert account["automountServiceAccountToken"] is False
    for _, pods, container in deployments(name):
        assert pods["automountServiceAccountToken"] is False
        assert pods["serviceAccountName"] == account["metadata"]["name"]
        context = pods["securityContext"]
        assert (context["runAsNonRoot"], context["runAsUser"], context["seccompProfile"]) == (
            True, 10001, {"type": "RuntimeDefault"},
        )  # fmt: skip
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        }  # fmt: skip
        assert container["resources"].keys() == {"requests", "limits"}
        mounted = {one["mountPath"] for one in container["volumeMounts"] if not one.get("readOnly")}
        assert mounted == {"/tmp", "/var/lib/evenkeel"}


@each
def test_what_is_selected_is_there(name: str) -> None:
    pods = [one["spec"]["template"]["metadata"]["labels"] for one in of_kind(name, "Deployment")]
    services = [one["metadata"]["labels"] for one in of_kind(name, "Service")]

    def matches(selector: dict[str, str], labels: list[dict[str, str]]) -> int:
        return sum(selector.items() <= one.items() for one in labels)

    selectors = [one["spec"]["selector"] for one in of_kind(name, "Service")]
    for kind, key in (
        ("Deployment", "selector"),
        ("PodDisruptionBudget", "selector"),
        ("NetworkPolicy", "podSelector"),
    ):
        selectors += [one["spec"][key]["matchLabels"] for one in of_kind(name, kind)]
    assert {matches(selector, pods) for selector in selectors} == {1}
    monitors = of_kind(name, "ServiceMonitor")
    assert {matches(one["spec"]["selector"]["matchLabels"], services) for one in monitors} <= {1}
    ports = {port["name"] for one in of_kind(name, "Service") for port in one["spec"]["ports"]}
    assert {end["port"] for one in monitors for end in one["spec"]["endpoints"]} <= ports


@each
def test_two_of_a_component_may_not_be_evicted_at_once_and_do_not_share_a_node(name: str) -> None:
    budgets = {one["metadata"]["name"] for one in of_kind(name, "PodDisruptionBudget")}
    several = [one for one in of_kind(name, "Deployment") if one["spec"]["replicas"] > 1]
    assert budgets == {one["metadata"]["name"] for one in several}
    for one in several:
        assert one["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
        spread = one["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert [each["topologyKey"] for each in spread][:1] == ["kubernetes.io/hostname"]


@each
def test_a_volume_of_one_node_keeps_its_pods_there_and_is_replaced_before_the_next_one_starts(name: str) -> None:
    claims = of_kind(name, "PersistentVolumeClaim")
    shared = any(one["spec"]["accessModes"] == ["ReadWriteMany"] for one in claims)
    for one in of_kind(name, "Deployment"):
        pods = one["spec"]["template"]["spec"]
        bound = not shared and any("persistentVolumeClaim" in volume for volume in pods["volumes"])
        assert ("affinity" in pods) == bound
        assert (one["spec"]["strategy"]["type"] == "Recreate") == bound
        assert one["spec"]["replicas"] == 1 or not bound


@each
def test_a_job_whose_notifier_does_not_see_what_others_sent_sends_nothing(name: str) -> None:
    for component, pods, container in deployments(name):
        mounts = any("persistentVolumeClaim" in volume for volume in pods["volumes"])
        alerts = [one["value"] for one in container["env"] if one["name"] == "EVENKEEL__NOTIFY__ALERTS"]
        if component != "run" or mounts:
            assert alerts == []
        else:
            assert "sinks" not in files(name)[Path(*alerts).name]


def test_the_docs_begin_with_the_small_values() -> None:
    block = "".join(f"    {line}" for line in values("small").read_text(encoding="utf-8").splitlines(True)[1:])
    for page in ("install.md", "install.zh-CN.md"):
        assert f"\n\n{block}\n" in (CHART.parents[2] / "docs" / page).read_text(encoding="utf-8")


@each
def test_the_chart_has_the_version_and_the_rules_of_evenkeel(name: str) -> None:
    chart = (CHART / "Chart.yaml").read_text(encoding="utf-8")
    of_chart = __version__.replace(".dev", "-dev")  # Helm wants a semantic version
    assert re.findall(r'(?m)^(?:version|appVersion): "?([^"\n]+)', chart) == [of_chart, __version__]
    assert not RULES.is_symlink()  # Flux leaves links out, Argo CD refuses those that lead out of a repository
    rules = CHART.parents[2] / "conf" / "prometheus" / "evenkeel-rules.yml"
    assert RULES.read_text(encoding="utf-8") == rules.read_text(encoding="utf-8"), f"cp {rules} {RULES}"
    assert {one["metadata"]["labels"]["app.kubernetes.io/version"] for one in rendered(name)} == {__version__}


def test_values_have_the_sections_of_the_configuration_and_of_the_alert_rules() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))["properties"]
    assert schema["config"]["properties"].keys() == Config.model_fields.keys()
    assert schema["alerts"]["properties"].keys() == Alerts.model_fields.keys()
