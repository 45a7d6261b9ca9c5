"""Jars by Ivy, where a settings file is named. A stand-in for Java plays Ivy: no network here."""

from hashlib import sha256
from pathlib import Path

import pytest

from streaming.errors import AwayError, SetupError
from streaming.jvm import ivy, jars
from streaming.jvm.pins import set_name

COORDINATES = ["org.example:thing:1.0"]
OF_NOTHING = sha256(b"").hexdigest()
SETTINGS = "/etc/mirror.xml"
RETRIEVED = "org.example/thing/1.0/thing-1.0.jar"
# As Ivy, it keeps what it has fetched in its cache.
FETCHES = f"""#!/bin/sh
echo "$@" > "$0.words"
while [ "$1" != -ivy ]; do shift; done
cp "$2" "$0.xml"; scratch=$(dirname "$2"); cd "$scratch"
[ ! -d cache ] || find cache -type f > "$0.seen"
mkdir -p "retrieved/$(dirname {RETRIEVED})" && : > retrieved/{RETRIEVED}
"""


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The script that is run as Java."""
    monkeypatch.setenv("EVENKEEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EVENKEEL_IVY_SETTINGS", SETTINGS)
    monkeypatch.setattr(ivy, "java_home", lambda: tmp_path)
    script = tmp_path / "bin" / "java"
    script.parent.mkdir()
    script.write_text(FETCHES)
    script.chmod(0o755)
    return script


@pytest.fixture
def pins(tmp_path: Path) -> Path:
    path = tmp_path / "jars.toml"
    path.write_text(f'["{set_name(COORDINATES)}"]\n"{COORDINATES[0]}" = "{OF_NOTHING}"\n')
    return path


def test_the_settings_are_passed_on_and_each_jar_is_asked_for_alone(java: Path, pins: Path, tmp_path: Path) -> None:
    assert jars.fetch(COORDINATES, pins) == [tmp_path / "cache" / "jars" / "thing-1.0" / "thing-1.0.jar"]
    assert f" -settings {SETTINGS}" in Path(f"{java}.words").read_text()
    asked = Path(f"{java}.xml").read_text()
    assert '<dependency org="org.example" name="thing" rev="1.0" transitive="false">' in asked


def test_a_classifier_is_an_attribute_of_the_artifact() -> None:
    assert ' type="jar" ext="jar" m:classifier="linux-x86_64"/>' in ivy.exact("org.example:code:2.0:linux-x86_64")
    assert "classifier" not in ivy.exact(COORDINATES[0])


def test_failed_fetch_shows_last_words_and_leaves_no_folder_of_jars(java: Path, pins: Path, tmp_path: Path) -> None:
    java.write_text("#!/bin/sh\necho org.example: not found; exit 1\n")
    with pytest.raises(AwayError, match=r"(?s)Ivy could not fetch .*EVENKEEL_IVY_SETTINGS.*org\.example: not found"):
        jars.fetch(COORDINATES, pins)
    assert not (tmp_path / "cache" / "jars" / "thing-1.0").exists()


def test_what_had_come_is_found_in_its_cache_again(java: Path, pins: Path, tmp_path: Path) -> None:
    """Not what is damaged, and not what an interrupted Ivy leaves."""
    java.write_text(
        '#!/bin/sh\nwhile [ "$1" != -cache ]; do shift; done\nmkdir -p "$2/org/thing" "$2/org/more"; cd "$2/org"\n'
        "touch thing/thing-1.0.jar thing/ivydata-1.0.properties more/more-1.0.jar.part\n"
        "echo damaged > more/thing-1.0.jar; exit 1\n"
    )
    with pytest.raises(AwayError):
        jars.fetch(COORDINATES, pins)
    java.write_text(FETCHES)
    jars.fetch(COORDINATES, pins)
    assert Path(f"{java}.seen").read_text().split() == ["cache/org/thing/thing-1.0.jar"]
    assert not (tmp_path / "cache" / "jars" / ".fetching-thing-1.0").exists()


def test_jars_are_named_with_their_bytes_as_they_come(
    java: Path, pins: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arrives = "mkdir -p cache/a; printf 12345 > cache/a/thing-1.0.jar; touch cache/a/more.jar.part\n"
    java.write_text(FETCHES + arrives)
    jars.fetch(COORDINATES, pins)
    assert capfd.readouterr().err.splitlines()[1:] == ["evenkeel:   thing-1.0.jar, 5 bytes"]


def test_jars_of_a_mirror_that_are_not_the_publishers_are_not_kept(java: Path, pins: Path, tmp_path: Path) -> None:
    java.write_text(FETCHES.replace(": > retrieved", "echo other > retrieved"))
    with pytest.raises(SetupError, match=r"was not kept: thing-1\.0\.jar has the SHA-256 .*EVENKEEL_IVY_SETTINGS"):
        jars.fetch(COORDINATES, pins)
    assert [path.name for path in (tmp_path / "cache" / "jars").iterdir()] == ["thing-1.0.lock"]


def test_the_repository_is_the_one_that_ivy_asks_by_default() -> None:
    assert ivy.repository().startswith("https://")
    assert ivy.repository().endswith("/maven2/")
