"""The projections: the tables that people read, made from ``facts`` by deltalake.

Rows of history are appended. A table of current state is overwritten with its rows, newer ones replacing older ones.
"""
