"""A RocketMQ cluster on a virtual clock, the events of a collector that watches it, and the truth about the cluster."""
