"""Numbers and queue ids in short."""

from collections.abc import Iterable


def rate(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1f}" if value < 100 else short(round(value))


def short(value: int | None) -> str:
    """``12345``, ``123k``, ``12M``."""
    if value is None:
        return "-"
    for limit, divisor, unit in ((100_000, 1, ""), (10_000_000, 1_000, "k"), (10_000_000_000, 1_000_000, "M")):
        if value < limit:
            return f"{value // divisor}{unit}"
    return f"{value // 1_000_000_000}G"


def counted(number: int, noun: str) -> str:
    """``1 round``, ``2 rounds``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def folded(numbers: Iterable[int]) -> list[str]:
    """The ids as ranges: ``0-3`` and ``5``."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return [str(first) if first == last else f"{first}-{last}" for first, last in found]


def by_broker(queues: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for broker_name, queue_id in queues:
        found.setdefault(broker_name, []).append(queue_id)
    return found


def ranges(queues: Iterable[tuple[str, int]]) -> str:
    """``broker-a 0-3 5, broker-b 1``."""
    return ", ".join(f"{name} {' '.join(folded(ids))}" for name, ids in by_broker(queues).items())
