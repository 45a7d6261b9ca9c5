"""The file for a report of a fault: what is in it, and that no secret is."""

import json
import stat
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from streaming.cli import main
from streaming.config.alerts import Alerts
from streaming.config.config_errors import without_named_secrets
from streaming.config.sections import Config
from streaming.doctor import bundle
from streaming.doctor.checks import unknown
from streaming.errors import OutputError
from tests.canary import where_it_leaks, written

PLANTED = {
    "collector": "k7Q2x9mV4tR8wZ1pL6nB3cJ5",
    "kafka": "d4Fj8sLq0PzX3vNw7yHbTe21",
    "environment": "Zr5uM8kCq2WnXb7tLpYv9aE3",
    "proxy": "g6Hs1oKd9RfTq4jUxWz8mNc0",
    "hook": "b2Vn7yJm4LxQp9sTdRk6wGf1",
    "file": "w9Ce3tAz6HiSb1vOxNq5uJr8",
}
UNKNOWN = "t3Ls8gPw5KvDy2mBzXf7hQo4"  # to this process


def configured(folder: Path) -> str:
    (folder / "hook").write_text(f"https://hooks.example/services/{PLANTED['file']}\n")
    (folder / "alerts.toml").write_text(
        f'[[sinks]]\nname = "hook"\nkind = "webhook"\nurl = "http://127.0.0.1:1/services/{PLANTED["hook"]}"\n'
        f'[[sinks]]\nname = "chat"\nkind = "slack"\nsecret = {{ file = "{folder}/hook" }}\n'
    )
    path = folder / "my.toml"
    path.write_text(
        f'[source]\nbootstrap_servers = "127.0.0.1:1"\n'
        f'[source.kafka]\n"sasl.jaas.config" = "x password=\\"{PLANTED["kafka"]}\\";"\n'
        f'[collector]\nclusters = {{ prod = "127.0.0.1:1" }}\naccess_key = "evenkeel"\n'
        f'secret_key = "{PLANTED["collector"]}"\n'
        f'include = ["*", "{PLANTED["collector"]}"]\n'  # where no key says that it is a secret
        f'state = "{folder}/k"\n[tables]\npath = "{folder}/t"\n[job]\ncheckpoint = "{folder}/c"\n'
        f'[notify]\nalerts = "{folder}/alerts.toml"\nstate = "{folder}/n"\n'
    )
    return str(path)


def read(path: Path) -> dict[str, str]:
    found = {}
    with tarfile.open(path) as tar:
        for entry in tar.getmembers():
            assert entry.mode == 0o600
            file = tar.extractfile(entry)
            assert file is not None
            found[entry.name.removeprefix("evenkeel-doctor/")] = file.read().decode()
    return found


@pytest.mark.slow("a folder of a release is unpacked")
def test_no_secret_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", PLANTED["environment"])
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:{PLANTED['proxy']}@proxy.example:3128")
    log, file = tmp_path / "run.log", tmp_path / "bundle.tar.gz"
    quoted = [f"WARNING {form}\n" for secret in PLANTED.values() for form in written(secret)]
    log.write_text("".join(quoted) + f'password="{UNKNOWN}"\nGET https://x.example/{UNKNOWN}\nthe last line\n')
    words = ["doctor", "--config", configured(tmp_path), "--bundle", str(file), "--log", str(log)]
    assert main(words) == 1  # Kafka is away
    printed = capsys.readouterr()
    packed = read(file)
    assert set(packed) == {
        *("report.txt", "report.json", "versions.txt", "configuration.txt", "alert-rules.txt", "environment.txt"),
        *("health.jsonl", "log-1-run.log"),
    }
    assert all(name in printed.err for name in packed)
    for secret in (*PLANTED.values(), UNKNOWN):
        assert where_it_leaks(secret, packed) == []
        assert where_it_leaks(secret, {"stdout": printed.out, "stderr": printed.err}) == []
    assert packed["log-1-run.log"].endswith("the last line\n")
    assert 'collector.secret_key = "***"' in packed["configuration.txt"]
    assert "collector.clusters = " in packed["configuration.txt"]
    assert 'sinks[0].name = "hook"' in packed["alert-rules.txt"]
    assert "AWS_SECRET_ACCESS_KEY is set" in packed["environment.txt"]
    assert "kafka" in packed["report.txt"]
    assert packed["versions.txt"].startswith("evenkeel ")

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    assert main(words) == 2
    assert "is there already and is not overwritten" in capsys.readouterr().err
    assert file.read_bytes() == before


def test_reason_why_rows_are_missing_is_json_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config.model_validate({"notify": {"state": str(tmp_path)}, "tables": {"path": f"{tmp_path}/t"}})
    died = unknown("tables", "the rest", "its process ended with -9")
    monkeypatch.setattr(bundle, "in_process", lambda *_, **__: iter(['{"table": "monitor_health"}', died]))
    rows = dict(bundle.texts(config, Alerts(), [], {}))["health.jsonl"].splitlines()
    assert [json.loads(row).get("found") for row in rows] == [None, "its process ended with -9"]


