"""The parameters of strategies: keys of the file, and the names in RocketMQ's classes."""

from collections.abc import Mapping
from typing import Any

from streaming.core.allocation.machine_room_nearby import NAME_BEFORE_INNER

_OF_STRATEGY = {"consumeridcs": "consumeridcs", "virtual_node_count": "virtualNodeCnt"}
_OF_ROOMS = {"broker_rooms": "brokerRooms", "client_rooms": "clientRooms", "room_separator": "byPrefix"}
_QUEUE_LIST = "message_queue_list"

PARAM_KEYS = (_QUEUE_LIST, *_OF_STRATEGY, *_OF_ROOMS)
NAME_OF_PARAM = {"messageQueueList": _QUEUE_LIST} | {java: key for key, java in (_OF_STRATEGY | _OF_ROOMS).items()}


def strategy_params(strategy: str | None, rule: Mapping[str, Any]) -> dict[str, object]:
    """The parameters among the keys of ``rule``. Those of the strategy inside MACHINE_ROOM_NEARBY go to ``inner``."""
    params: dict[str, object] = {java: rule[key] for key, java in _OF_STRATEGY.items() if key in rule}
    if _QUEUE_LIST in rule:
        params["messageQueueList"] = [
            {"topic": queue["topic"], "brokerName": queue["broker_name"], "queueId": queue["queue_id"]}
            for queue in rule[_QUEUE_LIST]
        ]
    rooms: dict[str, object] = {java: rule[key] for key, java in _OF_ROOMS.items() if key in rule}
    if strategy is None or not strategy.startswith(f"{NAME_BEFORE_INNER}-"):
        return params | rooms
    return rooms | {"inner": {"strategy": strategy.removeprefix(f"{NAME_BEFORE_INNER}-"), "params": params}}
