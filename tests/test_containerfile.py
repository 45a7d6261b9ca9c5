"""What deploy/container/Containerfile promises. tests/container builds the image and runs it (make package)."""

import json
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from streaming.config.environment import variable
from streaming.loopback.ports import free_port

FOLDER = Path(__file__).parents[1] / "deploy" / "container"
TEXT = (FOLDER / "Containerfile").read_text(encoding="utf-8")
WITHOUT_COMMENTS = "".join(line for line in TEXT.splitlines(keepends=True) if not line.startswith("#"))
INSTRUCTIONS = re.findall(r"(?m)^([A-Z]+) ((?:.*\\\n)*.*)$", WITHOUT_COMMENTS)
LAST_STAGE = INSTRUCTIONS[max(place for place, (name, _) in enumerate(INSTRUCTIONS) if name == "FROM") :]


def values(name: str) -> list[str]:
    return [value for instruction, value in LAST_STAGE if instruction == name]


def environment() -> dict[str, str]:
    (pairs,) = values("ENV")
    return dict(re.findall(r"(\w+)=(\S+)", pairs))


def test_it_runs_as_one_numbered_user_who_is_not_root() -> None:
    assert values("USER") == ["10001:10001"]  # Kubernetes' runAsNonRoot accepts only a number
    named = re.search(r"useradd --uid (\d+) --user-group .*--home-dir (\S+)", TEXT)
    assert named is not None
    assert named.groups() == ("10001", "/var/lib/evenkeel")
    assert values("WORKDIR") == values("VOLUME") == ["/var/lib/evenkeel"]


def test_nothing_comes_from_a_named_host() -> None:
    assert "ADD" not in {name for name, _ in INSTRUCTIONS}
    assert [value for name, value in INSTRUCTIONS if name == "FROM"] == [
        "${BASE} AS build",
        "${BASE} AS system",
        "scratch AS libraries",
        "libraries",
    ]
    assert INSTRUCTIONS[0] == ("ARG", "BASE=debian:trixie-slim")
    texts = [TEXT, (FOLDER / "build").read_text(encoding="utf-8")]
    hosts = [host for text in texts for host in re.findall(r"(?:https?|docker|oci)://([^/:\s]+)", text)]
    assert hosts == ["127.0.0.1"]
    assert [text for text in texts if re.search(r"\b(curl|wget|trusted-host|index-url)\b", text)] == []


def test_every_package_is_one_whose_hash_is_known() -> None:
    installs = re.findall(r"\bpip (?:\S+ )*?install ((?:[^\n\\]|\\\n)+)", TEXT)
    by_hash, ours = (one.partition("&&")[0] for one in installs)
    assert "--require-hashes -r /tmp/dist/requirements.txt" in by_hash
    assert "--no-build-isolation" in by_hash  # else what builds pyspark would come without a hash
    assert "--no-deps" in ours


def test_evenkeel_is_the_last_layer_and_alone_in_it() -> None:
    assert values("COPY") == ["--from=build /own /opt/evenkeel"]
    assert values("RUN") == []


def test_signals_reach_the_process_and_what_is_left_behind_is_reaped() -> None:
    (entry,), (command,) = values("ENTRYPOINT"), values("CMD")  # JSON: no shell stands between
    assert json.loads(entry) == ["/usr/bin/tini", "--", "evenkeel"]
    assert json.loads(command) == ["--help"]


def test_the_jars_are_found_and_no_start_fetches_any() -> None:
    folder = environment()[variable(("spark", "jars_folder"))]
    assert f"evenkeel jars fetch --to {folder} " in TEXT
    assert environment()["PATH"].split(":")[:2] == ["/opt/evenkeel/bin", "/opt/java/bin"]


@pytest.mark.parametrize("label", ["title", "description", "version", "revision", "licenses"])
def test_it_is_labelled(label: str) -> None:
    (labels,) = values("LABEL")
    assert f"org.opencontainers.image.{label}=" in labels


class Alive(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 503)
        self.end_headers()


@pytest.mark.slow("a tenth of a second of work and more")
def test_the_health_check_asks_whether_the_process_lives() -> None:
    (check,) = values("HEALTHCHECK")
    python, *words = json.loads(check.partition("CMD ")[2])
    assert python == "python"

    def status(address: str) -> int:
        command = [sys.executable, *words]
        return subprocess.run(command, env={"EVENKEEL_HEALTHZ": address}, capture_output=True).returncode

    assert environment()["EVENKEEL_HEALTHZ"] == "http://127.0.0.1:9464/healthz"  # as docs/metrics.md begins
    with HTTPServer(("127.0.0.1", 0), Alive) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        assert status(f"{address}/healthz") == 0
        assert status(f"{address}/readyz") == 1
        server.shutdown()
    assert status(f"http://127.0.0.1:{free_port()}/healthz") == 1
