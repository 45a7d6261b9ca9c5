"""Of all the Javas on a machine the first that fits is used; without one the reader is told what to do."""

from pathlib import Path

import pytest

from streaming.cli.exit_status import FAILED, status_of
from streaming.errors import MonitorError, SetupError
from streaming.jvm import java


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Java but those that a test puts under tmp_path."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    monkeypatch.setattr(java, "PLACES", (f"{tmp_path}/usual/*",))


def install(home: Path, version: str) -> Path:
    """A stand-in for Java that only says its version, as the real one does: on stderr."""
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    return home


def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "path", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path / "chosen", "21.0.2")))
    assert java.java_home() == tmp_path / "chosen"


def test_java_that_does_not_fit_is_passed_over(tmp_path: Path) -> None:
    install(tmp_path / "path", "25.0.3")
    install(tmp_path / "usual" / "jdk-17", "17.0.15")
    assert java.java_home() == tmp_path / "usual" / "jdk-17"


def test_missing_java_gives_one_clear_line() -> None:
    with pytest.raises(SetupError, match=r"Java 17 to 22 is needed, but none was found.*make setup") as caught:
        java.java_home()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("version", "said"), [("1.8.0_392", "version 8"), ("11.0.22", "version 11"), ("23", "23")])
def test_java_of_the_wrong_age_is_named(tmp_path: Path, version: str, said: str) -> None:
    home = install(tmp_path / "path", version)
    with pytest.raises(SetupError, match=rf"needed, but {home}/bin/java is .*{said}\. Install"):
        java.java_home()


def test_java_that_does_not_run_is_named(tmp_path: Path) -> None:
    (install(tmp_path / "path", "17") / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(SetupError, match="java is broken"):
        java.java_home()


def test_a_machine_that_is_busy_is_no_broken_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "ANSWERS_WITHIN_S", 0.2)
    (install(tmp_path / "path", "17") / "bin" / "java").write_text("#!/bin/sh\nexec /bin/sleep 5\n")
    with pytest.raises(MonitorError, match=r"has not ended within 0\.2 s: is the machine busy") as caught:
        java.java_home()
    assert status_of(caught.value) == FAILED, "a service is started again"


def test_module_prints_the_home_or_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert java.main() == 1
    assert "is needed" in capsys.readouterr().err
    home = install(tmp_path / "path", "17.0.15")
    assert java.main() == 0
    assert capsys.readouterr().out == f"{home}\n"
