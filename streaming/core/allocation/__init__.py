"""RocketMQ's six allocation strategies: who owns which queue, by the client's own arithmetic.

All are proven against answers of RocketMQ's own classes, errors and order included.
"""
