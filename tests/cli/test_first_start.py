"""What a first start of the job asks Kafka before it starts Spark."""

import socket
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from streaming.cli.first_start import require_kafka
from streaming.config.sections import Config, Source, Tables
from streaming.errors import AwayError
from streaming.loopback import LoopbackKafka

NOWHERE = "127.0.0.1:1"


def config(tables: Path, servers: str, topic: str = "events", **kafka: str) -> Config:
    source = Source.model_validate({"topic": topic, "bootstrap_servers": servers, "kafka": kafka})
    return Config(source=source, tables=Tables(path=str(tables)))


def test_kafka_that_is_away_is_said(tmp_path: Path) -> None:
    with pytest.raises(AwayError, match=f"Kafka at {NOWHERE} does not answer: {NOWHERE}: Connection refused"):
        require_kafka(config(tmp_path, NOWHERE))


def test_once_there_are_facts_spark_asks_which_writes_the_answer_into_them(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "facts", pa.table({"a": [1]}))
    require_kafka(config(tmp_path, NOWHERE))


def test_a_kafka_that_wants_a_login_is_asked_for_its_topic_by_spark(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        servers = f"127.0.0.1:{listener.getsockname()[1]}"
        require_kafka(config(tmp_path, servers, **{"security.protocol": "SASL_SSL"}))


@pytest.mark.kafka
def test_a_topic_that_is_not_there_is_said(tmp_path: Path, kafka: LoopbackKafka) -> None:
    with pytest.raises(AwayError, match="there is no topic none-of-this-name at"):
        require_kafka(config(tmp_path, kafka.bootstrap_servers, "none-of-this-name"))
    kafka.create_topic("first-start")
    require_kafka(config(tmp_path, kafka.bootstrap_servers, "first-start"))
