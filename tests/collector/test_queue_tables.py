"""Tables of queues are read at once where an SDK wrote them as usual, with the same result as key by key."""

import time
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streaming.collector.wire import queue_tables
from streaming.collector.wire.fastjson import FastJsonError

CAPTURES = Path(__file__).parent / "captures"
READERS: dict[str, Any] = {
    "running_info_go": queue_tables.running_info,
    "running_info_quote": queue_tables.running_info,
    "consume_stats_all": queue_tables.consume_stats,
    "consume_stats_pop": queue_tables.consume_stats,
    "consume_stats_revive": queue_tables.consume_stats,
}
PIECES = [  # of a table
    '{"topic":"T","brokerName":"b","queueId":1}', '{"topic":"U","brokerName":"b","queueId":1}', "{}", '{"droped":true}',
    '{"dropped":true}', '{"topic":"},{","droped":true}', r'{"topic":"a\"}:{"}', '{"topic":"}:{","queueId":1}', '"x"',
    "null", "[]", ":", ",", "{", "}", '"mqTable":', '"mqPopTable":', '{"rows":[]}', ' ',
]  # fmt: skip


def outcome(read: Any, body: bytes) -> Any:
    """None: it could not be read."""
    try:
        return read(body)
    except (FastJsonError, msgspec.ValidationError):
        return None


def key_by_key(read: Any, body: bytes) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queue_tables, "_at_once", lambda *_: None)
        return outcome(read, body)


@pytest.mark.parametrize("name", READERS)
def test_bodies_of_sdks_and_brokers_are_read_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = (CAPTURES / f"{name}.json").read_bytes()
    slowly = key_by_key(READERS[name], body)
    monkeypatch.setattr(queue_tables, "loaded", pytest.fail)
    assert READERS[name](body) == slowly


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
@example('{"topic":"T","brokerName":"b","queueId":1}:{"droped":true},{"topic":"T","brokerName":"b","queueId":1}:{}')
@example('{"topic":"T","brokerName":"b","queueId":1}:{"dropped":true},{"topic":"U","brokerName":"b","queueId":1}:{}')
@example(
    '{"topic":"T","brokerName":"b","queueId":1}:{"droped":false},{"topic":"U","brokerName":"b","queueId":1}:{"dropped":true}'
)
@example('{"topic":"T","brokerName":"b","queueId":1}:{"dropped" :true}')
@example('{"topic":"T","brokerName":"b","queueId":1,"dropped":true}:{}')
@example('{"topic":"dropped","brokerName":"b","queueId":1}:{"dropped":true}')
def test_any_table_gives_what_its_keys_give_one_by_one(table: str) -> None:
    body = f'{{"mqTable":{{{table}}},"mqPopTable":{{}}}}'.encode()
    assert outcome(queue_tables.running_info, body) == key_by_key(queue_tables.running_info, body)


@given(st.sampled_from(sorted(READERS)), st.data())
def test_a_mutated_body_that_can_be_read_key_by_key_gives_the_same(name: str, data: st.DataObject) -> None:
    body = bytearray((CAPTURES / f"{name}.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 8))] = data.draw(st.sampled_from(PIECES)).encode()
    slowly = key_by_key(READERS[name], bytes(body))
    assert slowly is None or outcome(READERS[name], bytes(body)) == slowly


@pytest.mark.parametrize("table", ["[]", "3", '"x"', '{"rows":3}', '{"rows":[]}'])
def test_what_is_no_table_of_queues_is_unreadable(table: str) -> None:
    """A client that is taken to own nothing would be a finding."""
    assert outcome(queue_tables.running_info, f'{{"mqTable":{table}}}'.encode()) is None


@pytest.mark.slow("many rounds are asked")
def test_a_body_of_nothing_but_quotes_does_not_take_much_memory() -> None:
    body = b'{"mqTable":{{' + b'""' * 2_000_000
    tracemalloc.start()
    try:
        assert outcome(queue_tables.running_info, body) is None
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.slow("many rounds are asked")
def test_a_table_without_an_end_does_not_take_long() -> None:
    row = b'{"topic":"T","brokerName":"b","queueId":1}:{"droped":false},'
    for text in (b'{"mqTable":{' + row * 40_000, b'{"mqTable":{{' * 100_000, b'{"mqTable":{{"' + b'","' * 400_000):
        began = time.process_time()
        queue_tables._TABLE.sub(queue_tables._as_array, text)
        assert time.process_time() - began < 1
