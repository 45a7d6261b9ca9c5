"""The loading of the configuration, and of the alert rules from their own file, or all faults at once."""

import os
from collections.abc import Container, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from streaming.config.alert_rule_checks import broken_alert_rules
from streaming.config.alerts import Alerts
from streaming.config.config_errors import ConfigFaults, Fault, KeyPath
from streaming.config.cross_key_checks import EVERY_FOLDER, broken_rules
from streaming.config.environment import Overrides, read_environment
from streaming.config.line_numbers import in_line
from streaming.config.reading import field_faults, parse, rule_faults, without
from streaming.config.secrets import secrets_in_environment, secrets_of
from streaming.config.sections import Config
from streaming.secret_mask import hide

DEFAULTS = "defaults"


class Loaded(NamedTuple):
    """A configuration, and the environment variable that gave each key."""

    config: Config
    overrides: Overrides


def load_config(
    path: Path | None, environ: Mapping[str, str] | None = None, writes: Container[KeyPath] = EVERY_FOLDER
) -> Config:
    """The configuration in force: defaults, then the file, then the environment (the process's own if not given).

    ``writes``: keys of the folders that must be writable. Raises ConfigError (a ``ConfigFaults``) with every fault at
    once.
    """
    return read_config(path, environ, writes).config


def read_config(
    path: Path | None, environ: Mapping[str, str] | None = None, writes: Container[KeyPath] = EVERY_FOLDER
) -> Loaded:
    """Return the configuration of ``load_config``, and the variable that set each key.

    From here on its secrets are masked in all output of the process.
    """
    environ = os.environ if environ is None else environ
    hide(secrets_in_environment(environ))
    overrides = read_environment(environ)
    faults = list(overrides.faults)
    place = str(path or DEFAULTS)
    file_values: dict[str, Any] = {}
    lines: dict[KeyPath, int] = {}

    def where(key: KeyPath) -> str:
        """The variable that gave the key or a table around it, else the file with the line."""
        return overrides.name_of(key) or in_line(place, lines, key)

    if path is not None:
        try:
            file_values, lines = parse(path)
        except ConfigFaults as unreadable:
            # The values of the file are not known: only those of the environment can be checked.
            others = [fault for fault in field_faults(Config, overrides.values, where) if fault.where != place]
            raise ConfigFaults([*unreadable.faults, *faults, *others]) from unreadable
    values = _merged(file_values, overrides.values)
    refused = field_faults(Config, values, where)
    for fault in refused:
        values = without(values, fault.key)
    config = Config(**values)
    hide(secrets_of(config, environ))
    faults += [*refused, *rule_faults(broken_rules(config, writes), refused, where)]
    if faults:
        raise ConfigFaults(faults, config)
    return Loaded(config, overrides)


def _merged(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """The values with ``upper`` last: if an option is written in two ways, the later one counts."""
    merged = {name: value for name, value in lower.items() if name not in upper}
    for name, value in upper.items():
        below = lower.get(name, {})
        if not isinstance(value, dict):
            merged[name] = value
        elif isinstance(below, dict):
            merged[name] = _merged(below, value)
        else:
            merged[name] = below  # not a table where one is required: it will be refused
    return merged


def load_alerts(config: Config, environ: Mapping[str, str] | None = None) -> Alerts:
    """The alert rules from the file in ``notify.alerts``; without a file, everything goes to the log.

    Raises ConfigError (a ``ConfigFaults``) with every fault at once. ``environ``: the process's own if not given.
    """
    path = config.notify.alerts
    values, lines = parse(Path(path)) if path else ({}, {})
    where = partial(in_line, path, lines)
    refused = field_faults(Alerts, values, where)
    for fault in refused:
        values = without(values, fault.key)
    alerts, environ = Alerts(**values), os.environ if environ is None else environ
    hide(secrets_of(alerts, environ))
    broken = broken_alert_rules(alerts, config, environ)
    faults = [*refused, *rule_faults(broken, refused, where)]
    if faults:
        raise ConfigFaults(faults)
    return alerts


def faults_of_alerts(rest: object) -> tuple[Fault, ...]:
    """The faults of the alert rules, if the valid part of a faulty configuration names their file."""
    try:
        if isinstance(rest, Config):
            load_alerts(rest)
    except ConfigFaults as refused:
        return refused.faults
    return ()
