"""evenkeel: a Spark Structured Streaming monitor for Apache RocketMQ consumer groups."""

__version__ = "0.3.0.dev0"
