"""A real Kafka broker on this machine's loopback, for the demo and the tests."""

from streaming.loopback.kafka import LoopbackKafka

__all__ = ["LoopbackKafka"]
