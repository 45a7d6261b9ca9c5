"""Made-up lines of a run of two and a half hours."""

HOURS_S = 9_000.0  # of a run: two and a half


def line(at_s, life=1, **more):
    return {"at_s": float(at_s), "life": life, "ts": 1_790_000_000_000 + at_s * 1000, **more}
