"""Made-up lines and points of a run of two and a half hours."""

from bench.endure.figures import Point

HOURS_S = 9_000.0  # of a run: two and a half
EVERY_S = 30


def points(value, ended_s=HOURS_S):
    return [Point(at_s, value(at_s)) for at_s in range(EVERY_S, int(ended_s) + 1, EVERY_S)]


def line(at_s, life=1, **more):
    return {"at_s": float(at_s), "life": life, "ts": 1_790_000_000_000 + at_s * 1000, **more}
