"""Real bodies to answers; what cannot be read is an answer without a code, never an exception."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.events import LONGEST_NAME, Round
from streaming.collector.translation.broker_view import BrokerView
from streaming.collector.translation.cluster import ClusterTranslation
from streaming.collector.translation.reports import start_ts, subscriptions
from streaming.collector.wire import reply_parsing
from streaming.collector.wire.answers import (
    ChannelHeartbeat,
    Connection,
    ConnectionsAnswer,
    ConsumerConnection,
    OffsetRow,
    ProcessQueue,
    TopicQueueMapping,
)
from streaming.collector.wire.client import Reply
from streaming.collector.wire.frames import Frame
from streaming.collector.wire.reply_parsing import Asked

CAPTURES = Path(__file__).parent / "captures"
ASKED = Asked("prod", "broker-a", "g")


def reply(body: bytes, code: int = 0) -> Reply:
    return Reply(1_700_000_000_000, 12.5, Frame(code, 1, True, "not set any response code", body))


def capture(name: str) -> Reply:
    return reply((CAPTURES / f"{name}.json").read_bytes())


READERS: dict[str, Any] = {
    "consumer_list": lambda r: reply_parsing.consumer_list(r, ASKED),
    "connections": lambda r: reply_parsing.connections(r, ASKED),
    "route_standard": lambda r: reply_parsing.topic_route(r, "prod", "T"),
    "running_info_go": lambda r: reply_parsing.running_info(r, ASKED, "c"),
    "running_info_quote": lambda r: reply_parsing.running_info(r, ASKED, "c"),
    "consume_stats_all": lambda r: reply_parsing.consume_stats(r, ASKED),
    "cluster_info": lambda r: reply_parsing.broker_addresses(r)[0],
    "subscription_groups": lambda r: reply_parsing.group_settings(r)[0],
}


def test_answer_says_whom_it_is_about_and_when() -> None:
    answer = reply_parsing.consumer_list(capture("consumer_list"), ASKED)
    assert (answer.cluster, answer.broker, answer.group) == ("prod", "broker-a", "g")
    assert (answer.ts, answer.dur_ms, answer.code, answer.error) == (1_700_000_000_000, 12.5, 0, None)
    assert answer.ids == ("127.0.0.1@实例-1", '127.0.0.1@q"uo\\te')


def test_connections_keep_every_channel_and_the_table_of_the_last_heartbeat() -> None:
    body = reply_parsing.connections(capture("connections"), ASKED).body
    assert body is not None
    assert [one.address for one in body.connection_set or ()] == ["127.0.0.1:46624", "127.0.0.1:46610"]
    assert set(body.subscription_table or ()) == {"T_cap_49915", "U_cap_49915", "%RETRY%G_cap_49915"}


def test_a_proxy_lists_grpc_clients_as_a_broker_lists_its_own() -> None:
    ids = reply_parsing.consumer_list(capture("proxy_consumer_list"), ASKED).ids
    assert ids == ("vm@13445@0@hoi43q8ucv", "vm@12361@0@bj8i9tron")
    body = reply_parsing.connections(capture("proxy_connections"), ASKED).body
    assert body is not None
    assert {one.language for one in body.connection_set or ()} == {"GO", "JAVA"}
    assert (body.consume_type, body.message_model) == ("CONSUME_ACTIVELY", "CLUSTERING")


def test_proxies_on_one_machine_have_one_id_and_different_addresses() -> None:
    body = reply_parsing.connections(capture("syncer_connections"), ASKED).body
    assert body is not None
    assert {one.client_id for one in body.connection_set or ()} == {"192.0.2.2@DEFAULT"}
    assert {one.address for one in body.connection_set or ()} == {"127.0.0.1:45100", "127.0.0.1:45104"}


def test_offsets_of_a_popping_group_name_its_own_retry_topic() -> None:
    table = reply_parsing.consume_stats(capture("consume_stats_pop"), ASKED).table or ()
    assert {row.topic: row.broker_offset for row in table} == {"Tshort": 168, "%RETRY%short_Tshort": 39}


def test_a_round_has_the_offsets_of_a_pop_retry_topic_though_nobody_asks_for_its_route() -> None:
    group = ClusterTranslation("prod", "collector 1").group("short")
    group.begin_round(1_700_000_000_000)
    asked = Asked("prod", "broker-b", "short")
    assert group.take(reply_parsing.consume_stats(capture("consume_stats_pop"), asked)) == []
    marker = group.end_round()[-1]
    assert isinstance(marker, Round)
    ends = {one.topic: [(queue.queue_id, queue.broker_offset) for queue in one.queues] for one in marker.offsets}
    assert ends == {"%RETRY%short_Tshort": [(0, 39)], "Tshort": [(0, 168), (1, 168)]}
    assert "%RETRY%short_Tshort" not in group.topics


def test_last_heartbeats_are_those_of_the_producer_that_each_client_has_of_its_own() -> None:
    found = reply_parsing.last_heartbeats(capture("producers"))
    assert found == {
        "127.0.0.1@y": (ChannelHeartbeat("127.0.0.1@y", "127.0.0.1:42084", 1_795_410_195_160),),
        "127.0.0.1@x": (
            ChannelHeartbeat("127.0.0.1@x", "127.0.0.1:42072", 1_795_410_195_109),
            ChannelHeartbeat("127.0.0.1@x", "127.0.0.1:42080", 1_795_410_194_849),
        ),
    }


@pytest.mark.parametrize("absurd", ["", "x" * (LONGEST_NAME + 1)])
def test_a_client_with_an_absurd_id_hides_no_other_client(absurd: str) -> None:
    rows = ",".join(f'{{"clientId":"{id}","remoteIP":"/10.0.0.1:1","lastUpdateTimestamp":1}}' for id in (absurd, "c"))
    found = reply_parsing.last_heartbeats(reply(f'{{"data":{{"CLIENT_INNER_PRODUCER":[{rows}]}}}}'.encode()))
    assert list(found) == ["c"]


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"", 3), (b"{}", 0), (b'{"data":{}}', 0), (b"[]", 0), (b'{"data":{"CLIENT_INNER_PRODUCER":[7]}}', 0)],
)
def test_a_broker_that_does_not_say_them_tells_of_no_connection(body: bytes, code: int) -> None:
    assert reply_parsing.last_heartbeats(reply(body, code)) == {}


def test_an_id_with_very_many_connections_does_not_take_long() -> None:
    rows = ",".join(f'{{"clientId":"c","remoteIP":"/10.0.0.1:{n}","lastUpdateTimestamp":1}}' for n in range(30_000))
    producers = reply(f'{{"data":{{"CLIENT_INNER_PRODUCER":[{rows}]}}}}'.encode())
    connections = ConsumerConnection(tuple(Connection("c", f"10.0.0.1:{n}") for n in range(30_000)))
    began = time.process_time()
    assert len(reply_parsing.last_heartbeats(producers)["c"]) == 30_000
    view = BrokerView("broker-a")
    view.take_connections(
        ConnectionsAnswer(ts=1, dur_ms=1, cluster="c", broker="b", group="g", code=0, body=connections)
    )
    assert time.process_time() - began < 1


def test_the_route_of_a_static_topic_names_the_brokers_that_its_queues_are_mapped_to() -> None:
    queues = b'{"brokerName":"a","perm":6,"readQueueNums":2,"topicSysFlag":0,"writeQueueNums":2}'
    mapping = b'{"a":{"bname":"a","currIdMap":{0:0,1:1},"dirty":false,"epoch":7,"scope":"__global__","totalQueues":2}}'
    written = b'{"brokerDatas":[],"queueDatas":[%s],"topicQueueMappingByBroker":%s}'
    body = reply_parsing.topic_route(reply(written % (queues, mapping)), "prod", "T").body
    assert body is not None
    assert body.topic_queue_mapping_by_broker == {"a": TopicQueueMapping()}


@pytest.mark.parametrize("name", ["route_standard", "route_legacy"])
def test_route_is_read_with_and_without_quoted_keys(name: str) -> None:
    body = reply_parsing.topic_route(capture(name), "prod", "T").body
    assert body is not None
    hosts = {(q.broker_name, q.read_queue_nums, q.write_queue_nums, q.perm) for q in body.queue_datas or ()}
    assert hosts == {("broker-a", 4, 4, 6), ("broker-b", 4, 4, 6)}


def test_running_info_says_what_the_client_owns_and_how_it_runs() -> None:
    answer = reply_parsing.running_info(capture("running_info_quote"), ASKED, "c")
    assert answer.mq_table
    queue = next(q for q in answer.mq_table if q.topic == "T_cap_49915")
    assert isinstance(queue, ProcessQueue)
    assert (queue.queue_id, queue.droped) == (0, False)
    assert answer.mq_pop_table == ()
    assert str(answer.strategy).startswith("org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAver")
    assert (answer.orderly, answer.client_rebalance, answer.message_model) == ("false", "true", "CLUSTERING")
    assert answer.consume_type == "CONSUME_PASSIVELY"
    assert str(answer.start_timestamp).startswith("179")
    assert {one.topic for one in answer.subscriptions or () if not isinstance(one, str)} >= {"T_cap_49915"}


def test_running_info_of_a_go_client_is_read() -> None:
    """Of rocketmq-client-go 2.1.2, as a broker of 5.3.3 forwarded it: it names neither strategy nor message model."""
    answer = reply_parsing.running_info(capture("running_info_go"), ASKED, "c")
    assert [(q.topic, q.broker_name, q.queue_id) for q in answer.mq_table or ()] == [
        ("T", "broker-a", 0),
        ("T", "broker-a", 1),
    ]
    assert (answer.strategy, answer.message_model, answer.client_rebalance) == (None, None, None)
    assert (answer.orderly, answer.consume_type) == ("false", "CONSUME_PASSIVELY")
    assert start_ts(answer.start_timestamp) == 1795407878458


def test_a_queue_that_a_go_client_has_dropped_is_not_owned() -> None:
    """An orderly client keeps it in its table until it has given the broker's lock back."""
    queue = b'{"topic":"T","brokerName":"b","queueId":1}'
    answer = reply_parsing.running_info(reply(b'{"mqTable":{' + queue + b':{"dropped":true}}}'), ASKED, "c")
    assert answer.mq_table == (ProcessQueue("T", "b", 1, droped=True),)


