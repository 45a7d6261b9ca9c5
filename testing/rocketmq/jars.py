"""RocketMQ's own jars, of the newest version and of the line before: for tests and measurements, never shipped."""

from pathlib import Path

from streaming.jvm.jars import fetch

NEWEST, OLD_LINE = "5.3.3", "4.9.7"
PROXY = (f"org.apache.rocketmq:rocketmq-proxy:{NEWEST}",)
GRPC_CLIENT = ("org.apache.rocketmq:rocketmq-client-java:5.0.8",)  # shaded: gRPC is in it
PINS = Path(__file__).with_name("jars.toml")


def rocketmq_coordinates(version: str) -> list[str]:
    return [f"org.apache.rocketmq:rocketmq-{module}:{version}" for module in ("namesrv", "broker", "client")]


def rocketmq_jars(version: str) -> list[Path]:
    """Raises SetupError where they cannot be had."""
    return fetch(rocketmq_coordinates(version), pins=PINS)


def proxy_jars() -> list[Path]:
    """With the broker that runs in a proxy's local mode. Raises SetupError where they cannot be had."""
    return fetch(PROXY, pins=PINS)


def grpc_client_jars() -> list[Path]:
    """Raises SetupError where they cannot be had."""
    return fetch(GRPC_CLIENT, pins=PINS)
