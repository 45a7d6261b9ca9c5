"""What docs/explain.md says is what there is."""

from pathlib import Path

import msgspec

from streaming.explain.snapshot import (
    AlertStep,
    BrokerList,
    ExplainedAlert,
    ExplainedGroup,
    ExplainedQueue,
    GroupChange,
    MonitorStatus,
    UnalertedQueues,
)
from testing.golden import require_shown
from tests.explain.test_group_text import GOLDEN

TEXT = (Path(__file__).parents[2] / "docs" / "explain.md").read_text("utf-8")


def test_every_key_is_explained() -> None:
    shown = (
        ExplainedGroup,
        BrokerList,
        ExplainedQueue,
        AlertStep,
        ExplainedAlert,
        UnalertedQueues,
        GroupChange,
        MonitorStatus,
    )
    keys = {field.encode_name for struct in shown for field in msgspec.structs.fields(struct)}
    assert sorted(key for key in keys if f"`{key}`" not in TEXT) == []


def test_page_is_the_one_that_is_printed() -> None:
    require_shown(TEXT, "    prod/orders", "\n- **Alerts**", GOLDEN / "undecided.txt")
