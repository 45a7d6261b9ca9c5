"""Another clock against the one of this machine."""

from streaming.doctor.checks import Check, fine, unknown, wrong

MEND = "chronyc tracking (or timedatectl) on both machines: which of them is wrong is not known"


def clock(area: str, where: str, least_ms: int, most_ms: int, limit_ms: int) -> Check:
    """The other clock is ahead of ours by ``least_ms`` to ``most_ms``; negative: behind. ``limit_ms``: what evenkeel
    allows for.
    """
    if -limit_ms <= least_ms and most_ms <= limit_ms:
        return fine(area, "clock", f"within {max(abs(least_ms), abs(most_ms)) / 1000:.1f} s of this machine's", where)
    if least_ms > limit_ms:
        return wrong(area, "clock", f"{least_ms / 1000:,.0f} s ahead of this machine's", MEND, where)
    if most_ms < -limit_ms:
        return wrong(area, "clock", f"{-most_ms / 1000:,.0f} s behind this machine's", MEND, where)
    return unknown(area, "clock", f"between {least_ms / 1000:,.0f} and {most_ms / 1000:,.0f} s ahead", where=where)
