"""A fault says in which line of the file it is."""

import re
from pathlib import Path

import pytest

from streaming.config.config_errors import ConfigFaults, key_text
from streaming.config.line_numbers import key_lines
from streaming.config.load import load_alerts, load_config
from streaming.config.sections import Config, Notify

TEXT = '''# a comment
[source]
topic = "x y"

[collector]
clusters = { prod = "10.0.0.1:9876", "other one" = "10.0.0.2:9876" }
include = [
  "a",  # shards = 0
  "b",
]

[job]
checkpoint = """
[job]
shards = 0"""
shards = 0

[[groups]]
group = "a*"
orderly = true

[[groups]]
group = "ab"
strategy = "CONFIG"
  [[groups.message_queue_list]]
  topic = ""
'''


def test_each_fault_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(TEXT)
    with pytest.raises(ConfigFaults) as refused:
        load_config(path, {"EVENKEEL__LOG__LEVEL": "x"})
    lines = {(fault.where.rpartition(":")[2], key_text(fault.key)) for fault in refused.value.faults}
    assert lines == {
        ("3", "source.topic"),
        ("6", "collector.clusters"),
        ("16", "job.shards"),
        ("23", "groups[1].group"),
        ("25", "groups[1].message_queue_list[0].broker_name"),  # missing: where its table begins
        ("25", "groups[1].message_queue_list[0].queue_id"),
        ("26", "groups[1].message_queue_list[0].topic"),
        ("EVENKEEL__LOG__LEVEL", "log.level"),
    }


def test_alert_rules_have_lines_too(tmp_path: Path) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text('[pages]\nwait_seconds = 1\nstorm_groups = 0\n[[sinks]]\nname = "a"\nkind = "webhook"\n')
    with pytest.raises(ConfigFaults) as refused:
        load_alerts(Config(notify=Notify(alerts=str(path))), {})
    assert [fault.where for fault in refused.value.faults] == [f"{path}:3", f"{path}:4"]


@pytest.mark.parametrize("name", ["evenkeel.toml", "alerts.toml"])
def test_every_line_of_the_shipped_files_that_gives_a_key_is_found(name: str) -> None:
    text = (Path(__file__).parents[2] / "conf" / name).read_text("utf-8")
    given = {n for n, line in enumerate(text.splitlines(), 1) if re.match(r"(\[|[A-Za-z_]+ = )", line)}
    assert given <= set(key_lines(text).values())
