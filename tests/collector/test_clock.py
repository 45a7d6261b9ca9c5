"""The collector's clocks: steps of the wall clock, and small corrections of it."""

from streaming.collector.wire.clock import Clock


class Machine:
    """A machine whose wall clock can be set."""

    def __init__(self) -> None:
        self.wall_ms = 1_000_000
        self.monotonic_s = 50.0
        self.clock = Clock(lambda: self.wall_ms, lambda: self.monotonic_s)

    def advance(self, ms: int) -> None:
        self.wall_ms += ms
        self.monotonic_s += ms / 1000


def test_small_correction_back_never_makes_an_answer_older_than_the_one_before() -> None:
    machine = Machine()
    asked_ts = machine.clock.now_ms()
    machine.wall_ms -= 20
    assert machine.clock.follow() == 0
    assert machine.clock.now_ms() == asked_ts
    machine.advance(5)
    assert machine.clock.now_ms() == asked_ts
    machine.advance(20)
    assert machine.clock.now_ms() == machine.wall_ms == asked_ts + 5


def test_step_back_is_followed_at_once_and_returned() -> None:
    machine = Machine()
    machine.clock.now_ms()
    machine.wall_ms -= 60_000
    assert machine.clock.follow() == -60_000
    assert machine.clock.now_ms() == machine.wall_ms
    machine.advance(7)
    assert machine.clock.now_ms() == machine.wall_ms


def test_corrections_forward_are_followed_and_schedules_never_step() -> None:
    machine = Machine()
    steady = machine.clock.steady_ms()
    machine.wall_ms += 300
    assert machine.clock.follow() == 0
    assert machine.clock.now_ms() == machine.wall_ms
    machine.wall_ms += 60_000
    assert machine.clock.follow() == 60_000
    assert machine.clock.steady_ms() == steady
