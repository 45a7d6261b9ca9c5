"""The Delta tables read without a JVM."""
