"""One pattern hides another only if it matches all that the other one matches."""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.config.config_errors import ConfigFaults
from streaming.config.cross_key_checks import covers
from streaming.config.load import load_config

patterns = st.text("ab*?", max_size=6) | st.sampled_from(["[ab]*", "a[!b]", "[]a]b", "[a"])


@given(patterns, patterns, st.text("ab[]", max_size=7))
def test_what_is_covered_is_matched(wide: str, narrow: str, name: str) -> None:
    if covers(wide, narrow) and fnmatchcase(name, narrow):
        assert fnmatchcase(name, wide)


@pytest.mark.parametrize(
    ("wide", "narrow", "hides"),
    [
        ("orders-*", "orders-eu", True),
        ("orders-*", "orders-eu-*", True),
        ("orders-*", "orders", False),
        ("*", "?*", True),
        ("?*", "*", False),
        ("*-eu", "orders-*-eu", True),
        ("orders-?", "orders-*", False),
        ("order[sz]", "orders", True),
    ],
)
def test_a_rule_that_is_hidden_is_named(wide: str, narrow: str, hides: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(f'[[groups]]\ngroup = "{wide}"\n[[groups]]\ncluster = "prod"\ngroup = "{narrow}"\n')
    if not hides:
        load_config(path, {})
        return
    with pytest.raises(ConfigFaults, match=r"x\.toml:5: groups\[1\]\.group = .*groups\[0\] does not match already"):
        load_config(path, {})


def test_the_folder_of_jars_must_be_there_for_commands_that_start_spark(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(f'[spark]\njars_folder = "{tmp_path}/jars"\n')
    with pytest.raises(ConfigFaults, match=r"x\.toml:2: spark\.jars_folder = .*evenkeel jars fetch --to has filled"):
        load_config(tmp_path / "x.toml", {})
    assert load_config(tmp_path / "x.toml", {}, writes=()).spark.jars_folder == f"{tmp_path}/jars"
    (tmp_path / "jars").mkdir()
    assert load_config(tmp_path / "x.toml", {}).spark.jars_folder == f"{tmp_path}/jars"
