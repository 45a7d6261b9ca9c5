"""Brokers by their names, and the addresses that they have at the moment."""

from collections.abc import Mapping

from streaming.collector.probing.policy import KEEP_WATCHING_MS


class BrokerDirectory:
    """A broker that the name servers no longer know keeps its last address, until it is forgotten."""

    def __init__(self) -> None:
        self._addresses: dict[str, str] = {}
        self._seen_ts: dict[str, int] = {}

    def take(self, addresses: Mapping[str, str], now: int) -> list[str]:
        """What the name servers know now. Gives, in words, what has changed."""
        news = [
            f"broker {name} is now at {address}" if name in self._addresses else f"broker {name} at {address}"
            for name, address in sorted(addresses.items())
            if self._addresses.get(name) != address
        ]
        self._addresses |= addresses
        self._seen_ts |= dict.fromkeys(addresses, now)
        for name in [name for name, ts in self._seen_ts.items() if now - ts > KEEP_WATCHING_MS]:
            news.append(f"broker {name} has been gone for long and is forgotten")
            del self._addresses[name], self._seen_ts[name]
        return news

    @property
    def addresses(self) -> Mapping[str, str]:
        return self._addresses
