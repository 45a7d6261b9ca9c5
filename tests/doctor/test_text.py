"""The report for people: short where all is fine, in full where it is not."""

from streaming.doctor.checks import Report, Verdict, fine, in_order, unknown, wrong
from streaming.doctor.text import lines

CHECKS = (
    *(fine("rocketmq", "broker", "V5_3_3", f"prod b{number}") for number in range(8)),
    fine("kafka", "retention", "7 d", "events"),
    unknown("kafka", "clock", "records have the time of their producers", "kafka-configs.sh", "events"),
    wrong("rocketmq", "broker", "no connection", "start it " + "x" * 100, "prod b9"),
    fine("machine", "Python", "3.11.2"),
)


def report(*checks: object) -> Report:
    return Report("0.2.0", 0, 1.5, in_order(checks))  # type: ignore[arg-type]


def test_report_in_lines() -> None:
    shown = list(lines(report(*CHECKS), 100))
    assert shown == [
        "machine",
        "  fine    Python     3.11.2",
        "kafka",
        "  fine    retention  events: 7 d",
        "  unknown clock      events: records have the time of their producers",
        "                     -> kafka-configs.sh",
        "rocketmq",
        "  fine    broker     prod b0, prod b1, prod b2, prod b3 and 4 more: V5_3_3",
        "  wrong   broker     prod b9: no connection",
        f"                     -> start it {'x' * 100}",
        "10 fine, 1 wrong, 1 unknown; took 1.5 s",
    ]


def test_what_brokers_say_does_not_act_on_the_terminal() -> None:
    shown = "\n".join(lines(report(wrong("rocketmq", "broker", "\x1b[31mred", "\x1b]0;title", "b")), 100))
    assert "\x1b" not in shown


def test_only_a_wrong_thing_makes_a_report_wrong() -> None:
    assert not report(CHECKS[8], CHECKS[9]).is_wrong
    assert report(*CHECKS).is_wrong
    assert report(*CHECKS).count(Verdict.UNKNOWN) == 1
