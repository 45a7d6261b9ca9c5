"""Events into a real Kafka that wants TLS and a password, configured as the documentation says."""

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from streaming.collector.output.kafka import KafkaOutput, make_producer
from streaming.config.load import load_config
from streaming.config.options import producer_arguments
from streaming.jvm.java import java_home
from streaming.loopback import LoopbackKafka
from streaming.loopback.ports import free_port
from testing.job import EVENKEEL, child_environment
from testing.waiting import until
from tests.collector.test_real_kafka import TOPIC, read, rounds_of

pytestmark = pytest.mark.kafka
PASSWORD, STORE_PASSWORD = "the-right-one", "changeit"
LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_evenkeel="{}";'


class Secured(NamedTuple):
    broker: LoopbackKafka  # its own port asks for nothing
    address: str
    certificate: Path


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    store, certificate = folder / "broker.p12", folder / "broker.pem"
    keytool("-genkeypair", "-keyalg", "RSA", "-dname", "CN=127.0.0.1", "-ext", "SAN=ip:127.0.0.1", store=store)
    keytool("-exportcert", "-rfc", "-file", str(certificate), store=store)
    plain, secured, controller = (free_port() for _ in range(3))
    listeners = f"PLAINTEXT://127.0.0.1:{plain},SECURED://127.0.0.1:{secured}"
    properties = {
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECURED:SASL_SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secured.plain.sasl.jaas.config": LOGIN.format(PASSWORD),
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": STORE_PASSWORD,
    }
    with LoopbackKafka(folder / "kafka", port=plain, properties=properties) as broker:
        broker.create_topic(TOPIC, partitions=2)
        yield Secured(broker, f"127.0.0.1:{secured}", certificate)


def keytool(*words: str, store: Path) -> None:
    command = [str(java_home() / "bin" / "keytool"), *words, "-alias", "broker"]
    command += ["-storetype", "PKCS12", "-keystore", str(store), "-storepass", STORE_PASSWORD]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def said(kafka: Secured, password: str) -> dict[str, str]:
    """The environment variables of ``conf/evenkeel.toml``."""
    options = {
        "SECURITY_PROTOCOL": "SASL_SSL",
        "SASL_MECHANISM": "PLAIN",
        "SASL_PLAIN_USERNAME": "evenkeel",
        "SASL_PLAIN_PASSWORD": password,
        "SSL_CAFILE": str(kafka.certificate),
    }
    return {f"EVENKEEL__COLLECTOR__KAFKA__{name}": value for name, value in options.items()}


@pytest.mark.deep("a Kafka of its own, with TLS")
def test_the_right_password_delivers_encrypted(kafka: Secured) -> None:
    events = rounds_of("orders", "one")
    arguments = producer_arguments(load_config(None, said(kafka, PASSWORD)).collector.kafka)
    output = KafkaOutput(partial(make_producer, kafka.address, arguments), TOPIC, 1 << 24)
    output.start()
    output.emit(events)
    until(lambda: output.sent == len(events))
    output.close(10)
    assert [event for _, event in read(kafka.broker)] == events


@pytest.mark.deep("a Kafka of its own, with TLS")
def test_the_wrong_password_is_said_and_not_shown(kafka: Secured, tmp_path: Path) -> None:
    """A process of its own: kafka-python keeps the sockets of attempts that failed."""
    (tmp_path / "x.toml").write_text(
        f'source = {{ bootstrap_servers = "{kafka.address}" }}\ncollector.clusters = {{ c = "127.0.0.1:1" }}\n'
    )
    log = tmp_path / "log"
    with log.open("wb") as file:
        collect = subprocess.Popen(
            [*EVENKEEL, "collect", "--config", str(tmp_path / "x.toml")],
            env={**child_environment(), **said(kafka, "a-wrong-one")}, stdout=file, stderr=file,
        )  # fmt: skip
    try:
        until(lambda: "Invalid username or password" in log.read_text(), 100)
        until(lambda: "Kafka is away" in log.read_text(), 100)
        assert collect.poll() is None
    finally:
        collect.terminate()
        collect.wait(30)
    assert "a-wrong-one" not in log.read_text()
