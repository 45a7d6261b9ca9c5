"""SQL over the Delta tables, by DuckDB and without Java."""
