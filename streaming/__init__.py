"""evenkeel: a Spark Structured Streaming monitor for Apache RocketMQ consumer groups."""

__version__ = "0.1.0"
