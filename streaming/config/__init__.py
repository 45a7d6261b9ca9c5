"""What an operator sets: one TOML file (``conf/evenkeel.toml`` shows every key) and ``EVENKEEL__SECTION__KEY``."""

from streaming.config.faults import ConfigFaults, Fault
from streaming.config.load import Loaded, load_config, read_config
from streaming.config.sections import Collector, Config, Job, Log, Retention, Rule, Source, Spark, Tables
from streaming.config.timing import TimingSection

__all__ = [
    "Collector",
    "Config",
    "ConfigFaults",
    "Fault",
    "Job",
    "Loaded",
    "Log",
    "Retention",
    "Rule",
    "Source",
    "Spark",
    "Tables",
    "TimingSection",
    "load_config",
    "read_config",
]