def test_a_cpp_client_that_owns_no_queue_says_so() -> None:
    """``ConsumerRunningInfo::encode`` of librocketmq takes the last character of its table away, also a bracket."""
    body = b'{"mqTable":},"jstack":"","properties":{"PROP_CONSUMEORDERLY":"false"},"subscriptionSet":[{"topic":"T"}]}'
    answer = reply_parsing.running_info(reply(body), ASKED, "c")
    assert (answer.code, answer.mq_table) == (0, ())
    assert answer.orderly == "false"


def test_offsets_are_read_by_queue() -> None:
    table = reply_parsing.consume_stats(capture("consume_stats_all"), ASKED).table
    assert table
    first = OffsetRow(
        "T_cap_49915", 0, "broker-a", broker_offset=19, consumer_offset=18, pull_offset=19, last_timestamp=1795249924662
    )
    assert first in table
    assert len(table) == 4


def test_masters_are_found_by_name() -> None:
    addresses, _ = reply_parsing.broker_addresses(capture("cluster_info"))
    assert addresses is not None
    assert addresses["r2@broker-d"] == "127.0.0.1:22211"
    assert len(addresses) == 6


def test_lowest_replica_stands_in_for_a_master_that_is_away() -> None:
    body = b'{"brokerAddrTable":{"b":{"brokerAddrs":{10:"ten",2:"two"}},"gone":{"brokerAddrs":{}}}}'
    assert reply_parsing.broker_addresses(reply(body)) == ({"b": "two"}, None)


