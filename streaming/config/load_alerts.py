"""The loading of ``Alerts`` from the file of the alert rules, or all faults at once."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from streaming.config.alert_rule_checks import broken_alert_rules
from streaming.config.alerts import Alerts
from streaming.config.config_errors import ConfigFaults, Fault
from streaming.config.line_numbers import in_line
from streaming.config.reading import field_faults, parse, rule_faults, without
from streaming.config.secrets import secrets_of
from streaming.config.sections import Config
from streaming.secret_mask import hide


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
