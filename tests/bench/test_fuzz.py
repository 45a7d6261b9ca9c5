"""A short form of bench.fuzz: damaged records and answers end as events, in quarantine or as errors with a name."""

import pytest

from bench.fuzz.answers import fuzz_answers
from bench.fuzz.records import fuzz_records

pytestmark = [pytest.mark.slow("a short measurement"), pytest.mark.timeout(900)]  # some seconds of the processor


@pytest.mark.deep("thousands of damaged records")
def test_damaged_records_are_taken_or_in_quarantine() -> None:
    found = fuzz_records(10_000, 7, lambda taken: None)
    assert found["records"] == 10_000
    assert found["events"] > 10_000
    reasons = {name.removeprefix("quarantined as ") for name in found if name.startswith("quarantined as ")}
    assert reasons >= {"bad_field", "bad_json", "bad_utf8", "key_mismatch", "absurd_time"}
    assert found["slowest_batch_s"] < 5


@pytest.mark.deep("thousands of damaged records")
def test_damaged_answers_are_events_or_errors_with_a_name() -> None:
    found = fuzz_answers(1_000, 7, lambda taken: None)
    assert found["answers"] >= 1_000
    assert found["events"] > 0
    reasons = {name for name in found if name.startswith("quarantined as ")}
    assert reasons <= {"quarantined as too_many"}  # what no event may have is not taken for an answer
    assert found["outcomes"].keys() >= {"answers", "connection closed by the other side", "not RocketMQ's protocol"}
    assert found["slowest_round_s"] < 5