def test_settings_are_read_by_group() -> None:
    settings, why = reply_parsing.group_settings(capture("subscription_groups"))
    assert settings is not None
    assert why is None
    assert settings["SELF_TEST_C_GROUP"].consume_enable is True
    assert settings["SELF_TEST_C_GROUP"].consume_message_orderly is False


def test_a_group_that_is_bound_to_lite_topics_is_known_by_its_attributes() -> None:
    groups = {"l": '{"lite.bind.topic":"P","lite.sub.model":"Shared"}', "n": "{}", "o": "null"}
    rows = ",".join(f'"{name}":{{"groupName":"{name}","attributes":{text}}}' for name, text in groups.items())
    settings, why = reply_parsing.group_settings(reply(f'{{"subscriptionGroupTable":{{{rows}}}}}'.encode()))
    assert why is None
    assert settings is not None
    assert {name: one.is_lite for name, one in settings.items()} == {"l": True, "n": False, "o": False}


def test_popping_groups_are_read_and_others_left_out() -> None:
    body = b'{"messageRequestModeMap":{"T":{"g":{"mode":"POP"},"h":{"mode":"PULL"}},"":{"g":{"mode":"POP"}}}}'
    assert reply_parsing.popping_groups(reply(body)) == {("T", "g")}
    assert reply_parsing.popping_groups(reply(b"", code=3)) is None


