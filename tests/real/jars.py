"""RocketMQ's own jars, of the newest version and of the line before: for tests and measurements, never shipped."""

from pathlib import Path

from streaming.jvm.jars import fetch

NEWEST, OLD_LINE = "5.3.3", "4.9.7"
CHECKSUMS = Path(__file__).with_name("jars.sha256")


def rocketmq_coordinates(version: str) -> list[str]:
    return [f"org.apache.rocketmq:rocketmq-{module}:{version}" for module in ("namesrv", "broker", "client")]


def rocketmq_jars(version: str) -> list[Path]:
    """Raises SetupError where they cannot be had."""
    return fetch(rocketmq_coordinates(version), checksums=CHECKSUMS)
