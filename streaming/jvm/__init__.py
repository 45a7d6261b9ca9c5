"""What Spark and the loopback Kafka both stand on: a Java that fits, and jars."""