def test_code_decides_and_no_body_is_read_with_it() -> None:
    answer = reply_parsing.running_info(reply(b"not json", code=207), ASKED, "c")
    assert (answer.code, answer.error, answer.mq_table) == (207, None, None)


def test_no_answer_keeps_its_reason() -> None:
    answer = reply_parsing.consumer_list(Reply(5, 3000, None, "no answer within 3 s"), ASKED)
    assert (answer.ts, answer.code, answer.failure) == (5, None, "no answer within 3 s")


@pytest.mark.parametrize("read", [reply_parsing.broker_addresses, reply_parsing.group_settings])
def test_what_is_not_told_has_a_reason(read: Callable[[Reply], tuple[object, str | None]]) -> None:
    assert read(reply(b"", code=16)) == (None, "code 16: not set any response code")
    assert read(Reply(5, 3000, None, "no answer within 3 s")) == (None, "no answer within 3 s")
    found, why = read(reply(b"<html>"))
    assert found is None
    assert "unreadable answer: not JSON" in str(why)


def test_refusal_keeps_code_and_the_first_line_of_the_remark() -> None:
    refused = Frame(16, 1, True, "no   permission\n at org.apache", b"")
    answer = reply_parsing.consumer_list(Reply(5, 1, refused), ASKED)
    assert answer.failure == "code 16: no permission"


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("body", [b"", b"[]", b"1", b'{"consumerIdList":3,"mqTable":3,"offsetTable":[]}', b"\xff"])
def test_unreadable_body_is_no_answer(name: str, body: bytes) -> None:
    answer = READERS[name](reply(body))
    if answer is not None and body[:1] != b"{":
        assert answer.code is None
        assert "unreadable answer" in answer.error


@pytest.mark.parametrize(
    ("name", "body", "value"),
    [
        ("consumer_list", b'{"consumerIdList":["a",%s]}', b'""'),
        ("connections", b'{"connectionSet":[{"clientId":%s}]}', b'""'),
        ("route_standard", b'{"queueDatas":[{"brokerName":%s,"readQueueNums":4,"writeQueueNums":4,"perm":6}]}', b'""'),
        (
            "route_standard", b'{"queueDatas":[{"brokerName":"b","readQueueNums":%s,"writeQueueNums":4,"perm":6}]}',
            b"2147483648",
        ),
        ("running_info_quote", b'{"mqTable":{{"brokerName":"b","queueId":1,"topic":%s}:{}}}', b'""'),
        ("consume_stats_all", b'{"offsetTable":{{"brokerName":"b","queueId":1,"topic":%s}:{}}}', b'""'),
        (
            "consume_stats_all", b'{"offsetTable":{{"brokerName":"b","queueId":1,"topic":"T"}:{"brokerOffset":%s}}}',
            b"9223372036854775808",
        ),
    ],
)  # fmt: skip
def test_what_no_event_may_have_is_unreadable(name: str, body: bytes, value: bytes) -> None:
    """The job refuses an event that has it, so the group would lose its whole round."""
    answer = READERS[name](reply(body % value))
    assert answer.code is None
    assert answer.error.startswith("unreadable answer: Expected `")
    assert READERS[name](reply(body % (b'"n"' if value == b'""' else value[:-1]))).code == 0


