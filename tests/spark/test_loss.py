"""Which records were lost, from offsets and counts alone."""

from streaming.spark.kafka_offsets import LossFinder
from streaming.spark.operator import RecordsRead


def span(records, partition=0):
    return RecordsRead("t", partition, records)


def finder(**earliest):
    """A Kafka whose partitions begin at these offsets: ``p0=5``."""
    first = {("t", int(name[1:])): offset for name, offset in earliest.items()}
    return LossFinder(
        lambda partitions: {partition: first[partition] for partition in partitions if partition in first}
    )


def at(*offsets):
    return {"t": {str(number): offset for number, offset in enumerate(offsets)}}


def test_a_batch_that_read_every_record_lost_none_and_asks_nobody():
    def nobody(partitions):
        assert not partitions
        return {}

    assert LossFinder(nobody).in_batch(at(5), at(15), [span(4), span(6)]).records == 0


def test_records_before_kafkas_first_are_lost():
    loss = finder(p0=12).in_batch(at(5), at(15), [span(3)])
    assert loss.records == 7
    assert loss.detail == "Kafka dropped records before they were read: 7 of t-0"


def test_offsets_without_records_are_no_loss_while_kafka_has_them():
    """A transaction's marker, or a compacted record."""
    assert finder(p0=5).in_batch(at(5), at(15), [span(9)]).records == 0


def test_records_dropped_after_they_were_read_are_no_loss():
    assert finder(p0=15).in_batch(at(5), at(15), [span(10)]).records == 0


def test_a_partition_that_is_new_begins_at_its_first_record():
    assert finder(p1=3).in_batch(at(5), at(5, 9), [span(6, partition=1)]).records == 3


def test_a_topic_that_was_deleted_and_made_again_is_a_loss():
    assert finder(p0=0).in_batch(at(500), at(20), []).records == 20


def test_what_was_lost_before_the_start_is_told_once():
    losses = finder(p0=12, p1=0)
    assert losses.at_start(at(5, 7)).records == 7
    assert losses.in_batch(at(5, 7), at(15, 9), [span(3), span(2, partition=1)]).records == 0
    assert losses.in_batch(at(15, 9), at(20, 9), [span(5)]).records == 0


def test_a_partition_that_is_gone_is_not_asked_for_again():
    assert finder().at_start(at(5)).records == 0
