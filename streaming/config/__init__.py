"""The configuration: one TOML file (``conf/evenkeel.toml`` shows every key) and ``EVENKEEL__SECTION__KEY``."""

from streaming.config.alert_rule_checks import zone_named
from streaming.config.alerts import Alerts, RouteSection, SinkSection
from streaming.config.config_errors import ConfigFaults, Fault, KeyPath
from streaming.config.cross_key_checks import CHECKPOINT, EVERY_FOLDER, NOTIFIER, TABLES
from streaming.config.load import Loaded, load_config, read_config
from streaming.config.load_alerts import faults_of_alerts, load_alerts
from streaming.config.options import producer_arguments
from streaming.config.secrets import secret_at
from streaming.config.sections import (
    Collector,
    Config,
    Job,
    Log,
    Metrics,
    Notify,
    Retention,
    Rule,
    Source,
    Spark,
    Tables,
    Web,
)
from streaming.config.timing import TimingSection
from streaming.config.values import server_list

__all__ = [
    "CHECKPOINT",
    "EVERY_FOLDER",
    "NOTIFIER",
    "TABLES",
    "Alerts",
    "Collector",
    "Config",
    "ConfigFaults",
    "Fault",
    "Job",
    "KeyPath",
    "Loaded",
    "Log",
    "Metrics",
    "Notify",
    "Retention",
    "RouteSection",
    "Rule",
    "SinkSection",
    "Source",
    "Spark",
    "Tables",
    "TimingSection",
    "Web",
    "faults_of_alerts",
    "load_alerts",
    "load_config",
    "producer_arguments",
    "read_config",
    "secret_at",
    "server_list",
    "zone_named",
]
