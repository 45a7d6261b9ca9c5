"""The report as text for people: what is fine in one line for all things of a kind, all else in full. Pure."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from streaming.doctor.checks import Check, Report, Verdict
from streaming.wording.lists import first_of, grouped, joined
from streaming.wording.names import padded, plain, wrapped

WIDEST = 100
VERDICT_WIDTH = max(len(verdict.value) for verdict in Verdict) + 1
NAMES_AT_MOST = 4
LINES_AT_MOST = 6  # for things of one kind that are fine


def lines(report: Report, width: int) -> Iterator[str]:
    """The report in lines of at most so many characters."""
    shown = _folded(report.checks)
    column = max((len(check.what) for check in shown), default=0) + 2
    indent = " " * (VERDICT_WIDTH + column + 2)
    room = max(20, min(width, WIDEST + column) - len(indent))
    for area, checks in grouped(shown, lambda check: check.area).items():
        yield area
        for check in checks:
            head = f"  {padded(check.verdict.value, VERDICT_WIDTH)}{padded(check.what, column)}"
            first, *more = wrapped(plain(_text(check)), room)
            yield f"{head}{first}"
            yield from (f"{indent}{line}" for line in more)
            yield from _mending(check, indent)
    yield _sum(report)


def _folded(checks: Sequence[Check]) -> list[Check]:
    """Checks of one kind become one if they found the same and nothing is wrong, or if they are many and fine."""
    found: list[Check] = []
    for same in grouped(checks, lambda check: (check.area, check.what, check.verdict)).values():
        is_alike = len({(check.found, check.mend) for check in same}) == 1 and same[0].verdict is not Verdict.WRONG
        is_long = len(same) > LINES_AT_MOST and same[0].verdict is Verdict.FINE
        found += [_together(same)] if len(same) > 1 and (is_alike or is_long) else same
    return found


def _together(same: Sequence[Check]) -> Check:
    if len({check.found for check in same}) == 1:
        where = first_of([check.where for check in same], NAMES_AT_MOST)
        return replace(same[0], where=where)
    return replace(same[0], where="", found=first_of([_text(check) for check in same], NAMES_AT_MOST))


def _text(check: Check) -> str:
    return joined(check.where, check.found)


def _mending(check: Check, indent: str) -> Iterator[str]:
    """The command stays in one line, so that it can be pasted."""
    if check.mend:
        yield f"{indent}-> {plain(check.mend)}"


def _sum(report: Report) -> str:
    counts = ", ".join(f"{report.count(verdict)} {verdict.value}" for verdict in Verdict)
    return f"{counts}; took {report.took_s:.1f} s"
