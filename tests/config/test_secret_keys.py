"""Each key that takes text is declared as one of a secret or as open, and no secret of one leaves the process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from streaming.config.alerts import Alerts
from streaming.config.config_errors import sounds_secret
from streaming.config.load import read_config
from streaming.config.sections import Config
from streaming.config.values import SecretKind
from streaming.secret_mask import MASK, masked
from tests.canary import where_it_leaks, written
from tests.config.secret_keys import OPTIONS, TextKey, read_with, text_keys

SECRET = "k7Q2x9mV4tR8wZ1pL6nB3cJ5"
KEYS = [*text_keys(Config), *text_keys(Alerts)]

OPEN = {
    "source.topic", "source.trusted_sources", "source.bootstrap_servers", "source.starting_offsets",
    "source.folder", "tables.path", "job.checkpoint", "spark.master", "spark.jars_folder", "collector.clusters",
    "collector.include", "collector.exclude", "collector.networks", "collector.proxies",
    "collector.tls_ca_file", "collector.tls_cert_file",
    "collector.file", "collector.state", "collector.failover_topic", "notify.alerts", "notify.state", "web.listen",
    "web.hosts", "web.proxies",
    "web.proxy_header", "web.may_silence", "web.tls_cert_file", "metrics.listen", "groups.cluster", "groups.group",
    "groups.strategy", "groups.message_queue_list.topic", "groups.message_queue_list.broker_name",
    "groups.consumeridcs", "groups.broker_rooms", "groups.client_rooms", "groups.room_separator", "pages.link",
    "pages.docs", "pages.time_zone", "sinks.name", "routes.cluster", "routes.group", "routes.sinks",
}  # fmt: skip


def test_every_key_of_text_is_declared_to_be_of_a_secret_or_is_known_to_be_open() -> None:
    """A new key stands here, or its declaration says what kind of secret it takes."""
    assert {key.name for key in KEYS if key.kind is None} == OPEN
    assert not {name for name in OPEN if sounds_secret(name)}


def places() -> Iterator[tuple[TextKey, str]]:
    for key in KEYS:
        if key.kind is SecretKind.OPTION:
            yield from ((key, option) for option in OPTIONS[key.name])
        elif key.kind is not None:
            yield key, ""


@pytest.mark.parametrize(
    ("key", "option"), list(places()), ids=lambda one: one.name if isinstance(one, TextKey) else one
)
def test_secret_of_any_key_is_masked_once_it_is_read(key: TextKey, option: str, tmp_path: Path) -> None:
    assert masked(SECRET) == SECRET
    read_with(key, SECRET, tmp_path, option)
    for text in written(SECRET):
        shown = masked(f"broker says: {text}, no")
        assert MASK in shown
        assert not where_it_leaks(SECRET, {"": shown})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AZURE_STORAGE_ACCOUNT_KEY", SECRET),
        ("HTTPS_PROXY", f"http://user:{SECRET}@proxy:3128"),
        ("EVENKEEL__COLLECTOR__SECRET_KEYY", SECRET),
        ("EVENKEEL__TABLES__PATH", f"s3a://key:{SECRET}@bucket/x"),
    ],
)
def test_secret_of_the_environment_is_masked(name: str, value: str) -> None:
    try:
        read_config(None, {name: value}, ())
    except Exception as refused:
        assert SECRET not in str(refused)
    assert not where_it_leaks(SECRET, {"": masked(f"no {value}, no {SECRET}")})


def test_words_of_a_configuration_are_shown() -> None:
    variables = {
        "EVENKEEL__COLLECTOR__ACCESS_KEY": "RocketMQ",
        "EVENKEEL__COLLECTOR__SECRET_KEY": "12345678",
        "EVENKEEL__COLLECTOR__KAFKA__SASL_PLAIN_USERNAME": "evenkeel",
        "EVENKEEL__SPARK__SETTINGS": '{"spark.driver.memory": "4000000000g1"}',
    }
    read_config(None, variables, ())
    text = "RocketMQ, evenkeel, 4000000000g1 and"
    assert masked(f"{text} 12345678") == f"{text} ***"
