"""``conf/evenkeel.toml`` documents every key, at its default."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.tables import TABLES
from streaming.config.config_errors import KeyPath, key_text
from streaming.config.keys import all_keys
from streaming.config.load import load_config
from streaming.config.sections import Config, Rule
from streaming.core.default_settings import DEFAULT_SETTINGS, DEFAULT_TIMING
from streaming.core.settings import Timing
from tests.config.annotated import compare_with_declarations

FILE = Path(__file__).parents[2] / "conf" / "evenkeel.toml"
LINES = FILE.read_text("utf-8").splitlines()
_TABLE = re.compile(r"#?\[+([a-z_.]+)\]+")
_KEY = re.compile(r"#?([a-z_]+) = .+")


def documented() -> Iterator[tuple[KeyPath, list[str]]]:
    """Each key and table of the file with the comment lines above (of a table that is free: below) it."""
    table: KeyPath = ()
    comment: list[str] = []
    for line in LINES:
        if match := _TABLE.fullmatch(line):
            table = tuple(match[1].split("."))
            comment = []
        elif match := _KEY.fullmatch(line):
            yield (*table, match[1]), comment
            comment = []
        elif line.startswith("# "):
            comment = [*comment, line]
            if table in FREE_TABLES and line.startswith("# Allowed: "):
                yield table, comment
        elif not line:
            comment = []


FREE_TABLES: tuple[KeyPath, ...] = (("source", "kafka"), ("spark", "settings"), ("collector", "kafka"))
RULE_KEYS: set[KeyPath] = {("groups", name) for name in Rule.model_fields}
EXPECTED: set[KeyPath] = {key for key in all_keys() if key != ("groups",)} | RULE_KEYS
KEYS: list[KeyPath] = sorted(EXPECTED, key=key_text)
DOCUMENTED = dict(reversed(list(documented())))  # the first place counts: later examples need not explain it again


def test_values_are_the_defaults() -> None:
    assert load_config(FILE, {}) == Config()
    assert load_config(FILE, {}).settings() == DEFAULT_SETTINGS


def test_every_key_is_there_and_no_other() -> None:
    assert {key for key in DOCUMENTED if key[:2] not in FREE_TABLES or len(key) == 2} == EXPECTED


def test_defaults_and_bounds_are_those_of_the_declarations() -> None:
    compare_with_declarations(FILE, Config)


@pytest.mark.parametrize("key", KEYS, ids=key_text)
def test_comment_says_what_the_key_does_and_allows(key: KeyPath) -> None:
    assert len(DOCUMENTED[key]) >= 2
    assert DOCUMENTED[key][-1].startswith("# Allowed: ")


def test_examples_are_valid(tmp_path: Path) -> None:
    """Every example taken at its word: the commented keys with their # removed."""
    path = tmp_path / "examples.toml"
    path.write_text("\n".join(re.sub(r"^#(?=[^ ])", "", line) for line in LINES), encoding="utf-8")
    config = load_config(path, {})
    assert config.settings().groups
    assert config.source.kafka
    assert config.spark.settings


def test_every_timer_of_the_settings_can_be_set() -> None:
    section = Config().timing
    keys = {name.removesuffix("_seconds") for name in type(section).model_fields}
    assert keys == {name.removesuffix("_ms") for name in Timing.__struct_fields__}
    assert section.timing() == DEFAULT_TIMING


def test_every_table_that_forgets_has_its_days() -> None:
    kept = {table.name: table.keep_days for table in TABLES if table.keep_days}
    assert Config().tables.retention_days.model_dump() == kept
