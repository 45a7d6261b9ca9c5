"""A plan as people read it."""

from collections.abc import Iterator

from streaming.simulation.whatif.forecast import Forecast

HEADS = ("strategy", "moved", "fewest", "most", "least", "idle", "nobody's", "longest", "twice", "longest", "again")
MEANINGS = (
    "moved: queues that change owner; fewest: that had to; most, least: queues of one client; nobody's, twice: for how",
    "long queues have no owner or two, summed, and the longest of one; again: messages likely to be delivered again,",
    "and how far a single run is from that",
)
RATE_IS_UNKNOWN = "How many come again depends on how many are written, which is not known here: name it with --rate."


def lines(forecasts: list[Forecast], group: str, members: int, queues: int) -> Iterator[str]:
    yield f"{group}: {members} clients, {queues} queues afterwards"
    yield ""
    yield f"{HEADS[0]:<20}" + "".join(f"{head:>10}" for head in HEADS[1:])
    for one in forecasts:
        if one.balance is None or one.cost is None or one.error is None:
            yield f"{one.strategy:<20}  does not apply: {one.why_not}"
            continue
        cost = one.cost
        times = (cost.unowned_queue_s, cost.unowned_longest_s, cost.doubled_queue_s, cost.doubled_longest_s)
        again = f"{cost.repeated:.0f} ±{one.error.repeated:.0f}" if one.knows_rates else "-"
        cells = [*map(str, one.balance[:5]), *(f"{value:.1f} s" for value in times), again]
        left = f"  {one.balance.unowned} queues are nobody's afterwards" if one.balance.unowned else ""
        yield f"{one.strategy:<20}" + "".join(f"{cell:>10}" for cell in cells) + left
    yield ""
    yield from MEANINGS
    if not all(one.knows_rates for one in forecasts):
        yield RATE_IS_UNKNOWN
