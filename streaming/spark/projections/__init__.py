"""The tables that people read, made from ``facts`` by one stream: history is appended, current state merged."""

from streaming.spark.projections.query import Projections, run_projections, start_projections

__all__ = ["Projections", "run_projections", "start_projections"]
