"""The groups of one cluster as one producer sees them."""

from collections.abc import Iterable

from streaming.collector.translation.group import GroupTranslation
from streaming.collector.translation.routes import Routes


class ClusterTranslation:
    """``source`` names this life of the producer (schemas.events): a producer that starts again takes another.

    ``confirms`` false: everything is sent in full each time, as older producers do.
    """

    def __init__(self, cluster: str, source: str, confirms: bool = True) -> None:
        self._confirms = confirms
        self.cluster = cluster
        self.source = source
        self.routes = Routes()
        self.groups: dict[str, GroupTranslation] = {}
        self._brokers: tuple[str, ...] = ()

    def know_brokers(self, brokers: Iterable[str]) -> None:
        """Brokers that every group is asked for, those known already and those to come."""
        self._brokers = tuple(dict.fromkeys((*self._brokers, *brokers)))
        for group in self.groups.values():
            group.know(self._brokers)

    def set_back(self, by_ms: int) -> None:
        """The clock that gives events their times was set back: what is remembered keeps its age."""
        self.routes.set_back(by_ms)
        for group in self.groups.values():
            group.set_back(by_ms)

    def send_all(self) -> None:
        """Everything is sent in full once more: something that was sent is lost."""
        for group in self.groups.values():
            group.send_all()

    def group(self, name: str) -> GroupTranslation:
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = GroupTranslation(self.cluster, name, self.source, self.routes, self._confirms)
            group.know(self._brokers)
        return group
