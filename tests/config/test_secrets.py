"""No secret is ever shown: not in faults, not in what is in effect, not where a configuration is printed."""

import json
from pathlib import Path

import pytest

from streaming.config.config_errors import ConfigFaults, is_secret
from streaming.config.effect import differences, summary
from streaming.config.load import load_config, read_config
from streaming.config.options import producer_arguments

SECRET = "hunter2"


@pytest.mark.parametrize(
    "variables",
    [
        {"EVENKEEL__SOURCE__KAFKA__SASL_JAAS_CONFIG": SECRET},
        {"EVENKEEL__SOURCE__KAFKA__SSL_KEYSTORE_KEY": SECRET},
        {"EVENKEEL__SOURCE__KAFKA__A_MISSPELT_OPTION": SECRET},
        {"EVENKEEL__SOURCE__KAFKA": f'{{"sasl": {{"client": {{"callback": "{SECRET}"}}}}}}'},
        {"EVENKEEL__COLLECTOR__KAFKA__SASL_PLAIN_PASSWORD": SECRET},
        {"EVENKEEL__COLLECTOR__SECRET_KEY": SECRET, "EVENKEEL__COLLECTOR__ACCESS_KEY": "key"},
        {"EVENKEEL__SPARK__SETTINGS": f'{{"spark.hadoop.fs.s3a.secret.key": "{SECRET}"}}'},
        {"EVENKEEL__SPARK__SETTINGS": f'{{"spark.hadoop.fs.s3a.access.key": "{SECRET}"}}'},
        {"EVENKEEL__SPARK__SETTINGS": f'{{"spark.ssl.keyPassword": "{SECRET}"}}'},
    ],
)
def test_secret_is_not_in_what_is_printed(variables: dict[str, str]) -> None:
    loaded = read_config(None, variables)
    printed = "\n".join([*differences(loaded), *summary(loaded.config), repr(loaded.config), str(loaded.config)])
    printed += loaded.config.model_dump_json()
    assert SECRET not in printed
    assert "***" in printed
    config = loaded.config
    read = {*config.source.kafka_options().values(), *config.spark.spark_settings().values()}
    read |= {*producer_arguments(config.collector.kafka).values(), config.collector.secret_key.get_secret_value()}
    assert SECRET in read


def test_password_in_an_address_is_hidden() -> None:
    address = f"s3a://key:{SECRET}@bucket/x"
    variables = {f"EVENKEEL__{key}": address for key in ("TABLES__PATH", "SOURCE__FOLDER")}
    variables |= {"EVENKEEL__JOB__CHECKPOINT": f"{address}y", "EVENKEEL__SOURCE__KIND": "files"}
    variables["EVENKEEL__SPARK__SETTINGS"] = '{"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.4.1"}'
    with pytest.raises(ConfigFaults) as raised:
        load_config(None, variables)  # tables and source are one folder
    assert SECRET not in str(raised.value)
    assert "s3a://***@bucket/x" in str(raised.value)
    del variables["EVENKEEL__TABLES__PATH"]
    loaded = read_config(None, variables)
    assert SECRET not in "".join([*differences(loaded), *summary(loaded.config)])


@pytest.mark.parametrize(
    "text",
    [
        f'[source.kafka]\nbootstrap.servers = "a"\nsasl.jaas.config = "{SECRET}"',
        f'[source.kafka]\nacks = []\n"sasl.jaas.config" = "{SECRET}"',
        f'[source.kafak]\nsasl.jaas.config = "{SECRET}"',
        f'[source]\nsasl_password = "{SECRET}"',
        f'password = "{SECRET}"',
        f'[spark.settings]\n"sparc.x" = 1\n"spark.authenticate.secret" = "{SECRET}"',
        f'[source.kafka]\nssl.key.password = "{SECRET}',
    ],
)
def test_secret_is_not_in_a_fault(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(ConfigFaults) as raised:
        load_config(path, {"EVENKEEL__SOURCE__KAFAK__X": SECRET})
    assert len(raised.value.faults) == 2
    assert SECRET not in str(raised.value) + repr(raised.value)


def test_harmless_options_are_shown() -> None:
    loaded = read_config(None, {"EVENKEEL__SOURCE__KAFKA__SECURITY_PROTOCOL": "SSL"})
    shown = 'source.kafka.security.protocol = "SSL" from EVENKEEL__SOURCE__KAFKA__SECURITY_PROTOCOL'
    assert list(differences(loaded)) == [shown]


@pytest.mark.parametrize("key", [("spark", "settings", "spark.driver.memory"), ("job", "shards"), ("groups", 0)])
def test_most_keys_are_no_secrets(key: tuple[str | int, ...]) -> None:
    assert not is_secret(key)


@pytest.mark.parametrize(
    "options",
    [
        f"-Xss16m -Djavax.net.ssl.keyStorePassword={SECRET}",
        f"-Dmy.Secret.word='a {SECRET}'",
        f"'-Dmy.token=a {SECRET}' -Da=b",
        f"'\"-Dmy.token=a\" {SECRET}'",
    ],
)
def test_secret_among_options_of_java_is_not_in_what_is_printed(options: str) -> None:
    variables = {"EVENKEEL__SPARK__SETTINGS": json.dumps({"spark.driver.extraJavaOptions": options})}
    loaded = read_config(None, variables)
    printed = "\n".join([*differences(loaded), *summary(loaded.config), repr(loaded.config)])
    assert SECRET not in printed
    assert "***" in printed
    assert loaded.config.spark.spark_settings()["spark.driver.extraJavaOptions"] == options
