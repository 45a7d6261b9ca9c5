"""What is counted of mutants."""

from bench.mutants import summary


def test_each_package_has_its_counts_and_survivors_are_named() -> None:
    lines = [
        "    streaming.core.causes.table.x_pick__mutmut_7: killed\n",
        "    streaming.core.causes.table.xǁOneǁof__mutmut_7: survived\n",
        "    streaming.notifier.pages.x_due__mutmut_7: no tests\n",
        "    streaming.notifier.pages.x_due__mutmut_8: not checked\n",
        "\n",
    ]
    assert summary(lines) == {
        "mutants": {"core.causes": {"killed": 1, "survived": 1}, "notifier.pages": {"no tests": 1}},
        "survived": ["streaming.core.causes.table.xǁOneǁof__mutmut_7"],
    }
