"""The units under a real systemd, in their real sandbox."""

import os
import shutil
import time

import pytest

from testing.waiting import until
from tests.systemd.booted import SYSTEMD, Booted

pytestmark = [
    pytest.mark.slow("a Spark of its own"),
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        os.geteuid() != 0 or not SYSTEMD.exists() or shutil.which("unshare") is None,
        reason="needs root and systemd: apt-get install systemd util-linux",
    ),
]
COMMON = """
[collector]
clusters = { prod = "127.0.0.1:1" }
output = "file"
interval_seconds = 1
timeout_seconds = 1
[web]
listen = "127.0.0.1:0"
"""
RULES = """
[[sinks]]
name = "hook"
kind = "webhook"
url = "http://127.0.0.1:1"
secret = { file = "$CREDENTIALS_DIRECTORY/key" }
"""
# Only root can read the file of the secret. A service that could not read its copy would refuse its configuration.
CREDENTIALS = {
    name: f"LoadCredential=key:/etc/evenkeel/secrets/key\nEnvironment={variables}\n"
    for name, variables in {
        "evenkeel-collect.service": "EVENKEEL__COLLECTOR__ACCESS_KEY=k EVENKEEL__COLLECTOR__SECRET_KEY_FILE=%d/key",
        "evenkeel-notify.service": "EVENKEEL__NOTIFY__ALERTS=/etc/evenkeel/alerts.toml",
        "evenkeel-web.service": "EVENKEEL__SOURCE__KAFKA__SASL_JAAS_CONFIG__FILE=%d/key",
    }.items()
}
NO_RIGHTS = "0000000000000000"


@pytest.mark.deep("systemd starts every service, and a watchdog is waited for")
def test_services_work_in_their_sandbox_and_one_that_hangs_is_started_again() -> None:
    names = [f"evenkeel-{name}.service" for name in ("collect", "notify", "web")]
    drop_in = "WatchdogSec=10\nTimeoutAbortSec=1\nRestartSec=0\n"
    files = {"evenkeel.toml": COMMON, "alerts.toml": RULES, "secrets/key": "hunter2\n"}
    with Booted({name: drop_in + CREDENTIALS[name] for name in names}, files) as one:
        one.systemctl("start", *names)
        for name in names:
            pid = one.shown(name, "MainPID")
            status = one.inside("cat", f"/proc/{pid}/status").stdout
            assert f"CapBnd:\t{NO_RIGHTS}\n" in status
            assert "NoNewPrivs:\t1\n" in status
            assert "Seccomp:\t2\n" in status
            assert one.shown(name, "User") == "evenkeel"
        owner = one.inside("stat", "--format=%A %U", "/etc/evenkeel/secrets/key").stdout
        assert owner == "-rw------- root\n"
        assert one.shown("evenkeel-collect.service", "StatusText") == "cluster prod: no broker answers"
        time.sleep(12)  # longer than the watchdog waits
        assert {name: one.shown(name, "NRestarts") for name in names} == dict.fromkeys(names, "0")

        config = "/etc/evenkeel/evenkeel.toml"
        one.inside("sed", "--in-place", "$a[log]\\nlevel = 'ERROR'", config)
        one.systemctl("reload", *names)
        for name in names:
            until(
                lambda name=name: "SIGHUP: taken over: log.level" in one.log(name), 30, "it does not say what it took"
            )
        one.inside("sed", "--in-place", "$a[job]\\nshards = 4", config)
        one.systemctl("reload", *names)
        for name in names:
            until(lambda name=name: "job.shards changed" in one.log(name), 30, "it says what it refused")
            assert one.shown(name, "ActiveState") == "active"
        one.inside("sed", "--in-place", "$d", config)

        hung = one.shown("evenkeel-web.service", "MainPID")
        one.inside("kill", "-STOP", hung)
        until(lambda: one.shown("evenkeel-web.service", "NRestarts") == "1", 30, "it is started again")
        until(lambda: one.shown("evenkeel-web.service", "ActiveState") == "active", 30, "it is active again")
        for name in names:
            one.systemctl("stop", name)
            assert one.shown(name, "ExecMainStatus") == "0", one.log(name)
            assert "Traceback" not in one.log(name)


@pytest.mark.deep("systemd starts every service, and a watchdog is waited for")
def test_what_is_refused_is_not_started_again() -> None:
    with Booted({"evenkeel-collect.service": "RestartSec=0"}, {"evenkeel.toml": "[job]\nshards = 0\n"}) as one:
        one.systemctl("start", "evenkeel-collect.service", check=False)
        assert one.shown("evenkeel-collect.service", "ExecMainStatus") == "2"
        assert one.shown("evenkeel-collect.service", "ActiveState") == "failed"
        assert "job.shards = 0: a whole number" in one.log("evenkeel-collect.service")


@pytest.mark.deep("systemd starts every service, and a watchdog is waited for")
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_the_job_works_in_its_sandbox() -> None:
    more = (
        '[source]\nkind = "files"\nfolder = "/var/lib/evenkeel/events"\n[job]\nshards = 4\nhealth_seconds = 1\n'
        'projection_seconds = 1\n[spark]\njars_folder = "/opt/jars"\n'
    )
    with Booted({"evenkeel-run.service": ""}, {"evenkeel.toml": more}) as one:
        one.inside("mkdir", "-p", "/var/lib/evenkeel/events")
        one.systemctl("start", "evenkeel-run.service")
        tables = "/var/lib/evenkeel/data/tables"
        written = ["test", "-d", f"{tables}/monitor_health/_delta_log"]
        until(lambda: one.inside(*written, check=False).returncode == 0, 120, "there are projections")
        one.systemctl("stop", "evenkeel-run.service")
        said = one.log("evenkeel-run.service")
        assert one.shown("evenkeel-run.service", "ExecMainStatus") == "0", said
        for bad in ("Traceback", "Exception", " ERROR "):
            assert bad not in said, said
