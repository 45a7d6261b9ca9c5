"""The tables that people read, made from ``facts`` by deltalake: history is appended, current state merged."""
