"""What crosses a boundary: events in, facts out, and the names they share. No Spark, no clock, no I/O."""
