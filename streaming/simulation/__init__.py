"""A RocketMQ cluster on a virtual clock, the events of a collector that watches it, and what truly happened in it."""
