"""Java and jars for Spark and for the loopback Kafka."""
