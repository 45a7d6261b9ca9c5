"""The tables that people read, made from ``facts`` by deltalake.

Rows of history are appended. A table of current state is overwritten: its rows, with newer ones in place of older ones.
"""
