"""The pure part: values and events in, values and facts out. No Spark, clock, file or socket."""
