"""``testing.conformance``: that it passes what is right, and that nothing wrong slips through."""

import gzip
import json
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from streaming.core.allocation.together import Allocation
from testing.conformance import SHOWN_MISMATCHES, run_conformance

VECTORS = Path(__file__).parent / "vectors.jsonl.gz"
Line = dict[str, Any]
Run = Callable[..., tuple[int, list[str]]]


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    with gzip.open(VECTORS) as file:
        return [json.loads(line) for line in file]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the lines, given as cases or as raw bytes, and returns the exit code and what was printed."""

    def run_lines(*given: Line | bytes) -> tuple[int, list[str]]:
        path = tmp_path / "vectors.jsonl"
        path.write_bytes(b"".join(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in given))
        return run_file(path)

    return run_lines


def run_file(path: Path) -> tuple[int, list[str]]:
    out = StringIO()
    code = run_conformance(path, out)
    printed = out.getvalue()
    assert printed.isascii()
    return code, printed.splitlines()


def named(lines: list[Line], case: str, strategy: str | None = None) -> Line:
    found = next(line for line in lines if line["case"] == case and strategy in (None, line["strategy"]))
    copied: Line = json.loads(json.dumps(found))
    return copied


def with_one_answer_wrong(line: Line) -> Line:
    wrong: Line = json.loads(json.dumps(line))
    if "queues" not in wrong:
        wrong["expected"]["error"]["message"] += "!"
        return wrong
    client_id, answer = next(iter(wrong["expected"].items()))
    if answer is None:
        wrong["expected"][client_id] = []
    elif isinstance(answer, dict):
        answer["error"]["class"] = "java.lang.IllegalStateException"
    else:
        wrong["expected"][client_id] = answer[:-1] or [{"topic": "T", "brokerName": "b", "queueId": 1}]
    return wrong


@pytest.mark.slow("minutes and hours of a group are folded")
def test_every_answer_of_rocketmq_is_ours() -> None:
    assert run_file(VECTORS) == (0, ["cases 1021", "allocations 5333", "mismatches 0"])


@pytest.mark.slow("minutes and hours of a group are folded")
def test_one_wrong_answer_in_every_case_is_found_in_every_case(
    lines: list[Line], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("testing.conformance.SHOWN_MISMATCHES", len(lines) + 1)
    code, printed = run(*map(with_one_answer_wrong, lines))
    assert code == 1
    assert printed[-1] == "mismatches 1021"
    assert [line.split()[1] for line in printed if line.startswith("mismatch ")] == [line["id"] for line in lines]


@pytest.mark.slow("minutes and hours of a group are folded")
def test_one_wrong_answer_among_all_is_found(lines: list[Line], run: Run) -> None:
    code, printed = run(*lines[:500], with_one_answer_wrong(lines[500]), *lines[501:])
    assert code == 1
    assert printed[-3:] == ["cases 1021", "allocations 5333", "mismatches 1"]


def test_a_mismatch_is_shown_with_case_client_and_both_answers(lines: list[Line], run: Run) -> None:
    line = named(lines, "numeric-vs-lexicographic", "AVG")
    client_id = line["clientIds"][0]
    line["expected"][client_id].reverse()
    code, printed = run(line)
    assert code == 1
    assert printed[0] == f'mismatch {line["id"]} numeric-vs-lexicographic AVG: client "{client_id}"'
    assert printed[1].startswith("  expected (")
    assert printed[2].startswith("  got      (")
    assert printed[1].split()[2:] != printed[2].split()[2:]


def test_a_long_answer_is_shown_from_where_it_differs(lines: list[Line], run: Run) -> None:
    line = named(lines, "one-consumer", "AVG")
    (answer,) = line["expected"].values()
    answer[15]["queueId"] = 77
    assert len(answer) > 16
    _, printed = run(line)
    assert printed[1].startswith(f"  expected ({len(answer)}) ... SpTopic/{answer[15]['brokerName']}/77 ")


@pytest.mark.parametrize("case", ["counts", "views", "duplicate-clientids"])
@pytest.mark.parametrize("field", ["duplicated", "orphaned"])
def test_wrong_sums_are_found(lines: list[Line], run: Run, case: str, field: str) -> None:
    line = named(lines, case)
    line[field] = line[field][1:] or line["queues"][:1]
    code, printed = run(line)
    assert (code, printed[0].rsplit(": ")[1], printed[-1]) == (1, field, "mismatches 1")


def test_inputs_that_are_not_in_javas_order_are_found(lines: list[Line], run: Run) -> None:
    line = named(lines, "utf16-order", "AVG")
    line["clientIds"].sort()
    _, printed = run(line)
    assert "order of the clients" in printed[0]
    line = named(lines, "numeric-vs-lexicographic", "AVG")
    line["queues"].reverse()
    _, printed = run(line)
    assert "order of the queues" in printed[0]


def test_a_pass_for_all_clients_that_says_something_else_is_found(
    lines: list[Line], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = named(lines, "one-consumer", "AVG")
    (client_id,) = line["clientIds"]
    monkeypatch.setattr("testing.conformance.allocate_all", lambda *_: Allocation((client_id,), ((),)))
    code, printed = run(line)
    assert code == 1
    assert printed[0] == f'mismatch {line["id"]} one-consumer AVG: all clients in one pass, "{client_id}"'


def test_the_message_counts_except_that_of_a_null_pointer(lines: list[Line], run: Run) -> None:
    for case, mismatches in (("machineroom-null-idcs", 0), ("empty-clients", 1)):
        line = named(lines, case)
        for answer in line["expected"].values():
            answer["error"]["message"] = None
        assert run(line)[1][-1].startswith("mismatches 0") == (mismatches == 0)


def test_a_constructor_that_should_have_thrown_is_found(run: Run) -> None:
    thrown = {"error": {"class": "java.lang.IllegalArgumentException", "message": "no"}}
    line = {"case": "c", "id": "1", "strategy": "CONSISTENT_HASH", "params": {"virtualNodeCnt": 1}, "expected": thrown}
    code, printed = run(line)
    assert code == 1
    assert printed[1:3] == ["  expected throws java.lang.IllegalArgumentException: no", "  got      null"]


def test_a_constructor_that_should_not_have_thrown_is_found(lines: list[Line], run: Run) -> None:
    line = named(lines, "counts", "CONSISTENT_HASH")
    line["params"] = {"virtualNodeCnt": -1}
    code, printed = run(line)
    assert code == 1
    assert "throws java.lang.IllegalArgumentException: illegal virtualNodeCnt :-1" in printed[2]


def test_only_the_first_mismatches_are_shown_and_all_are_counted(lines: list[Line], run: Run) -> None:
    code, printed = run(*map(with_one_answer_wrong, lines[:50]))
    assert code == 1
    assert sum(line.startswith("mismatch ") for line in printed) == SHOWN_MISMATCHES
    assert printed[-1] == "mismatches 50"


def test_ids_that_no_terminal_can_show_are_escaped(lines: list[Line], run: Run) -> None:
    line = named(lines, "lone-surrogate", "AVG")
    line["expected"]["a\ud800x"] = []
    _, printed = run(line)
    assert printed[0].endswith(r'client "a\ud800x"')


def test_blank_lines_are_passed_over_and_compression_is_seen_by_content(
    lines: list[Line], tmp_path: Path, run: Run
) -> None:
    assert run(b"\n", lines[0], b" \n")[1][0] == "cases 1"
    compressed = tmp_path / "compressed.jsonl"
    compressed.write_bytes(gzip.compress(json.dumps(lines[0]).encode()))
    assert run_file(compressed)[1][0] == "cases 1"


def faulty_lines(line: Line) -> Iterator[tuple[Line | bytes, str]]:
    client_id = line["clientIds"][0]
    yield b"{\n", "Expecting"
    yield b"\xff\xff{}\n", "line 2: "
    yield b"[" * 100_000 + b"\n", "nested too deeply"
    yield b"[]\n", "Expected `object`"
    yield {**line, "queues": [{"topic": "T"}]}, "missing required field `brokerName`"
    yield {**line, "clientIds": "x"}, "at `$.clientIds`"
    yield {**line, "strategy": "OWN"}, "unknown strategy 'OWN'"
    yield {**line, "params": {"consumeridcs": ["r"]}}, "unknown field `consumeridcs`"
    yield {**line, "expected": {}}, f"client '{client_id}' must be both asked and in `expected`"
    yield {**line, "probes": ["\ud800"]}, r"client '\ud800' must be both asked"
    yield {**line, "clientIdViews": {"ghost": ["x"]}}, "client 'ghost' has a view, but is not asked"
    yield {**line, "expected": dict.fromkeys(line["clientIds"], 5)}, "got `int`"


def test_a_malformed_line_is_named_in_one_line(lines: list[Line], run: Run) -> None:
    for faulty, fault in faulty_lines(named(lines, "counts", "AVG")):
        code, printed = run(lines[0], faulty, lines[1])
        assert (code, len(printed)) == (2, 1)
        assert printed[0].startswith("error: ")
        assert ": line 2: " in printed[0]
        assert fault in printed[0]


@pytest.mark.slow("minutes and hours of a group are folded")
def test_a_file_that_cannot_be_read_is_not_a_file_without_mismatches(tmp_path: Path) -> None:
    whole = VECTORS.read_bytes()
    files = {
        "truncated.gz": whole[: len(whole) // 2],
        "damaged.gz": whole[:5000] + b"\0" * 5000 + whole[10_000:],
        "empty.jsonl": b"",
        "blank.jsonl": b"\n\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    for name in (*files, "missing.jsonl", "."):
        code, printed = run_file(tmp_path / name)
        assert (code, len(printed)) == (2, 1), name
        assert printed[0].startswith("error: "), name
