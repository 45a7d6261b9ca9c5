"""A look at every round of recordings of a real RocketMQ: what is healthy is never called a finding."""

from pathlib import Path

import pytest

from schemas.events import Round
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.inspect.group_evaluation import snapshot_of
from streaming.inspect.observed_groups import ObservedCluster
from streaming.replay.recording import Recording

RECORDINGS = Path(__file__).parents[2] / "streaming" / "demo" / "recordings"
FOUND = {"d_sameid": {"DUPLICATED", "ORPHANED"}, "e_subscriptions": {"INCONSISTENT_SUBSCRIPTION", "ORPHANED"}}


@pytest.mark.deep_rows("a recorded cluster is looked at")
@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.jsonl.gz")), ids=lambda path: path.name.partition(".")[0])
def test_only_what_is_wrong_is_found(path: Path) -> None:
    watch, statuses, kinds = ObservedCluster("prod", DEFAULT_SETTINGS), set(), set()
    for event in Recording(path, pytest.fail).events(confirms=False):
        watch.take([event])
        if isinstance(event, Round):
            seen = snapshot_of(watch.groups[event.group])
            assert not (seen.reason or "").startswith("evenkeel failed to evaluate the group")
            statuses.add(seen.status)
            kinds |= {finding.kind for finding in seen.findings if finding.severity != "info"}
    name = path.name.partition(".")[0]
    assert kinds >= FOUND.get(name, set())
    assert ("findings" in statuses) is (name in FOUND)
    assert "healthy" in statuses or name == "d_sameid"
