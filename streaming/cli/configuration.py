"""The first steps of commands: the configuration, the logs, and a Spark session."""

import argparse
import os
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any

from streaming.config.alerts import Alerts
from streaming.config.config_errors import ConfigFaults, KeyPath
from streaming.config.cross_key_checks import EVERY_FOLDER
from streaming.config.environment import variable
from streaming.config.load import faults_of_alerts, load_alerts, load_config
from streaming.config.sections import Config
from streaming.log_format import configure_logs

if TYPE_CHECKING:
    from streaming.lease import RequireHeld


def configured(
    arguments: argparse.Namespace,
    options: Mapping[str, tuple[str, str]] | None = None,
    writes: Container[KeyPath] = EVERY_FOLDER,
) -> Config:
    """The configuration that ``--config`` names. Its settings of logs are applied. Raises ConfigError.

    ``options`` of the command line win over all: by option, the variable that it stands for and its value.
    ``writes``: keys of the folders that the command writes to; other folders need not exist or be writable.
    """
    config = read(arguments, options or {}, writes)
    configure_logs(config.log)
    return config


def read_with_alerts(
    arguments: argparse.Namespace,
    options: Mapping[str, tuple[str, str]],
    writes: Container[KeyPath] = EVERY_FOLDER,
) -> tuple[Config, Alerts]:
    """As ``configured_with_alerts``, but the settings of logs are not applied."""
    try:
        config = read(arguments, options, writes)
    except ConfigFaults as refused:
        raise ConfigFaults([*refused.faults, *faults_of_alerts(refused.rest)]) from None
    return config, load_alerts(config)


def read(
    arguments: argparse.Namespace, options: Mapping[str, tuple[str, str]], writes: Container[KeyPath] = EVERY_FOLDER
) -> Config:
    """As ``configured``, but the settings of logs are not applied."""
    try:
        return load_config(arguments.config, os.environ | dict(options.values()), writes)
    except ConfigFaults as refused:
        option_of = {variable: option for option, (variable, _) in options.items()}
        faults = [replace(fault, where=option_of.get(fault.where, fault.where)) for fault in refused.faults]
        raise ConfigFaults(faults, refused.rest) from None


def configured_with_alerts(
    arguments: argparse.Namespace,
    options: Mapping[str, tuple[str, str]] | None = None,
    writes: Container[KeyPath] = EVERY_FOLDER,
) -> tuple[Config, Alerts]:
    """The configuration and the alert rules that it names. Raises ConfigError with every fault of both."""
    config, alerts = read_with_alerts(arguments, options or {}, writes)
    configure_logs(config.log)
    return config, alerts


def add_metrics_option(parser: argparse.ArgumentParser) -> None:
    """Add --metrics, for commands of which several may run on one machine under one configuration."""
    parser.add_argument(
        "--metrics", metavar="HOST:PORT", help="where Prometheus finds /metrics, instead of metrics.listen"
    )


def add_standby_option(parser: argparse.ArgumentParser, does: str) -> None:
    """Add --standby. ``does``: the work that only one process does at a time."""
    parser.add_argument(
        "--standby",
        action="store_true",
        help=f"while another process {does}, wait for its end and take over; without it, end with 4",
    )


def metrics_option(arguments: argparse.Namespace) -> dict[str, tuple[str, str]]:
    return options_given(arguments, {"--metrics": ("metrics", "listen")})


def options_given(arguments: argparse.Namespace, keys: Mapping[str, KeyPath]) -> dict[str, tuple[str, str]]:
    """The options that were given, as ``configured`` takes them. ``keys``: the key of each option."""
    values = {option: getattr(arguments, option.removeprefix("--").replace("-", "_")) for option in keys}
    return {option: (variable(keys[option]), value) for option, value in values.items() if value is not None}


@contextmanager
def session(
    config: Config, command: str, alone_in: Mapping[str, str] | None = None
) -> Iterator[tuple[Any, "RequireHeld"]]:
    """A Spark session for one command, stopped at its end; and the check to make before each commit.

    ``alone_in``: folders, by key, to which no other process may write meanwhile. Raises InUseError if one does.
    """
    from streaming.lease import local_leases, remote_leases
    from streaming.spark.session import build_session  # takes a second, which a refused configuration need not

    with local_leases(alone_in or {}) as leased:
        spark = build_session(f"evenkeel {command}", config.spark.spark_settings(), config.spark.jars_folder)
        try:
            with remote_leases(leased.far, Event()) as require_held:
                yield spark, require_held
        finally:
            spark.stop()
