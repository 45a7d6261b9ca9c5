"""Requests: which are due, and for whom. All but probes and transports are values and decisions, with ``now`` given."""
