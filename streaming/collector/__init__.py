"""Asks RocketMQ about consumer groups, and makes events of the answers. Only it knows RocketMQ's own spelling."""
