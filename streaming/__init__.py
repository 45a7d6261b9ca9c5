"""evenkeel: a Spark Structured Streaming monitor for Apache RocketMQ consumer groups."""

__version__ = "0.2.0"
