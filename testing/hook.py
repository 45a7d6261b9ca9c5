"""A webhook on loopback: what the notifier has told it."""

from typing import Any, Protocol

RULES = """
[monitor]
blind_seconds = {blind_s}
late_seconds = {late_s}

[pages]
wait_seconds = 1

[[sinks]]
name = "hook"
kind = "webhook"
url = "{url}"
"""


class Webhook(Protocol):
    """What took the requests of the notifier, in their order."""

    @property
    def taken(self) -> list[Any]: ...


class Told:
    """What the webhook took, in order."""

    def __init__(self, server: Webhook) -> None:
        self._server = server

    def notices(self) -> list[dict[str, Any]]:
        return [got.json for got in list(self._server.taken)]

    def open(self) -> set[tuple[str, str]]:
        """(kind, cluster) of the notifier's own troubles that are open."""
        standing: dict[str, tuple[str, str]] = {}
        for said in self.notices():
            if said["status"] == "resolved":
                standing.pop(said["key"], None)
            elif said["trouble"]:
                standing[said["key"]] = (said["trouble"]["kind"], said["cluster"])
        return set(standing.values())

    def blind(self) -> set[str]:
        return {cluster for kind, cluster in self.open() if kind == "monitor_blind"}

    def why(self, cluster: str) -> tuple[str, str]:
        """What the newest notice of a cluster's trouble names as its reason, and its text."""
        said = [said for said in self.notices() if said["trouble"] and said["cluster"] == cluster]
        return said[-1]["trouble"]["why"], said[-1]["body"]

    def newest_why(self) -> set[str]:
        """What is named of each trouble that is open."""
        return {self.why(cluster)[0] for _, cluster in self.open()}

    def of_group(self, group: str) -> list[tuple[str, str]]:
        """(status, key) of what was told of a group."""
        return [(said["status"], said["key"]) for said in self.notices() if said["groups"] == [group]]