@pytest.mark.parametrize(
    "text",
    [
        f"password={UNKNOWN}",
        f"password = '{UNKNOWN} and more'",
        f'{{"message": "sasl.password: \\"{UNKNOWN}\\" is wrong"}}',
        f'{{"api_token": "{UNKNOWN}"}}',
        f"Authorization: Bearer {UNKNOWN}",
        f"https://user:{UNKNOWN}@host/x",
        f"POST https://hooks.example/services/{UNKNOWN}?x=1 failed",
        f"-Djavax.net.ssl.keyStorePassword={UNKNOWN}",
        f"api_key={UNKNOWN}",
        f"apikey: {UNKNOWN}",
        f"X-Api-Key: {UNKNOWN}",
        f'{{"routing_key": "{UNKNOWN}"}}',
        f"Server=db;pwd={UNKNOWN};",
        f"mqadmin --password {UNKNOWN} -n host",
        f"java --secret-key '{UNKNOWN} and more'",
        f"https://blob.example?sv=2&sig={UNKNOWN}",
        f"GET /x?sig={UNKNOWN} HTTP/1.1",
        f"GET /x?a=b&key={UNKNOWN}",
        f"Authorization: Digest username=x, response={UNKNOWN}",
        f"Proxy-Authorization: AWS4-HMAC-SHA256 Credential=a/b, Signature={UNKNOWN}",
        f"Cookie: a=b; session={UNKNOWN}; c={UNKNOWN}",
        f"Set-Cookie: session=x; {UNKNOWN}",
        f"-----BEGIN PRIVATE KEY-----\n{UNKNOWN}\n{UNKNOWN}==\n-----END PRIVATE KEY-----",
        f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256,0\n\n{UNKNOWN}",
        f'"-----BEGIN EC PRIVATE KEY-----\\n{UNKNOWN}\\n-----END EC PRIVATE KEY-----"',
        f"{UNKNOWN}\n{UNKNOWN}==\n-----END PRIVATE KEY-----\n",
    ],
)
def test_secret_that_nobody_knows_is_found_by_its_name_or_place(text: str) -> None:
    assert where_it_leaks(UNKNOWN, {text: without_named_secrets(text)}) == []


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-25T17:56:59.182Z INFO streaming.collector: prod: watching, a round every 5 s; interval=5",
        "GET /group?cluster=prod&group=orders&key_only=1 200",
        "WARNING streaming.sinks: sink pager refuses pages: 401; key 5 of 8, dedup_key=a",
        "java.lang.IllegalStateException: at org.apache.spark.Foo.key(Foo.java:12)",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "topic=orders partition=3 offset=17 --config my.toml --log run.log",
    ],
)
def test_usual_lines_stay_as_they_are(line: str) -> None:
    assert without_named_secrets(line) == line


def test_a_header_takes_no_more_than_its_line() -> None:
    text = "GET /\nCookie: a; b\nINFO the next line\n"
    assert without_named_secrets(text) == "GET /\nCookie: ***\nINFO the next line\n"


@pytest.mark.slow("a tenth of a second of work and more")
@pytest.mark.parametrize("word", ["a" * 60_000, "token" * 12_000], ids=["no name", "names"])
def test_long_word_takes_no_minutes(word: str) -> None:
    began = time.process_time()
    assert without_named_secrets(word) == word
    assert time.process_time() - began < 4


@pytest.mark.parametrize("kind", ["file", "link", "dangling link"])
def test_nothing_is_overwritten(kind: str, tmp_path: Path) -> None:
    path, other = tmp_path / "bundle.tar.gz", tmp_path / "other"
    if kind != "dangling link":
        other.write_text("of somebody")
    if kind == "file":
        path = other
    else:
        path.symlink_to(other)
    with pytest.raises(OutputError, match="is not overwritten"):
        bundle.require_new(path)
    with pytest.raises(OutputError):  # it may have come while the checks were made
        bundle.write(path, [("x", "y")])
    assert not other.exists() or other.read_text() == "of somebody"


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        bundle.write(tmp_path / "nowhere" / "bundle.tar.gz", [("x", "y")])


@pytest.mark.slow("a folder of a release is unpacked")
def test_log_of_a_running_notifier_is_found_without_its_name(tmp_path: Path) -> None:
    """Its standard error is a file, and the lock names its process."""
    log = tmp_path / "notify.log"
    script = (
        "import sys; from pathlib import Path; from streaming.file_lock import held\n"
        "from streaming.notifier.state_files import LOCK\n"
        f"with held(Path({str(tmp_path)!r}) / LOCK): print('warned', file=sys.stderr, flush=True); input()\n"
    )
    config = Config.model_validate({"notify": {"state": str(tmp_path)}, "tables": {"path": f"{tmp_path}/t"}})
    with (
        log.open("w") as errors,
        subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stderr=errors) as process,
    ):
        try:
            while "warned" not in log.read_text() and process.poll() is None:
                pass
            assert list(bundle._logs_of_processes(config)) == [log]
        finally:
            process.communicate(b"\n")
    assert list(bundle._logs_of_processes(config)) == []


def test_only_the_end_of_a_long_log_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "LOG_BYTES", 10)
    (tmp_path / "x.log").write_text("first\nsecond\nthird\n")
    assert dict(bundle._logs([tmp_path / "x.log", tmp_path / "nowhere"]))["log-1-x.log"] == "third\n"
    assert "cannot be read" in dict(bundle._logs([tmp_path / "nowhere"]))["log-1-nowhere"]
    assert "journalctl" in dict(bundle._logs([]))["logs.txt"]
