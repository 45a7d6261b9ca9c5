"""evenkeel: a Spark Structured Streaming monitor for Apache RocketMQ consumer groups."""
