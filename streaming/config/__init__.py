"""The configuration: one TOML file (``conf/evenkeel.toml`` shows every key) and ``EVENKEEL__SECTION__KEY``."""
