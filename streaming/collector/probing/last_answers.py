"""The last answer of each client of a group. If brokers list a client id twice: of each of its instances."""

from collections.abc import Iterable, Iterator, Mapping

from streaming.collector.probing.disagreements import Said
from streaming.collector.translation.alive_channels import listed_twice

INSTANCES = 2


class LastAnswers:
    def __init__(self) -> None:
        self._of: dict[str, tuple[Said, ...]] = {}  # by client id, one of each instance, the newest last
        self._twice: dict[str, int] = {}  # ids that are listed twice -> how often they were asked since

    def listed(self, lists: Iterable[Iterable[str]]) -> bool:
        """The members by each broker's list. Whether some that had answered are gone, or other ids are listed twice."""
        present: set[str] = set()
        twice: set[str] = set()
        for client_ids in lists:
            present.update(client_ids)
            twice |= listed_twice(client_ids)
        gone = self._of.keys() - present
        for client_id in gone:
            del self._of[client_id]
        is_other = twice != self._twice.keys()
        if is_other:
            self._keep_one_instance(twice ^ self._twice.keys())
            self._twice = {client_id: self._twice.get(client_id, 0) for client_id in twice}
        return bool(gone) or is_other

    def _keep_one_instance(self, client_ids: Iterable[str]) -> None:
        """Drops all but the newest answer: one from before the lists changed proves no second instance."""
        for client_id in client_ids:
            if client_id in self._of:
                self._of[client_id] = self._of[client_id][-1:]

    def add(self, client_id: str, said: Said) -> tuple[bool, bool]:
        """Returns whether it says anything new, and whether the client was started again under its id."""
        known = self._of.get(client_id, ())
        before = next((one for one in known if one.start_ts == said.start_ts), None)
        others = tuple(one for one in known if one is not before)
        was_restarted = client_id not in self._twice and any(one.start_ts < said.start_ts for one in others)
        if client_id in self._twice:
            self._twice[client_id] += 1
        else:
            others = ()
        self._of[client_id] = (*others, said)[-INSTANCES:]
        return before is None or before.owned != said.owned, was_restarted

    def since(self, ts: int, client_ids: Iterable[str]) -> Mapping[str, tuple[Said, ...]]:
        """The answers since ``ts`` of each of these clients, if all of its known instances have answered."""
        known = {client_id: self._of[client_id] for client_id in client_ids if client_id in self._of}
        return {client_id: those for client_id, those in known.items() if all(one.ts >= ts for one in those)}

    def silent_since(self, ts: int, client_ids: Iterable[str]) -> Iterator[str]:
        """Those of which some known instance has not answered later."""
        for client_id in client_ids:
            those = self._of.get(client_id)
            if not those or any(one.ts <= ts for one in those):
                yield client_id

    def may_have_another_instance(self, tries: int) -> Iterator[str]:
        """Ids listed twice of which one instance has answered, and which were asked less often than ``tries``."""
        return (c for c, asked in self._twice.items() if asked < tries and len(self._of.get(c, ())) < INSTANCES)