def test_a_broker_without_a_name_is_left_out() -> None:
    body = b'{"brokerAddrTable":{"":{"brokerAddrs":{"0":"h:1"}},"b":{"brokerAddrs":{"0":"h:2"}}}}'
    assert reply_parsing.broker_addresses(reply(body)) == ({"b": "h:2"}, None)


def test_a_topic_that_nobody_can_have_is_left_out_of_subscriptions() -> None:
    """RocketMQ checks no name that a client subscribes to, so the others of the client and of its group still count."""
    of_group = reply_parsing.connections(reply(b'{"subscriptionTable":{"U":{},"":{},"T":{}}}'), ASKED)
    assert of_group.body is not None
    assert of_group.body.topics == ["T", "U"]
    body = b'{"mqTable":{},"subscriptionSet":[{"topic":""},{"topic":"%s"},{"topic":"T"}]}' % (b"x" * 1025)
    of_client = reply_parsing.running_info(reply(body), ASKED, "c")
    assert of_client.code == 0
    assert [one.topic for one in subscriptions(of_client)] == ["T"]


@pytest.mark.parametrize(
    ("text", "polls", "offset"),
    [
        ("0", 0, 0),
        (str(2**31 - 1), 2**31 - 1, 2**31 - 1),
        (str(2**31), None, 2**31),
        (str(2**63 - 1), None, 2**63 - 1),
        (str(2**63), None, None),
        ("9" * 5_000, None, None),
        ("-1", None, None),
        ("", None, None),
    ],
)
def test_a_number_that_javas_type_cannot_hold_is_none(text: str, polls: int | None, offset: int | None) -> None:
    said = Reply(5, 1, Frame(0, 1, True, None, b"", {"pollingNum": text, "offset": text}))
    assert reply_parsing.polls(said, ASKED, "T", -1).waiting == polls
    assert reply_parsing.offset(said) == offset


@given(st.sampled_from(sorted(READERS)), st.data())
def test_mutated_body_raises_nothing(name: str, data: st.DataObject) -> None:
    body = bytearray((CAPTURES / f"{name}.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=3))
    READERS[name](reply(bytes(body)))


@pytest.mark.parametrize("key", ["3", '"x"', '"{}"', "{}", '{"topic":"T"}', "[1]"])
def test_odd_keys_of_a_queue_table_are_unreadable(key: str) -> None:
    answer = reply_parsing.running_info(reply(f'{{"mqTable":{{{key}:{{}}}}}}'.encode()), ASKED, "c")
    assert answer.code is None


def test_queue_may_also_be_written_as_text() -> None:
    body = rb'{"offsetTable":{"{\"brokerName\":\"b\",\"queueId\":1,\"topic\":\"T\"}":{"brokerOffset":7}}}'
    assert reply_parsing.consume_stats(reply(body), ASKED).table == (OffsetRow("T", 1, "b", broker_offset=7),)


@pytest.mark.parametrize("text", [rb"\ud800", rb"\uDC00x"])
def test_half_a_character_is_unreadable(text: bytes) -> None:
    answer = reply_parsing.consumer_list(reply(b'{"consumerIdList":["' + text + b'"]}'), ASKED)
    assert answer.code is None
    answer = reply_parsing.running_info(
        reply(b'{"mqTable":{},"properties":{"messageModel":"' + text + b'"}}'), ASKED, "c"
    )
    assert answer.code is None


@pytest.mark.parametrize("escape", [rb"\ud800", rb"\\ud800"])
def test_half_a_character_in_a_queue_that_is_a_key_is_unreadable(escape: bytes) -> None:
    """It could be neither recorded nor sent on: one topic's name would end every round of its group."""
    as_object = b'{"offsetTable":{{"brokerName":"b","queueId":1,"topic":"' + escape + b'"}:{"brokerOffset":7}}}'
    as_text = (
        rb'{"offsetTable":{"{\"brokerName\":\"b\",\"queueId\":1,\"topic\":\"' + escape + rb'\"}":{"brokerOffset":7}}}'
    )
    for body in (as_object, as_text):
        answer = reply_parsing.consume_stats(reply(body), ASKED)
        for row in answer.table or ():
            row.topic.encode()
