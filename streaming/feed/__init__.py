"""Events of a simulated fleet into Kafka or a file, as fast as they can be made or at their times."""
