"""A cluster as lines of text: headline, groups with the worst first, and a summary."""

import math
from collections.abc import Iterator

from streaming.inspect.group_text import full_lines, short_lines
from streaming.inspect.snapshot import InspectedCluster
from streaming.snapshots.lines import INDENT, Line, paragraph, without_control_characters
from streaming.wording.lists import first_of
from streaming.wording.names import cut
from streaming.wording.numbers import counted
from streaming.wording.times import moment

ORDER = ("findings", "settling", "unknown", "absent", "empty", "excluded", "healthy")
SHORT = ("empty", "excluded", "healthy")  # one line each, unless the user asks for them
OWNERS_JUDGED_S = 75  # if nothing changes (docs/inspect.md)
CLIENTS_ASKED_S = 120  # if clients were not asked yet
SAID_AGAIN_S = 50  # every client is asked within 30 s, and once more
MOST_BROKERS = 8


def lines_of(cluster: InspectedCluster, width: int, asked_for: bool = False, verbose: bool = False) -> Iterator[Line]:
    """The lines of a cluster. ``asked_for``: the named groups are all shown in full; ``verbose``: with every row."""
    cluster = without_control_characters(cluster)
    title = f"{cluster.cluster} at {moment(cluster.ts)}, watched for {cluster.looked_s:.0f} s"
    yield Line(cut(title, width), "bold")
    yield from paragraph(_brokers_and_groups(cluster), width, INDENT, "")
    yield from paragraph(_not_asked(cluster), width, INDENT, "yellow")
    for who, why in cluster.silent.items():
        yield from paragraph(f"no answer of {who}: {why}", width, INDENT, "yellow")
    was_long = True
    for group in sorted(cluster.groups, key=lambda one: (ORDER.index(one.status), one.group)):
        is_short = group.status in SHORT and not (asked_for or verbose)
        if was_long or not is_short:
            yield Line("")
        was_long = not is_short
        yield from short_lines(group, width) if is_short else full_lines(group, width, asked_for or verbose, verbose)
    yield Line("")
    yield from paragraph(_summary(cluster), width, "", "bold")
    yield from paragraph(_how_to_know_more(cluster), width, "", "")


def _brokers_and_groups(cluster: InspectedCluster) -> str:
    number = counted(len(cluster.brokers), "broker")
    brokers = f"{number} by the name servers: {first_of(cluster.brokers, MOST_BROKERS)}"
    brokers = brokers if cluster.brokers else "no broker"
    if len(cluster.untold) == len(cluster.brokers):
        return f"{brokers}; which groups there are is not known"
    known = " known" if cluster.untold else ""
    members = sum(bool(group.members) for group in cluster.groups)
    without = cluster.empty.number + sum(group.members == () for group in cluster.groups)
    return f"{brokers}; {counted(members, 'group')} with members{known}, {without} without"


def _not_asked(cluster: InspectedCluster) -> str:
    """The missing answers of groups that are not shown."""
    empty, parts = cluster.empty, []
    if empty.not_asked:
        groups = counted(empty.not_asked, "group")
        parts.append(f"{groups} without members: not asked what waits for them; --seconds 30, or --group for one")
    if empty.not_known:
        groups = counted(empty.not_known, "group")
        parts.append(f"{groups}: no answer from some broker who their members are, or what waits")
    return "; ".join(parts)


def _how_to_know_more(cluster: InspectedCluster) -> str:
    """The advice how long to look until everything can be judged."""
    questions = [one for group in cluster.groups if group.status not in SHORT for one in group.undecided]
    if not questions or all(group.status == "absent" for group in cluster.groups):
        return ""
    waits_s = [one.judged_in_s or 0 for one in questions]
    least_s = OWNERS_JUDGED_S if all(waits_s) else CLIENTS_ASKED_S
    seconds = max(least_s, math.ceil(cluster.looked_s) + max(waits_s) + SAID_AGAIN_S)
    return f"What is not judged may be healthy or not. Look until it can be judged: --watch, or --seconds {seconds}."


def _summary(cluster: InspectedCluster) -> str:
    """``1 group with findings, 2 healthy.``"""
    statuses = [group.status for group in cluster.groups]
    numbers = {
        "with findings": statuses.count("findings"),
        "not judged in full": statuses.count("settling") + statuses.count("unknown"),
        "without members, messages wait": statuses.count("empty"),
        "not known to any broker": statuses.count("absent"),
        "excluded": statuses.count("excluded"),
        "healthy": statuses.count("healthy"),
    }
    (first, *others) = [(number, what) for what, number in numbers.items() if number] or [(0, "")]
    if first[0]:
        parts = [f"{counted(first[0], 'group')} {first[1]}", *(f"{number} {what}" for number, what in others)]
        return f"{', '.join(parts)}."
    return "No group with members was found." if cluster.is_complete else "No group was found; not everybody answered."
