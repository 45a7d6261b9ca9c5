"""A small world on one machine: recordings and a simulated fleet, live through a real Kafka and the whole job."""

from pathlib import Path

RECORDINGS = Path(__file__).parent / "recordings"
