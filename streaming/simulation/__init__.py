"""A RocketMQ fleet on a virtual clock, the events that a collector would make of it, and what truly happened in it."""
