"""The Spark shell around the pure core: the only place that imports pyspark, delta and pandas."""
