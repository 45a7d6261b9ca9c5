"""Fleets as a look sees them: rounds every 2 s, every client asked once in the second of them."""

from typing import Any

from schemas.events import NotAsked
from streaming.core.default_settings import DEFAULT_SETTINGS
from streaming.core.settings import Settings
from streaming.inspect.cluster_text import lines_of
from streaming.inspect.group_evaluation import snapshot_of
from streaming.inspect.observed_groups import ObservedGroup
from streaming.inspect.snapshot import EmptyGroups, InspectedCluster, InspectedGroup
from tests.core.fleet import Fleet


def fleet(topics: dict[str, dict[str, int]] | None = None, **fields: Any) -> Fleet:
    return Fleet(topics, every=2, report_every=0, progress_every=2, **fields)


def looked_at(one: Fleet, seconds: float = 6) -> Fleet:
    """A round, then everybody is asked, then rounds until ``seconds`` after the first."""
    one.round()
    for client_id in dict.fromkeys(instance.client_id for instance in one.instances):
        one.report(one.of(client_id)[0], one.now + 1)
    return one.run(seconds)


def watch_of(one: Fleet, settings: Settings | None = None) -> ObservedGroup:
    watch = ObservedGroup("prod", one.state.group, settings or DEFAULT_SETTINGS)
    for event in one.events:
        watch.take(event)
    return watch


def picture(one: Fleet, settings: Settings | None = None) -> InspectedGroup:
    return snapshot_of(watch_of(one, settings))


def page(*groups: InspectedGroup, width: int = 80, silent: dict[str, str] | None = None, **how: bool) -> str:
    cluster = InspectedCluster(
        cluster="10.0.0.1:9876",
        ts=1_700_000_006_000,
        looked_s=6.2,
        brokers=("a", "b"),
        untold=(),
        empty=EmptyGroups(number=214),
        silent=silent or {},
        groups=groups,
    )
    return "\n".join(row.text for row in lines_of(cluster, width, **how)) + "\n"


def not_asked(client_id: str, reason: str) -> dict[str, Any]:
    return {"not_asked": (NotAsked(client_id, reason),)}
