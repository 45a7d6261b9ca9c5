"""A plan as text."""

from collections.abc import Iterator

from streaming.simulation.planning.forecast import Forecast

HEADS = ("strategy", "moved", "fewest", "most", "least", "idle", "no owner", "longest", "twice", "longest", "again")
MEANINGS = (
    "moved            queues that change owner; fewest: how many had to, given the shares in the end",
    "most, least      queues of one client; idle: clients without any",
    "no owner, twice  for how long queues have no owner, or two: summed over queues, and the longest of one",
    "again            messages likely to be delivered again; ± how far a single run is from that",
)
RATE_IS_UNKNOWN = "How many come again depends on how many are written, which is not known here: name it with --rate."


def lines(forecasts: list[Forecast], title: str, present_strategy: str | None) -> Iterator[str]:
    yield title
    yield ""
    yield f"{HEADS[0]:<21}" + "".join(f"{head:>10}" for head in HEADS[1:])
    for one in forecasts:
        name = f"{one.strategy}{' *' if one.strategy == present_strategy else ''}"
        if one.balance is None or one.cost is None or one.error is None:
            yield f"{name:<21}  does not apply: {one.why_not}"
            continue
        cost = one.cost
        times = (cost.unowned_queue_s, cost.unowned_longest_s, cost.doubled_queue_s, cost.doubled_longest_s)
        again = f"{cost.repeated:.0f} ±{one.error.repeated:.0f}" if one.knows_rates else "-"
        cells = [*map(str, one.balance[:5]), *(f"{value:.1f} s" for value in times), again]
        left = f"  {one.balance.unowned} queues have no owner afterwards" if one.balance.unowned else ""
        yield f"{name:<21}" + "".join(f"{cell:>10}" for cell in cells) + left
    yield ""
    if present_strategy is not None:
        yield "* the group's own strategy; of each other one the group is taken to have had it before the change"
    yield from MEANINGS
    if not all(one.knows_rates for one in forecasts):
        yield RATE_IS_UNKNOWN
