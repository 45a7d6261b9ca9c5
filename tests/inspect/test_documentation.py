"""What docs/inspect.md says is what there is."""

from pathlib import Path

import msgspec

from streaming.inspect.snapshot import AskedBroker, Finding, InspectedGroup, InspectedMember, InspectedQueue, Undecided
from testing.golden import require_shown
from tests.inspect.test_cluster_text import GOLDEN

TEXT = (Path(__file__).parents[2] / "docs" / "inspect.md").read_text("utf-8")


def test_every_key_is_explained() -> None:
    keys = {
        field.encode_name
        for shown in (InspectedGroup, Finding, Undecided, InspectedMember, InspectedQueue, AskedBroker)
        for field in msgspec.structs.fields(shown)
    }
    assert sorted(key for key in keys if f"`{key}`" not in TEXT) == []


def test_page_is_the_one_that_is_printed() -> None:
    require_shown(TEXT, "    SETTLING", "\n- The first lines", GOLDEN / "page-80.txt")
