"""Brokers by their names: the addresses that they have at the moment, and which of them give no answer."""

import logging
from collections.abc import Mapping

from streaming.collector.probing.group_schedule import KEEP_WATCHING_MS

log = logging.getLogger(__name__)


class BrokerDirectory:
    """A broker that the name servers no longer know keeps its last address, until it is forgotten."""

    def __init__(self) -> None:
        self.addresses: dict[str, str] = {}
        self._seen_ts: dict[str, int] = {}

    def take(self, addresses: Mapping[str, str], now: int) -> list[str]:
        """Takes the brokers that the name servers know now. Returns in words what has changed."""
        news = [
            f"broker {name} is now at {address}" if name in self.addresses else f"broker {name} at {address}"
            for name, address in sorted(addresses.items())
            if self.addresses.get(name) != address
        ]
        self.addresses |= addresses
        self._seen_ts |= dict.fromkeys(addresses, now)
        for name in [name for name, ts in self._seen_ts.items() if now - ts > KEEP_WATCHING_MS]:
            news.append(f"broker {name} has been gone for long and is forgotten")
            del self.addresses[name], self._seen_ts[name]
        return news


class Silent:
    """Who gives no answer, and why: brokers, and the name servers together. The log says when that changes."""

    def __init__(self, cluster: str) -> None:
        self.why: dict[str, str] = {}
        self._cluster = cluster

    def note(self, who: str, failure: str | None) -> None:
        """``failure`` None: there was an answer."""
        if failure is not None and who not in self.why:
            log.warning("%s: no answer of %s: %s", self._cluster, who, failure)
            self.why[who] = failure
        elif failure is None and self.why.pop(who, None) is not None:
            log.warning("%s: answers again: %s", self._cluster, who)
