"""The proxies of a cluster: which there are, and which of them may be asked now.

A proxy in cluster mode has clients that no broker lists, by gRPC or by remoting (apache/rocketmq 5.3.3:
``ClusterConsumerManager``). Each proxy lists its own clients and those of the others, of which it learns through the
topic DefaultHeartBeatSyncerTopic. Requests go to its remoting port, which answers them from its memory: none of them
reaches a client (``RemotingProtocolServer.registerRemotingServer``).
"""

from collections.abc import Iterable

from schemas.identity import proxy_name
from streaming.collector.probing.group_schedule import KEEP_WATCHING_MS

REMOTING_PORT = 8080  # ProxyConfig.remotingListenPort, assumed where proxies do not say another one
FIRST_REST_MS = 5_000
SLOW_MS = 1_000  # what is asked for is in the memory of who answers, and so comes at once
LONGEST_REST = 64  # of the first


class Rests:
    """Who answers slowly, or not at all, rests, and each time for twice as long."""

    def __init__(self, first_ms: int) -> None:
        self._first_ms = first_ms
        self._rests: dict[str, tuple[int, int]] = {}  # by name: until when it rests, and for how long

    def is_over(self, name: str, now: int) -> bool:
        return self._rests.get(name, (0, 0))[0] <= now

    def forget(self, name: str) -> None:
        self._rests.pop(name, None)

    def answered(self, name: str, asked_ms: int, took_ms: float, has_answered: bool) -> None:
        """``asked_ms``: by the steady clock. Requests that were on their way when a rest began do not prolong it."""
        until_ms, rest_ms = self._rests.get(name, (0, 0))
        if has_answered and took_ms <= SLOW_MS:
            self.forget(name)
        elif asked_ms >= until_ms - rest_ms:
            rest_ms = min(max(2 * rest_ms, self._first_ms), LONGEST_REST * self._first_ms)
            self._rests[name] = asked_ms + round(took_ms) + rest_ms, rest_ms


class Proxies:
    """``named``: addresses of the configuration. If there are none, the proxies that brokers know are asked.

    ``addresses`` are by the name that events give a proxy.
    """

    def __init__(self, named: Iterable[str] = ()) -> None:
        self.addresses = {proxy_name(address): address for address in named}
        self.are_named = bool(self.addresses)
        self._found_ts: dict[str, int] = {}
        self._rests = Rests(FIRST_REST_MS)
        self.answered = self._rests.answered
        self._turn = 0

    def found(self, addresses: Iterable[str], now: int, wrong: Iterable[str] = ()) -> list[str]:
        """Takes the addresses of the proxies that a broker lists. Returns in words what has changed.

        ``wrong``: addresses that were assumed before the port was known.
        """
        if self.are_named:
            return []
        named = {proxy_name(address): address for address in addresses}
        news = [f"found {name}" for name in sorted(named.keys() - self.addresses.keys())]
        self.addresses |= named
        self._found_ts |= dict.fromkeys(named, now)
        for name in sorted(self._found_ts.keys() & set(map(proxy_name, wrong))):
            news.append(f"{name} listens on another port")
            self._forget(name)
        for name in [name for name, ts in self._found_ts.items() if now - ts > KEEP_WATCHING_MS]:
            news.append(f"{name} has been gone for long and is forgotten")
            self._forget(name)
        return news

    def _forget(self, name: str) -> None:
        del self.addresses[name], self._found_ts[name]
        self._rests.forget(name)

    def due(self, now: int) -> list[str]:
        """Those that do not rest."""
        return [name for name in sorted(self.addresses) if self._rests.is_over(name, now)]

    def one_due(self, now: int) -> list[str]:
        """One of those that do not rest, another one each time; none if all rest."""
        due = self.due(now)
        self._turn += 1
        return [due[self._turn % len(due)]] if due else []


LOOK_MS = 60_000  # how often a group is looked for at a proxy while no proxy lists a member of it


class GroupAtProxies:
    """When one group is asked for at proxies: at all of them while it has members there, else at one now and then.

    ``has_members``: as of the last answers.
    """

    def __init__(self, proxies: Proxies) -> None:
        self._proxies = proxies
        self._watched_until_ms = self._look_ms = 0
        self._lists: dict[str, bool] = {}  # whether it listed a member, by the name of the proxy

    @property
    def has_members(self) -> bool:
        return any(self._lists.values())

    def watched(self, now: int) -> frozenset[str]:
        """The proxies whose lists are part of the group's rounds."""
        return frozenset(self._proxies.addresses if now < self._watched_until_ms else ())

    def due(self, now: int) -> list[str]:
        if not self._proxies.addresses:
            return []
        if now < self._watched_until_ms:
            return self._proxies.due(now)
        return self._proxies.one_due(now) if now >= self._look_ms else []

    def answered(self, name: str, lists_members: bool | None, now: int) -> None:
        """Takes what a proxy lists; None: it gives no list. One that does not answer is no look at the group.

        Once one lists a member, the rounds of the group have the lists of all proxies.
        """
        self._look_ms = now + LOOK_MS
        if lists_members is None:
            return
        if lists_members:
            self._watched_until_ms = now + KEEP_WATCHING_MS
        self._lists = {one: lists for one, lists in self._lists.items() if one in self._proxies.addresses}
        self._lists[name] = lists_members
