"""The data at the boundaries: events in, facts out, and the names they share. No Spark, no clock, no I/O."""
